"""A wall clock that does not jump: steps of the system's clock are believed only when they last."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.clock import Clock

# A clock that is slewed drifts less than this between two looks; what is more was set by hand or by a jump.
TOLERANCE = timedelta(seconds=1)
BELIEVED_AFTER_S = 600.0


class SteadyWall:
    """Carries a wall clock on by the monotonic one while the system's clock disagrees.

    Args:
        clock: Clocks of the system.
        say: Takes a sentence about a step, once for each.
    """

    def __init__(self, clock: Clock, say: Callable[[str], None]) -> None:
        self._clock = clock
        self._say = say
        self._lock = threading.Lock()
        self._anchor, self._anchor_s = clock.wall(), clock.monotonic()
        self._step: timedelta | None = None
        self._since_s = 0.0

    def __call__(self) -> datetime:
        """Return the present instant, UTC."""
        with self._lock:
            seen, now_s = self._clock.wall(), self._clock.monotonic()
            expected = self._anchor + timedelta(seconds=now_s - self._anchor_s)
            step = seen - expected
            if abs(step) <= TOLERANCE:
                return self._follow(seen, now_s)
            if self._step is None or abs(step - self._step) > TOLERANCE:
                self._step, self._since_s = step, now_s
                self._say(
                    f"the wall clock was set by {step.total_seconds():+.0f} s; the calendar is followed by the time "
                    f"before, until the new time has stood for {BELIEVED_AFTER_S:.0f} s."
                )
            if now_s - self._since_s >= BELIEVED_AFTER_S:
                return self._follow(seen, now_s)
            return expected

    def _follow(self, seen: datetime, now_s: float) -> datetime:
        self._anchor, self._anchor_s, self._step = seen, now_s, None
        return seen


def steady(clock: Clock, say: Callable[[str], None]) -> Clock:
    """Make a clock whose wall time does not jump; see `SteadyWall`."""
    return replace(clock, wall=SteadyWall(clock, say))
