"""How much a caller may ask for: a bucket of requests each, which fills again with time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable


class Buckets:
    """Buckets by caller; the one used longest ago is dropped where there are too many, and is then full again.

    Args:
        per_s: Requests that a bucket gains, 1/s.
        burst: Requests that a full bucket holds.
        most: Buckets kept.
        clock: Seconds of any steady clock.
    """

    def __init__(
        self, per_s: float, burst: float, most: int = 100_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_s = per_s
        self._burst = burst
        self._most = most
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take a request out of a caller's bucket.

        Returns:
            0 where it was there; else after how many seconds it will be.
        """
        left, now = self._filled(caller)
        if left >= 1.0:
            self._keep(caller, left - 1.0, now)
            return 0.0
        self._keep(caller, left, now)
        return (1.0 - left) / self._per_s

    def is_empty(self, caller: str) -> bool:
        """Return whether a caller's bucket has no request left, without taking one."""
        return self._filled(caller)[0] < 1.0

    def _filled(self, caller: str) -> tuple[float, float]:
        now = self._clock()
        left, at = self._left.get(caller, (self._burst, now))
        return min(self._burst, left + (now - at) * self._per_s), now

    def _keep(self, caller: str, left: float, now: float) -> None:
        self._left[caller] = (left, now)
        self._left.move_to_end(caller)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
