"""Whether a hold costs fewer joules than saving, ending and starting again."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trainer_hooks.errors import GpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer_hooks.gpu import Gpu

# Source: idle H100 SXM boards draw 69 W to 79 W; valid for that generation, measured in the first hold.
IDLE_W_PER_GPU = 75.0
# Assumed until the training's own are timed: a checkpoint of some hundred gigabytes, and a start with compilation.
SAVE_S = 60.0
RELOAD_S = 300.0


@dataclass(frozen=True)
class PauseCosts:
    """What pausing costs on the boards of one process.

    Attributes:
        idle_w: Power of all its boards in a hold, W.
        save_s: Time of a checkpoint, s.
        save_j: Energy of a checkpoint, J; None until measured: idle power over its time.
        reload_s: Time from a process's start to its first step, s.
        reload_j: Energy of that, J; None: idle power over its time.
    """

    idle_w: float
    save_s: float = SAVE_S
    save_j: float | None = None
    reload_s: float = RELOAD_S
    reload_j: float | None = None

    def hold_j(self, duration_s: float) -> float:
        """Return the energy of a hold of that length, J."""
        return self.idle_w * duration_s

    def exit_j(self) -> float:
        """Return the energy of saving, and of starting again, J; in between the boards are someone else's."""
        save_j = self.idle_w * self.save_s if self.save_j is None else self.save_j
        return save_j + (self.idle_w * self.reload_s if self.reload_j is None else self.reload_j)

    def cheaper(self, remaining_s: float) -> Literal["hold", "exit"]:
        """Choose how to pause.

        Args:
            remaining_s: How long the pause still lasts, s.

        Returns:
            `exit` where that costs less and the training can be back when the pause ends, else `hold`.
        """
        in_time = remaining_s > self.save_s + self.reload_s
        return "exit" if in_time and self.exit_j() < self.hold_j(remaining_s) else "hold"


class CostMeter:
    """Measures the costs of pausing, in place of what was assumed.

    Args:
        gpus: Boards of this process.
        costs: What is assumed until it is measured.
        monotonic: Clock, s.
    """

    def __init__(self, gpus: Sequence[Gpu], costs: PauseCosts, monotonic: Callable[[], float]) -> None:
        self.costs = costs
        self._gpus = tuple(gpus)
        self._monotonic = monotonic
        self._save_begin: tuple[float, float | None] = (0.0, None)

    def idle(self) -> None:
        """Take the present power for that of a hold."""
        power_w = self._sum(lambda gpu: gpu.power_w())
        if power_w is not None:
            self.costs = replace(self.costs, idle_w=power_w)

    def save_begins(self) -> None:
        """Note the boards' counters before a checkpoint."""
        self._save_begin = self._monotonic(), self._sum(lambda gpu: gpu.energy_j())

    def save_ended(self) -> None:
        """Take the checkpoint just written for the next one; a counter that ran backwards says nothing."""
        begin_s, begin_j = self._save_begin
        end_j = self._sum(lambda gpu: gpu.energy_j())
        used_j = None if begin_j is None or end_j is None or end_j < begin_j else end_j - begin_j
        self.costs = replace(self.costs, save_s=self._monotonic() - begin_s, save_j=used_j)

    def reloaded(self, duration_s: float) -> None:
        """Take the time this process needed from its start to a loaded state for that of the next start."""
        self.costs = replace(self.costs, reload_s=duration_s)

    def _sum(self, read: Callable[[Gpu], float | None]) -> float | None:
        try:
            values = [read(gpu) for gpu in self._gpus]
        except GpuError:
            return None
        known = [value for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None


def process_age_s() -> float | None:
    """Return how long this process has been running, s; None where the system does not say."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
    except (OSError, ValueError, IndexError, AttributeError):
        return None
