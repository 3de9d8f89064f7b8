"""Power limits that are given back: the limit found is restored, unless someone else has set another since."""

from __future__ import annotations

import atexit
import os
import time
from typing import TYPE_CHECKING

from trainer_hooks.agent_client import AgentGpu
from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import LIMIT_TOLERANCE_W, LimitVerdict
from trainer_hooks.limit_follow import LimitFollow, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from trainer_hooks.gpu import Gpu


class LimitKeeper:
    """Sets limits on one GPU and restores the one found before the first, at the latest when Python exits.

    A limit is set only where the one before it can be read, because only then can it be given back.

    Args:
        gpu: The GPU.
    """

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._prior_w: float | None = None
        # The limit that is ours; None where a GPU fell silent while it was set, so that it may be any.
        self._ours_w: float | None = None
        self._owner_pid = 0

    def apply(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit.

        Args:
            limit_w: Limit, W.

        Returns:
            What came of it.
        """
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return LimitVerdict(limit_w, None, None, "lost")
        found_w = self._prior_w
        if found_w is None:
            if present_w is None:
                return LimitVerdict(limit_w, None, None, "unsupported")
            found_w = present_w
            atexit.register(self.restore)
        elif present_w is not None and not self._is_ours(present_w):
            found_w = present_w  # someone else has set it since: theirs is what is given back
        before = (self._prior_w, self._ours_w)
        # Noted before the board is asked: whatever happens in between, there is something to give back.
        self._prior_w, self._ours_w, self._owner_pid = found_w, None, os.getpid()
        verdict = self.gpu.set_power_limit_w(limit_w)
        if verdict.outcome in {"denied", "unsupported"}:
            self._prior_w, self._ours_w = before
        else:
            self._ours_w = verdict.limit_w
        if self._prior_w is None:
            atexit.unregister(self.restore)
        return verdict

    def restore(self) -> LimitVerdict | None:
        """Put back the limit that was found; where the GPU does not answer or refuses, it is kept for the next call.

        Returns:
            What came of it; None if there was nothing to restore, or the present limit is not ours any more.
        """
        prior_w = self._prior_w
        # A forked child inherits this object, but the limit still belongs to its parent.
        if prior_w is None or self._owner_pid != os.getpid():
            return None
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return LimitVerdict(prior_w, None, None, "lost")
        is_ours = present_w is None or self._is_ours(present_w)
        verdict = self.gpu.set_power_limit_w(prior_w) if is_ours else None
        if verdict is None or verdict.applied:
            self._ours_w = self._prior_w = None
            atexit.unregister(self.restore)
        return verdict

    def _is_ours(self, present_w: float) -> bool:
        return self._ours_w is None or abs(present_w - self._ours_w) <= LIMIT_TOLERANCE_W

    def __enter__(self) -> LimitKeeper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()


class LeaseKeeper:
    """The same for a GPU whose limit is leased: the agent gives back what it found, however this process ends.

    Args:
        gpu: The GPU.
    """

    def __init__(self, gpu: AgentGpu) -> None:
        self.gpu = gpu
        self._asked = False

    def apply(self, limit_w: float) -> LimitVerdict:
        """Lease a limit, W."""
        if not self._asked:
            atexit.register(self.restore)
            self._asked = True
        return self.gpu.set_power_limit_w(limit_w)

    def restore(self) -> LimitVerdict | None:
        """End the lease; None if nothing had to be set."""
        if self._asked:
            atexit.unregister(self.restore)
            self._asked = False
        return self.gpu.give_back_limit()


def limit_keeper(gpu: Gpu) -> LimitKeeper | LeaseKeeper:
    """Make the keeper of a GPU's limit: by lease where an agent sets it, else by this process."""
    return LeaseKeeper(gpu) if isinstance(gpu, AgentGpu) else LimitKeeper(gpu)


class LimitSet:
    """One limit for several GPUs.

    Args:
        gpus: The GPUs.
        monotonic: Clock, s.

    Attributes:
        limit_w: Limit asked for last, W per GPU; None after it was given back.
        answered: Whether that is settled for every GPU; where it is not, the same may be asked again.
    """

    def __init__(self, gpus: Sequence[Gpu], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._follow = LimitFollow(gpus, monotonic)
        self._keepers = tuple(limit_keeper(gpu) for gpu in gpus)
        self._clients = {gpu.client: None for gpu in gpus if isinstance(gpu, AgentGpu)}
        self.limit_w: float | None = None
        self.answered = True

    def set(self, limit_w: float | None) -> tuple[str, ...]:
        """Set the limit on every GPU, or give back the limits found.

        Args:
            limit_w: Limit, W per GPU; None restores.

        Returns:
            One sentence for all GPUs whose limit is not as asked in the same way.
        """
        self.limit_w, self.answered = limit_w, False
        told: dict[str, list[str]] = {}
        asked_s = self._monotonic()
        verdicts = [(k, k.restore() if limit_w is None else k.apply(limit_w)) for k in self._keepers]
        # A limit that may not be set stays so; one of ours is given back as soon as that is allowed.
        again = {"lost"} if limit_w is not None else {"lost", "denied", "unsupported", "ignored"}
        self.answered = all(verdict is None or verdict.outcome not in again for _, verdict in verdicts)
        ours = [] if limit_w is None else [(k.gpu, verdict) for k, verdict in verdicts if verdict is not None]
        self._follow.asked(ours, asked_s, [gpu for gpu, _ in ours if isinstance(gpu, AgentGpu)])
        for keeper, verdict in verdicts:
            if verdict is not None and verdict.outcome != "applied":
                present = "an unknown limit" if verdict.limit_w is None else f"{verdict.limit_w:g} W"
                sentence = f"{verdict.requested_w:g} W asked, {verdict.outcome}; {present} is in force. {verdict.why}"
                sentence = sentence.rstrip()
                told.setdefault(sentence, []).append(keeper.gpu.uuid)
        return tuple(f"power limit of {named(uuids)}: {sentence}" for sentence, uuids in told.items())

    @property
    def agent_gone(self) -> str:
        """Why the agent that holds the limits does not answer; "" while it does, and without an agent."""
        return next((client.gone for client in self._clients if client.gone), "")

    def notices(self) -> tuple[str, ...]:
        """Take the sentences that came up since the last call.

        The agent went or came; a limit did not come into force, or someone else set another; heat or a power brake
        holds a GPU back. It is a look, not a wait; `due_in_s` says when the next one is worth while.
        """
        told = tuple(sentence for client in self._clients for sentence in client.notices())
        return told + self._follow.look()

    def due_in_s(self) -> float:
        """Return the time until there may be something new to notice, s; infinite without GPUs."""
        return self._follow.due_in_s()

    def settled_s(self) -> float | None:
        """Return the longest time that the limit asked for last took to be in force, s; None until it is everywhere."""
        return self._follow.settled_s()

    def enforced_w(self) -> float | None:
        """Return the lowest limit in force among the GPUs, W; None if unknown."""
        try:
            limits_w = [keeper.gpu.enforced_limit_w() for keeper in self._keepers]
        except GpuError:
            return None
        return min((limit for limit in limits_w if limit is not None), default=None)
