"""The week that a calendar in the ledger was made from, made again of its site file and series as they were then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import site_from_text
from planner.errors import ConfigError
from planner.gather import gather
from planner.kept_series import series_from
from planner.ledger.issued import issued_input
from planner.rolling.behind import as_made_from
from planner.service.progress import progress_from, with_progress
from planner.timegrid import horizon_name, zone

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.config import Site
    from planner.outlook import Gathered
    from planner.week import Week
    from trainer_hooks.contract import Calendar


def stored_week(session: Session, header: Calendar, site_file: Path) -> tuple[Site, Week]:
    """Return the site and the week that a calendar was made from.

    Args:
        session: An open session.
        header: The calendar's header.
        site_file: Where the site file stands: files that it names lie beside it.

    Raises:
        ConfigError: They are not in the ledger, or other files that the site file names have changed so that they no
            longer fit.
    """
    text, series = issued_input(session, header.calendar_id, "site"), stored_series(session, header)
    stood = issued_input(session, header.calendar_id, "progress")
    if text is None or series is None:
        raise ConfigError(
            f"what calendar {header.calendar_id} was made from is not in the ledger",
            fix="answer it by `gridpace respond` in the folder where it was planned",
        )
    site = site_from_text(text.content.decode(), site_file)
    if stood is not None:
        site = with_progress(site, progress_from(stood.content))
    name = horizon_name(header.valid_from, header.valid_until, zone(header.timezone))
    week = gather(site, week=name, now=header.issued_at, issued_at=header.issued_at, offline=True, kept=series)
    return site, as_made_from(week, header)


def stored_series(session: Session, header: Calendar) -> Gathered | None:
    """Return the series that a calendar was made from, or None where they are not in the ledger."""
    found = issued_input(session, header.calendar_id, "series")
    return None if found is None else series_from(found.content, Path(f"{header.calendar_id}/series"), header)
