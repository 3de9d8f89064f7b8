"""The inputs of a command: a site file and its series read, today's or those that a calendar was made from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import load_site
from planner.errors import ConfigError
from planner.folders import folder_name, read_published
from planner.gather import gather
from planner.geography import one_site_only
from planner.hindsight import replay_actual
from planner.kept_series import read_series, series_file
from planner.outlook import actual_signals
from planner.rolling.behind import as_made_from
from planner.sources.cache import ResponseCache, default_folder
from planner.terminal import note
from planner.timegrid import horizon_name, week_name, zone
from trainer_hooks.publish import CALENDARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.config import Site
    from planner.evaluate import Evaluation
    from planner.outcome import Hindsight
    from planner.outlook import Gathered
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar


def read_week(
    site: Path, *, week: str | None, issued_at: datetime | None, offline: bool, kept: Gathered | None = None
) -> tuple[Site, Week]:
    """Read a site file and gather its week; arguments as in `planner.gather.gather`."""
    made_from = load_site(site)
    gathered = gather(
        made_from,
        week=week,
        now=datetime.now(UTC),
        issued_at=issued_at,
        offline=offline,
        cache=ResponseCache(default_folder()),
        kept=kept,
    )
    return made_from, gathered


def in_force_of(
    site_file: Path, out: Path | None, now: datetime
) -> tuple[Site, Calendar, tuple[RunCalendar, ...], Path]:
    """Read a site file and the calendar in force of its week.

    Args:
        site_file: The site file.
        out: Folder of the week; where None, that of the week of the present instant below `out`.
        now: The present instant, UTC.

    Returns:
        The site, the calendar's header, the windows of every run, and the folder of the week.

    Raises:
        ConfigError: There is no calendar, or it is of another site.
    """
    made_from = load_site(site_file)
    folder = out or Path("out") / folder_name(made_from.name) / week_name(now, zone(made_from.place.timezone))
    header, runs, home = read_published(folder / CALENDARS)
    if header.site != made_from.name:
        raise ConfigError(
            f"the calendar in {folder} is of site {header.site!r}; {site_file} describes {made_from.name!r}",
            fix="name the site file that the calendar was made from",
        )
    return made_from, header, runs, home


def week_of(header: Calendar, site: Path, home: Path, *, offline: bool) -> Week:
    """Return the week that a calendar was made from, with a label where site or series have changed since.

    Args:
        header: The calendar's header.
        site: Site file that it was made from.
        home: Folder in which its series are kept.
        offline: Whether to keep off the network.
    """
    name = horizon_name(header.valid_from, header.valid_until, zone(header.timezone))
    kept = read_series(series_file(home, header.calendar_id), header)
    _, gathered = read_week(site, week=name, issued_at=header.issued_at, offline=offline, kept=kept)
    week = as_made_from(gathered, header)
    if header.inputs.get("week", {}).get("sha256") == week.sha256:
        return week
    label = (
        f"The inputs are no longer those of calendar {header.calendar_id}: the site file or its series have changed."
    )
    note(f"note: {label}")
    return replace(week, labels=(*week.labels, label))


def hindsight_of(
    week: Week, header: Calendar, runs: Sequence[RunCalendar], planned: Evaluation, site: Path, *, offline: bool
) -> Hindsight:
    """Ask the site's sources how the week was, and replay a calendar on that.

    Args:
        week: The inputs that the calendar was made from.
        header: The calendar's header.
        runs: The windows of every run.
        planned: The judge's figures on the series that it was made from.
        site: Site file whose sources know the series as they were.
        offline: Whether to keep off the network.

    Raises:
        DataUnavailable: The week is not over, or the sources have no actual values of all of it.
    """
    one_site_only("--actual", week.site, [other.name for other in week.others])
    known = actual_signals(
        load_site(site), week.grid, now=datetime.now(UTC), offline=offline, cache=ResponseCache(default_folder())
    )
    found = replay_actual(week, header, runs, planned, known)
    for label in found.labels:
        note(f"note: {label}")
    return found
