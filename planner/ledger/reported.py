"""Useful tokens that telemetry reports, by run and hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.ledger.hours import hours

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session


def reported_tokens(session: Session, start: datetime, end: datetime) -> dict[str, dict[int, float]]:
    """Return the useful tokens of each run in each hour that telemetry tells of, whatever calendar it followed.

    Args:
        session: An open session; telemetry is summed by the hour.
        start: First instant, UTC.
        end: First instant after it, UTC.

    Returns:
        Run -> start of the hour, s since 1970 -> tokens.
    """
    found: dict[str, dict[int, float]] = {}
    for hour in hours(session, int(start.timestamp()), int(end.timestamp())):
        of_run = found.setdefault(hour.run, {})
        of_run[hour.hour_s] = of_run.get(hour.hour_s, 0.0) + hour.useful_tokens
    return found
