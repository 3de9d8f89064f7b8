"""What a run calendar asks for at one instant: a pure function of calendar and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trainer_hooks.contract import RunCalendar, Window

Asked = Literal["run", "hold", "off", "safe"]
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Directive:
    """What to do now.

    Attributes:
        state: State of the window, or `safe` outside the calendar's validity.
        window: The window that asks for it; None when `safe`.
        boundary: The boundary at which a checkpoint is due; None if none is.
        until: When to ask again, UTC; None if nothing further is known.
    """

    state: Asked
    window: Window | None
    boundary: datetime | None
    until: datetime | None


def directive(calendar: RunCalendar, now: datetime, save_lead_s: float, began: datetime | None = None) -> Directive:
    """Say what a calendar asks for.

    A checkpoint that a pause needs is begun `save_lead_s` before the pause, and the pause follows it at once, so
    that no step is trained that the checkpoint does not hold. A window in another pool, or with another count of
    GPUs, is for a gang that is started anew: to the one that runs it is an `off` window.

    Args:
        calendar: The run's calendar.
        now: Present instant, UTC.
        save_lead_s: How long a checkpoint takes, s.
        began: When this gang was started, UTC; None where it is to be taken for the one that the present window means.

    Returns:
        What to do now.
    """
    position = calendar.position_at(now)
    if position is None:
        return Directive("safe", None, None, calendar.valid_from if now < calendar.valid_from else None)
    windows = calendar.windows
    window = windows[position]
    if began is not None and window.state != "off" and _gang_of(calendar, began) not in {None, _gang(window)}:
        return Directive("off", window, _gone_since(calendar, position), window.end)
    before = windows[position - 1] if position else None
    after = windows[position + 1] if position + 1 < len(windows) else None
    if window.state == "run" and _needs_save(window, after):
        # A lead longer than the window must not eat it whole.
        begin = window.end - min(save_lead_s * _SECOND, (window.end - window.start) / 2)
        if now < begin:
            return Directive("run", window, _late_boundary(before, window), begin)
        return _at_boundary(window, after)
    return Directive(window.state, window, _late_boundary(before, window), window.end)


def _at_boundary(window: Window, after: Window | None) -> Directive:
    """Say what is asked for where the checkpoint that is due at a window's end is to be begun."""
    if after is not None and after.state != "run":
        return Directive(after.state, after, window.end, after.end)
    if after is not None and _gang(after) != _gang(window):
        return Directive("off", after, window.end, window.end)
    return Directive("run", window, window.end, window.end)


def hold_ends(calendar: RunCalendar, now: datetime) -> datetime | None:
    """Find the end of the hold windows that follow each other from an instant on; None if it lies in none."""
    position = calendar.position_at(now)
    end = None
    while position is not None and position < len(calendar.windows) and calendar.windows[position].state == "hold":
        end, position = calendar.windows[position].end, position + 1
    return end


def _gang(window: Window) -> tuple[str | None, int]:
    """Return what a gang is started for: its pool and its count of GPUs."""
    return window.pool, window.gpus


def _gang_of(calendar: RunCalendar, began: datetime) -> tuple[str | None, int] | None:
    """Return what a gang was started for that began at an instant; None where the calendar has no window for it."""
    return next((_gang(w) for w in calendar.windows if w.end > began and w.state != "off"), None)


def _gone_since(calendar: RunCalendar, position: int) -> datetime:
    """Return since when there are windows for the gang of the window at a position."""
    gang = _gang(calendar.windows[position])
    while position and _gang(calendar.windows[position - 1]) == gang:
        position -= 1
    return calendar.windows[position].start


def _late_boundary(before: Window | None, window: Window) -> datetime | None:
    """Find the boundary behind us whose checkpoint is still wanted, for a step of this gang that ran across it."""
    if before is not None and before.state != "off" and window.state != "off" and _gang(before) != _gang(window):
        return None
    return window.start if _needs_save(before, window) else None


def _needs_save(before: Window | None, after: Window | None) -> bool:
    asked = (before is not None and before.checkpoint == "after") or (
        after is not None and after.checkpoint == "before"
    )
    return asked or (after is not None and after.state == "off")


@dataclass(frozen=True)
class Planned:
    """What a calendar expected of a stretch of time.

    Attributes:
        matching_s: Time in which the calendar asks for what was done, s.
        covered_s: Time that the calendar covers, s.
        tokens: Tokens expected, windows taken in proportion.
    """

    matching_s: float
    covered_s: float
    tokens: float


def planned(calendar: RunCalendar, states: frozenset[str], start: datetime, end: datetime) -> Planned:
    """Lay a stretch of time beside a calendar.

    Args:
        calendar: The run's calendar.
        states: States of windows that what was done fulfils.
        start: Begin, UTC.
        end: End, UTC.

    Returns:
        What the calendar expected.
    """
    matching_s = covered_s = tokens = 0.0
    for window in calendar.windows:
        overlap_s = (min(end, window.end) - max(start, window.start)) / _SECOND
        if overlap_s > 0:
            covered_s += overlap_s
            tokens += window.tokens * overlap_s / ((window.end - window.start) / _SECOND)
            matching_s += overlap_s if window.state in states else 0.0
    return Planned(matching_s, covered_s, tokens)
