"""What a run calendar asks of a job that is steered from outside: pure functions of calendar and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.directive import directive

if TYPE_CHECKING:
    from datetime import datetime

    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.directive import Asked


@dataclass(frozen=True)
class Course:
    """What to do with the job now.

    Attributes:
        state: State of the present window, or `safe` outside the calendar.
        limit_w: Power limit of the present window, W per GPU; None for none of ours.
        save_before: The boundary ahead for which the job is to save now; None if none is near.
        until: When to ask again, UTC; None if nothing further is known.
    """

    state: Asked
    limit_w: float | None
    save_before: datetime | None
    until: datetime | None


FREE = Course("safe", None, None, None)
"""The course without a calendar."""


def course(calendar: RunCalendar, now: datetime, lead_s: float, began: datetime | None = None) -> Course:
    """Say what a calendar asks of a job that is told to save `lead_s` before a boundary and ended at it.

    Args:
        calendar: The run's calendar.
        now: Present instant, UTC.
        lead_s: Time given to the job for saving, s.
        began: When the job was started, UTC; None where none is running.

    Returns:
        What to do now.
    """
    present = directive(calendar, now, 0.0, began)
    ahead = directive(calendar, now, lead_s, began)
    save_before = ahead.boundary if ahead.boundary is not None and ahead.boundary > now else None
    untils = [until for until in (present.until, ahead.until) if until is not None]
    limit_w = present.window.gpu_power_limit_w if present.window else None
    return Course(present.state, limit_w, save_before, min(untils, default=None))


def next_run(calendar: RunCalendar, now: datetime) -> datetime | None:
    """Return when the job may run next, which may be now; None if the calendar has no more room for it.

    Args:
        calendar: The run's calendar.
        now: Present instant, UTC.

    Returns:
        Begin of that window, UTC.
    """
    for window in calendar.windows:
        if window.state == "run" and window.end > now:
            return max(window.start, now)
    return None
