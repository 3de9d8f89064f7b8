"""Power limits that are given back: the limit found is restored, unless someone else has set another since."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import LIMIT_TOLERANCE_W

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from trainer_hooks.gpu import Gpu, LimitVerdict


class LimitKeeper:
    """Sets limits on one GPU and restores the one found before the first, at the latest when Python exits.

    Args:
        gpu: The GPU.
    """

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._prior_w: float | None = None
        self._ours_w: float | None = None
        self._owner_pid = 0

    def apply(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit.

        Args:
            limit_w: Limit, W.

        Returns:
            What came of it.
        """
        prior_w = self._prior_w
        if prior_w is None:
            try:
                prior_w = self.gpu.power_limit_w()
            except GpuError:
                prior_w = None
        verdict = self.gpu.set_power_limit_w(limit_w)
        if verdict.applied:
            if self._ours_w is None:
                atexit.register(self.restore)
            self._prior_w, self._ours_w, self._owner_pid = prior_w, verdict.limit_w, os.getpid()
        return verdict

    def restore(self) -> LimitVerdict | None:
        """Put back the limit that was found, once.

        Returns:
            What came of it; None if there was nothing to restore, or the present limit is not ours any more.
        """
        ours_w, prior_w = self._ours_w, self._prior_w
        # A forked child inherits this object, but the limit still belongs to its parent.
        if ours_w is None or prior_w is None or self._owner_pid != os.getpid():
            return None
        self._ours_w = self._prior_w = None
        atexit.unregister(self.restore)
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return None
        if present_w is None or abs(present_w - ours_w) > LIMIT_TOLERANCE_W:
            return None
        return self.gpu.set_power_limit_w(prior_w)

    def __enter__(self) -> LimitKeeper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()


class LimitSet:
    """One limit for several GPUs.

    Args:
        gpus: The GPUs.
    """

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self._keepers = tuple(LimitKeeper(gpu) for gpu in gpus)
        self.limit_w: float | None = None

    def set(self, limit_w: float | None) -> tuple[str, ...]:
        """Set the limit on every GPU, or give back the limits found.

        Args:
            limit_w: Limit, W per GPU; None restores.

        Returns:
            A sentence for every GPU whose limit is not as asked.
        """
        self.limit_w = limit_w
        told = []
        for keeper in self._keepers:
            verdict = keeper.restore() if limit_w is None else keeper.apply(limit_w)
            if verdict is not None and verdict.outcome != "set":
                present = "an unknown limit" if verdict.limit_w is None else f"{verdict.limit_w:g} W"
                told.append(
                    f"power limit of {keeper.gpu.uuid}: {verdict.requested_w:g} W asked, {verdict.outcome}; "
                    f"{present} is in force."
                )
        return tuple(told)

    def enforced_w(self) -> float | None:
        """Return the lowest limit in force among the GPUs, W; None if unknown."""
        try:
            limits_w = [keeper.gpu.enforced_limit_w() for keeper in self._keepers]
        except GpuError:
            return None
        return min((limit for limit in limits_w if limit is not None), default=None)
