"""Where runs will stand as a week begins: what telemetry reports, and what the calendar in force expects until then."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from planner.ledger.decisions import in_force, standing
from planner.ledger.service_tables import TelemetryHour
from planner.service.publishing import stored_calendar

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.config import Site
    from trainer_hooks.contract import RunCalendar


@dataclass(frozen=True)
class Progress:
    """Where a run will stand.

    Args:
        tokens_done: Tokens that it will have made.
        running_in: Pool in which it will be running, or None where it will not be, or nothing says so.
    """

    tokens_done: float
    running_in: str | None


def progress_until(session: Session, site: Site, now: datetime, start: datetime) -> dict[str, Progress]:
    """Return where each run will stand at an instant.

    `tokens_done` of the site file is what a run had made before its telemetry began; what telemetry reports is added,
    and what the calendar in force expects of the time that is still to come.

    Args:
        session: An open session; telemetry is summed by the hour.
        site: The site.
        now: The present instant, UTC.
        start: The instant, UTC.
    """
    made = {
        run: float(tokens)
        for run, tokens in session.execute(
            select(TelemetryHour.run, func.sum(TelemetryHour.useful_tokens)).group_by(TelemetryHour.run)
        )
    }
    windows = _windows(session, site.name, now)
    found = {}
    for run in site.runs:
        followed = windows.get(run.name)
        tokens = run.tokens_done + made.get(run.name, 0.0)
        pool = run.running_in
        if followed is not None and followed.valid_until >= start:
            tokens += _expected(followed, now, start)
            last = followed.windows[-1]
            pool = last.pool if last.end >= start else None
        found[run.name] = Progress(tokens, pool)
    return found


def with_progress(site: Site, found: dict[str, Progress]) -> Site:
    """Return a site whose runs stand where it is said; runs of which nothing is said stand as they did."""
    return replace(
        site, runs=tuple(replace(run, **asdict(found[run.name])) if run.name in found else run for run in site.runs)
    )


def progress_json(found: dict[str, Progress]) -> bytes:
    """Return where runs will stand as JSON."""
    return json.dumps({run: asdict(progress) for run, progress in found.items()}, allow_nan=False).encode()


def progress_from(content: bytes) -> dict[str, Progress]:
    """Return where runs were to stand, as `progress_json` wrote it."""
    return {run: Progress(**told) for run, told in json.loads(content).items()}


def _windows(session: Session, site: str, now: datetime) -> dict[str, RunCalendar]:
    current = in_force(session, site, now)
    stands = None if current is None else standing(session, current)
    if stands is None or not stands.valid_from <= now < stands.valid_until:
        return {}
    _, runs = stored_calendar(session, stands.calendar_id)
    return {run.run: run for run in runs}


def _expected(run: RunCalendar, now: datetime, start: datetime) -> float:
    total = 0.0
    for window in run.windows:
        inside = (min(window.end, start) - max(window.start, now)).total_seconds()
        if inside > 0.0:
            total += window.tokens * inside / (window.end - window.start).total_seconds()
    return total
