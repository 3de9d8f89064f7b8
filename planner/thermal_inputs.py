"""The inputs of the thermal report: a site file, its weather, and the calendar in force if there is one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import load_site
from planner.folders import CALENDARS, folder_name, read_published
from planner.outlook import gather_signals
from planner.sources.cache import ResponseCache, default_folder
from planner.thermal_outlook import thermal_outlook
from planner.timegrid import coming_week, iso_week, to_utc, week_name, zone
from trainer_hooks.publish import POINTER

if TYPE_CHECKING:
    from planner.thermal_outlook import ThermalOutlook


def read_outlook(
    site: Path, *, week: str | None, out: Path | None, issued_at: datetime | None, offline: bool
) -> tuple[ThermalOutlook, Path]:
    """Read a site, ask its sources for the weather, and work out the facts of its cooling.

    Args:
        site: Site file.
        week: ISO week such as "2024-W20"; where None, the site file's, else the coming one.
        out: Folder of the week; where None, the one that `gridpace plan` writes into.
        issued_at: When the report counts as made; now where None.
        offline: Whether to keep off the network.

    Returns:
        The facts, and the folder of the week.

    Raises:
        ConfigError: The site file is wrong, the week's name is none, or the calendar in force is damaged.
        DataUnavailable: The weather cannot be had.
    """
    described, now = load_site(site), datetime.now(UTC)
    tz = zone(described.place.timezone)
    grid = iso_week(week or described.horizon.week or coming_week(now, tz), tz, described.horizon.slot_minutes)
    folder = out or Path("out") / folder_name(described.name) / week_name(grid.start, tz)
    gathered = gather_signals(described, grid, now=now, offline=offline, cache=ResponseCache(default_folder()))
    calendar = read_published(folder)[0] if (folder / CALENDARS / POINTER).is_file() else None
    made = to_utc(issued_at or now).replace(microsecond=0)
    return thermal_outlook(described, grid, gathered, issued_at=made, calendar=calendar), folder
