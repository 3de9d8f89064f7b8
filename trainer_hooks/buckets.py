"""How often: token buckets, one for each of those who are counted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

_KEYS_LIMIT = 4096


class Buckets:
    """A token bucket per key: full at first, refilled steadily.

    The keys seen longest ago are forgotten beyond a few thousand, so that strangers cannot fill the memory; a key
    forgotten is a key with a full bucket, so the bound on keys must be above those that matter.

    Args:
        rate_per_s: Refill, tokens a second, above 0.
        burst: Most that a bucket holds, tokens, at least 1.

    Raises:
        ValueError: A rate that is not above 0, or a burst below 1.
    """

    def __init__(self, rate_per_s: float, burst: float) -> None:
        if not rate_per_s > 0 or not burst >= 1:
            raise ValueError(f"A bucket needs a rate above 0 and a burst of at least 1, not {rate_per_s} and {burst}.")
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Hashable, now_s: float) -> bool:
        """Take one token.

        Args:
            key: Whose bucket.
            now_s: Monotonic time, s.

        Returns:
            Whether there was one.
        """
        with self._lock:
            level, since_s = self._levels.pop(key, (self._burst, now_s))
            level = min(self._burst, level + max(now_s - since_s, 0.0) * self._rate_per_s)
            taken = level >= 1.0
            self._levels[key] = (level - 1.0 if taken else level, now_s)
            if len(self._levels) > _KEYS_LIMIT:
                self._levels.popitem(last=False)
            return taken
