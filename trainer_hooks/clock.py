"""The one place where the hooks meet time, so that a week can be followed in seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Clock:
    """Wall clock, monotonic clock and sleep that belong together.

    Attributes:
        wall: Returns the present instant, UTC.
        monotonic: Returns seconds that never run backwards.
        sleep: Waits for a number of seconds.
    """

    wall: Callable[[], datetime] = _utc_now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def accelerated_clock(start: datetime, factor: float) -> Clock:
    """Make a clock that starts at an instant and runs faster than real time.

    Args:
        start: Instant the clock shows now, timezone-aware.
        factor: Clock seconds per real second, above 0.

    Returns:
        The clock; sleeping through an hour of it takes 3600 / factor real seconds.

    Raises:
        ValueError: The factor is not above 0.
    """
    if not factor > 0:
        raise ValueError(f"A clock's factor must be above 0 clock seconds per second, not {factor}.")
    origin_s = time.monotonic()
    begin = start.astimezone(timezone.utc)

    def monotonic() -> float:
        return (time.monotonic() - origin_s) * factor

    def wall() -> datetime:
        return begin + timedelta(seconds=monotonic())

    def sleep(duration_s: float) -> None:
        time.sleep(duration_s / factor)

    return Clock(wall, monotonic, sleep)
