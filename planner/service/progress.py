"""Where runs will stand as a week begins: what telemetry reports, and what the calendar in force expects until then."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from planner.ledger.decisions import in_force, standing
from planner.ledger.service_tables import TelemetryHour
from planner.moves import home
from planner.rolling.behind import expected_tokens
from planner.service.publishing import stored_calendar

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.config import Site
    from planner.run import Run
    from trainer_hooks.contract import RunCalendar


@dataclass(frozen=True)
class Progress:
    """Where a run will stand.

    Args:
        tokens_done: Tokens that it will have made.
        running_in: Pool in which it will be running, or None where it will not be, or nothing says so.
        running_gpus: GPUs with which it will be running, where that is not its own count; else 0.
        lies_in: Pool in which its state will lie, for a run that may migrate and will not be running.
    """

    tokens_done: float
    running_in: str | None
    running_gpus: int = 0
    lies_in: str | None = None

    def told(self) -> dict[str, float | str | None]:
        """Return it as JSON values; what later came in is left out where it says nothing."""
        return {key: value for key, value in asdict(self).items() if value or key in {"tokens_done", "running_in"}}


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
        lies_in = None if run.migration is None else run.migration.lies_in
        stands = Progress(tokens, run.running_in, run.running_gpus, lies_in)
        if followed is not None and followed.valid_until >= start:
            tokens += expected_tokens(followed, now, start)
            stands = _at_end(run, followed, start, tokens)
        found[run.name] = stands
    return found


def _at_end(run: Run, followed: RunCalendar, start: datetime, tokens: float) -> Progress:
    """Return where a run stands when the calendar that it follows ends."""
    last = followed.windows[-1]
    if last.end >= start and last.pool is not None:
        return Progress(tokens, last.pool, last.gpus if run.moves and last.gpus != run.gpus else 0)
    if run.migration is None:
        return Progress(tokens, None)
    held = [window.pool for window in followed.windows if window.pool is not None]
    return Progress(tokens, None, lies_in=held[-1] if held else home(run))


def with_progress(site: Site, found: dict[str, Progress]) -> Site:
    """Return a site whose runs stand where it is said; runs of which nothing is said stand as they did."""
    return replace(site, runs=tuple(_stands(run, found[run.name]) if run.name in found else run for run in site.runs))


def _stands(run: Run, stands: Progress) -> Run:
    migration = run.migration and replace(run.migration, lies_in=stands.lies_in)
    return replace(
        run,
        tokens_done=stands.tokens_done,
        running_in=stands.running_in,
        running_gpus=stands.running_gpus,
        migration=migration,
    )


def progress_json(found: dict[str, Progress]) -> bytes:
    """Return where runs will stand as JSON."""
    return json.dumps({run: progress.told() for run, progress in found.items()}, allow_nan=False).encode()


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
