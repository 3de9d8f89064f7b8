"""The energy of GPU boards: each board's counter where it is sound, else its power integrated, else a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainer_hooks.energy import COUNTER_PERIOD_S, NO_ENERGY, Energy, counted, integrated, together
from trainer_hooks.errors import GpuError
from trainer_hooks.power_model import modelled_power

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer_hooks.gpu import Gpu

# No board draws more than this many times its highest limit for longer than a sample; beyond it a counter lies.
IMPLAUSIBLE_POWER = 2.0
# A powered board always draws something: a counter that stands still for this long is stuck, not idle.
STUCK_S = 10 * COUNTER_PERIOD_S
# Source: NVIDIA, NVML API reference, nvmlDeviceGetPowerUsage: a mean over 1 s on Ampere and newer, except GA100, and
# an instant on GA100 and older. Yang, Adamek and Armour (2023): such an instant is a mean over some 0.1 s.
AVERAGED_S, INSTANT_S = 1.0, 0.1
_INSTANT_BOARDS = re.compile(r"\b(A100|A800|A30|V100\w*|T4|P100|P40|P4|K80)\b")


class _BoardMeter:
    """Energy of one board between samples."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self.uuid = gpu.uuid
        self._seen_s = INSTANT_S if _INSTANT_BOARDS.search(gpu.name) else AVERAGED_S
        self._time_s: float | None = None
        self._power_w: float | None = None
        # The last sound reading of the counter, and what has been stated of the time since without it.
        self._counter_j: float | None = None
        self._counter_time_s = 0.0
        self._stated_j = 0.0
        # Time of which nothing could be read, and which the model has not been asked for yet.
        self.dark_s = 0.0
        self.is_modelled = False
        self._highest_w: float | None = None

    @property
    def highest_w(self) -> float | None:
        """The highest limit that the board takes, W; None while it cannot be read."""
        if self._highest_w is None:
            try:
                bounds = self._gpu.limit_range_w()
            except GpuError:
                return None
            self._highest_w = None if bounds is None else bounds[1]
        return self._highest_w

    def sample(self, now_s: float) -> Energy:
        """Read the board and return the energy since the last sample that was not stated yet."""
        if self._time_s is None:
            self._time_s = now_s
            self._rebase(self._counter(), now_s)
            self._power_w = self._power()
            return NO_ENERGY
        elapsed_s = now_s - self._time_s
        if elapsed_s <= 0.0:
            return NO_ENERGY
        self._time_s = now_s
        counter_j = self._counter()
        energy = self._from_counter(counter_j, now_s)
        return energy or self._from_power(counter_j, now_s, elapsed_s)

    def model(self, busy: bool, limit_w: float | None) -> Energy:
        """Return the modelled energy of the time of which nothing could be read."""
        dark_s, self.dark_s = self.dark_s, 0.0
        modelled = modelled_power(busy, limit_w, self.highest_w) if dark_s else None
        if modelled is None:
            return NO_ENERGY
        self.is_modelled = True
        used_j = modelled.power_w * dark_s
        self._stated_j += used_j
        return Energy(used_j, modelled.error_w * dark_s, 0.0, "simulated" if self._gpu.simulated else "model")

    def _from_counter(self, counter_j: float | None, now_s: float) -> Energy | None:
        if counter_j is None or self._counter_j is None:
            return None
        used_j, since_s = counter_j - self._counter_j, now_s - self._counter_time_s
        if not self._believable(used_j, since_s):
            return None
        stated_j = self._stated_j
        energy = counted(used_j, since_s, self.highest_w or 0.0)
        self._power_w = used_j / since_s or self._power_w
        self._rebase(counter_j, now_s)
        if self._gpu.simulated:
            return Energy(used_j, 0.0, 0.0, "simulated")
        if not stated_j:
            return energy
        # A counter that was out of sight went on counting: it settles what was stated without it. What was stated
        # above it cannot be taken back from records that are written, and widens the error instead.
        surplus_j = max(stated_j - used_j, 0.0)
        return energy._replace(energy_j=max(used_j - stated_j, 0.0), sensor_error_j=energy.sensor_error_j + surplus_j)

    def _believable(self, used_j: float, since_s: float) -> bool:
        if used_j < 0.0 or (used_j == 0.0 and since_s > STUCK_S):
            return False
        highest_w = self.highest_w
        return highest_w is None or used_j <= IMPLAUSIBLE_POWER * highest_w * (since_s + COUNTER_PERIOD_S)

    def _from_power(self, counter_j: float | None, now_s: float, elapsed_s: float) -> Energy:
        power_w = self._power()
        energy = integrated(self._power_w, power_w, elapsed_s, self._seen_s, self.highest_w or 0.0)
        if energy is NO_ENERGY:
            self.dark_s += elapsed_s
        self._power_w = power_w
        self._stated_j += energy.energy_j
        if counter_j is not None and counter_j != self._counter_j:
            self._rebase(counter_j, now_s)
        return energy._replace(source="simulated") if self._gpu.simulated and energy is not NO_ENERGY else energy

    def _rebase(self, counter_j: float | None, now_s: float) -> None:
        self._counter_j, self._counter_time_s, self._stated_j, self.dark_s = counter_j, now_s, 0.0, 0.0

    def _counter(self) -> float | None:
        try:
            return self._gpu.energy_j()
        except GpuError:
            return None

    def _power(self) -> float | None:
        try:
            return self._gpu.power_w()
        except GpuError:
            return None


class EnergyMeter:
    """Sums the energy of GPUs: each board's counter where it is sound, else its power integrated, else a model.

    A counter that runs backwards, stands still or leaps beyond what the board can draw was reset, is stuck or is wrong;
    that stretch is integrated from power instead. A sound counter costs one call of the driver per board and sample;
    nothing runs between samples.

    Args:
        gpus: The boards.
        monotonic: Clock, s.
    """

    def __init__(self, gpus: Sequence[Gpu], monotonic: Callable[[], float]) -> None:
        self._boards: tuple[_BoardMeter, ...] = ()
        self._monotonic = monotonic
        self.total = NO_ENERGY
        self.add(gpus)

    def add(self, gpus: Sequence[Gpu]) -> None:
        """Meter more boards from now on."""
        boards = tuple(_BoardMeter(gpu) for gpu in gpus)
        for board in boards:
            board.sample(self._monotonic())
        self._boards += boards

    @property
    def modelled(self) -> tuple[str, ...]:
        """UUIDs of the boards of whose energy some was modelled, because nothing could be read of them."""
        return tuple(board.uuid for board in self._boards if board.is_modelled)

    def sample(self) -> Energy:
        """Read every board.

        Returns:
            Energy of all boards since the last sample; time of which nothing could be read is left to `model`.
        """
        now_s = self._monotonic()
        energy = together(board.sample(now_s) for board in self._boards)
        self.total = self.total.then(energy)
        return energy

    def model(self, busy: bool, limit_w: float | None) -> Energy:
        """State what boards drew in the time of which nothing could be read.

        Args:
            busy: Whether the training worked in that time.
            limit_w: Power limit of the calendar's window, W per GPU; None without one.

        Returns:
            Energy of that time, which later samples of a counter that returns are settled with.
        """
        energy = together(board.model(busy, limit_w) for board in self._boards)
        self.total = self.total.then(energy)
        return energy
