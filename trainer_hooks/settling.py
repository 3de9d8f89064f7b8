"""Whether a limit that was set has come into force, found out without making anybody wait.

A board takes some time to enforce a limit, and meanwhile or later someone else may set another. The request itself is
answered at once; what became of it is asked for later, at a step that looks up anyway.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import LIMIT_TOLERANCE_W

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.gpu import Gpu, LimitVerdict

# Longest time that a limit may take to come into force, s; beyond it the request counts as ignored. Assumed: NVIDIA
# names no time, and boards are said to follow within a second.
PATIENCE_S = 5.0


class Settling:
    """Follows one limit from its request until it is in force, is known not to come, or is replaced by another.

    Args:
        gpu: The GPU.
        verdict: What its setter answered.
        since_s: When it was asked, s by the clock.
        monotonic: Clock, s.

    Attributes:
        verdict: What is known so far: at first that of the request; with `settled_s` once the limit is in force.
        done: Whether the limit is in force, or will not be.
    """

    def __init__(
        self,
        gpu: Gpu,
        verdict: LimitVerdict,
        since_s: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gpu = gpu
        self.verdict = verdict
        self.done = not verdict.applied
        self._monotonic = monotonic
        self._since_s = since_s
        self._due_s = since_s + PATIENCE_S
        # The limit that was read back: ours, within the board's range.
        self._ours_w = verdict.limit_w

    def poll(self) -> LimitVerdict:
        """Look once, without waiting.

        Returns:
            The verdict: `settled_s` says how long the limit took, at most: between two looks it may have come
            earlier. `overridden` if another limit is requested now than ours, also after ours was in force; `ignored`
            if ours is not enforced after the patience; `lost` if the GPU does not answer now.
        """
        if not self.verdict.applied:
            return self.verdict
        try:
            limit_w, enforced_w = self.gpu.power_limit_w(), self.gpu.enforced_limit_w()
        except GpuError as error:
            return self._end(replace(self.verdict, limit_w=None, enforced_w=None, outcome="lost", why=error.why))
        if limit_w is not None and self._ours_w is not None and abs(limit_w - self._ours_w) > LIMIT_TOLERANCE_W:
            why = f"Ours was {self._ours_w:g} W; someone else set {limit_w:g} W."
            self._end(replace(self.verdict, limit_w=limit_w, enforced_w=enforced_w, outcome="overridden", why=why))
        elif not self.done:
            self._judge(replace(self.verdict, limit_w=limit_w, enforced_w=enforced_w), enforced_w)
        return self.verdict

    def _judge(self, seen: LimitVerdict, enforced_w: float | None) -> None:
        now_s = self._monotonic()
        if enforced_w is None:
            self._end(replace(seen, why="The board does not tell the limit that it enforces."))
        elif self._ours_w is None or enforced_w <= self._ours_w + LIMIT_TOLERANCE_W:
            self._end(replace(seen, settled_s=now_s - self._since_s, why=_lower(enforced_w, self._ours_w)))
        elif now_s >= self._due_s:
            why = f"After {now_s - self._since_s:.1f} s the board still enforces {enforced_w:g} W."
            self._end(replace(seen, outcome="ignored", why=why))
        else:
            self.verdict = seen

    def _end(self, verdict: LimitVerdict) -> LimitVerdict:
        self.verdict, self.done = verdict, True
        return verdict


def _lower(enforced_w: float, ours_w: float | None) -> str:
    if ours_w is None or enforced_w >= ours_w - LIMIT_TOLERANCE_W:
        return ""
    return f"A lower limit from elsewhere is in force: {enforced_w:g} W."
