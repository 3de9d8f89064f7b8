"""Looks after limits that were set: whether they settle, whether someone else replaces them, and what else holds a GPU.

Everything here is a look, never a wait; the sentences are for whoever follows the training's log.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from trainer_hooks.errors import GpuError
from trainer_hooks.settling import Settling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from trainer_hooks.gpu import Gpu, LimitVerdict
    from trainer_hooks.throttle import HeldBack

# Time between two looks at a limit that is not in force yet, s: boards take some tenths of a second.
SOON_S = 0.1
# Time between two looks after that, s.
LATER_S = 30.0
_CAUSES = {"heat": "its heat", "brake": "the power brake of its server"}


class LimitFollow:
    """Follows the limits of several GPUs.

    Args:
        gpus: The GPUs.
        monotonic: Clock, s.
    """

    def __init__(self, gpus: Sequence[Gpu], monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._settling: list[Settling] = []
        self._leased: frozenset[str] = frozenset()
        self._causes = [_Cause(gpu, monotonic) for gpu in gpus if hasattr(gpu, "held_back")]
        self._due_s = monotonic() + LATER_S

    def asked(self, verdicts: Iterable[tuple[Gpu, LimitVerdict]], since_s: float, leased: Iterable[Gpu] = ()) -> None:
        """Follow limits that were just asked for, and no earlier ones.

        Args:
            verdicts: GPUs with what their setters answered.
            since_s: When they were asked, s by the clock.
            leased: Those of them whose limit an agent sets, for others and for its own reasons too: they are followed
                until the limit is in force, and what comes after is the agent's to tell.
        """
        self._leased = frozenset(gpu.uuid for gpu in leased)
        self._settling = [
            Settling(gpu, verdict, since_s, monotonic=self._monotonic) for gpu, verdict in verdicts if verdict.applied
        ]
        self._due_s = since_s + (SOON_S if self._settling else LATER_S)

    def due_in_s(self) -> float:
        """Return the time until the next look is worth while, s; infinite where there is nothing to look at."""
        if not self._settling and not self._causes:
            return math.inf
        return max(self._due_s - self._monotonic(), 0.0)

    def look(self) -> tuple[str, ...]:
        """Look if it is time to.

        Returns:
            One sentence for all GPUs with the same new finding: a limit that is not in force though it was set, or
            something else than the limit that holds GPUs back.
        """
        if self.due_in_s() > 0.0:
            return ()
        told: dict[str, list[str]] = {}
        followed = self._settling
        for one in followed:
            if one.done and one.gpu.uuid in self._leased:
                continue
            before = one.verdict
            verdict = one.poll()
            if verdict.outcome == "overridden" and one.gpu.uuid in self._leased:
                continue
            if not verdict.applied or (verdict.why and verdict.why != before.why):
                told.setdefault(f"{verdict.requested_w:g} W asked, {verdict.outcome}. {verdict.why}", []).append(
                    one.gpu.uuid
                )
        if self._settling is followed:  # a thread may have asked for another limit meanwhile
            self._settling = [one for one in followed if one.verdict.applied]
        for cause in self._causes:
            sentence = cause.look()
            if sentence:
                told.setdefault(sentence, []).append(cause.gpu.uuid)
        waiting = any(not one.done for one in self._settling)
        self._due_s = self._monotonic() + (SOON_S if waiting else LATER_S)
        return tuple(f"power limit of {named(uuids)}: {sentence}" for sentence, uuids in told.items())

    def settled_s(self) -> float | None:
        """Return the longest time that a limit asked for last took to come into force, s; None while one has not."""
        times_s = [one.verdict.settled_s for one in self._settling]
        known_s = [time_s for time_s in times_s if time_s is not None]
        return max(known_s) if known_s and len(known_s) == len(times_s) else None


class _Cause:
    """What holds one GPU back, where it is not its limit; said when that begins."""

    def __init__(self, gpu: Any, monotonic: Callable[[], float]) -> None:
        self.gpu = gpu
        self._monotonic = monotonic
        self._since_s = -math.inf
        self._seen: HeldBack | None = None
        self._cause: str | None = None

    def look(self) -> str:
        now_s = self._monotonic()
        if now_s - self._since_s < LATER_S:
            return ""
        before, before_s = self._seen, self._since_s
        try:
            self._seen, self._since_s = self.gpu.held_back(), now_s
        except GpuError:
            return ""  # whoever meters the GPU says so
        if before is None:
            return ""
        said, self._cause = self._cause, self._seen.since(before).cause(now_s - before_s)
        if self._cause == said or self._cause not in _CAUSES:
            return ""
        return f"{_CAUSES[self._cause]} holds it back, not the limit."


def named(uuids: Sequence[str]) -> str:
    """Name one GPU, or the first and last of several."""
    return uuids[0] if len(uuids) == 1 else f"{len(uuids)} GPUs, {uuids[0]} to {uuids[-1]}"
