"""A GPU that exists only as equations, behind the same protocol as a real one."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.gpu import LimitVerdict
from trainer_hooks.throttle import HeldBack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer_hooks.gpu import Outcome


@dataclass(frozen=True)
class CurvePoint:
    """One operating point of a GPU in training.

    Attributes:
        gpu_power_limit_w: Power limit, W.
        power_w: Power drawn under it, W.
        relative_throughput: Work per second over that at the highest limit, 0 to 1.
    """

    gpu_power_limit_w: float
    power_w: float
    relative_throughput: float


# Source: Emerald AI, power-cap sweep published in 2025, pre-training of 7B and 13B models on 400 W boards, rounded;
# in training the board draws its limit to within 5 %. Valid from 100 W to 400 W.
PRETRAINING_400_W = (
    CurvePoint(100.0, 100.0, 0.18),
    CurvePoint(200.0, 200.0, 0.63),
    CurvePoint(250.0, 250.0, 0.78),
    CurvePoint(300.0, 300.0, 0.865),
    CurvePoint(400.0, 400.0, 1.0),
)


class SimulatedGpu:
    """A twin with a power-limit-to-throughput curve, an energy counter and a first-order temperature.

    Args:
        points: Operating points by rising limit, at least one.
        monotonic: Clock that the twin lives by, s.
        uuid: Identity of the twin.
        idle_power_w: Power without work, W. The default is that of an idle A100.
        coolant_c: Temperature the die tends to at no power, degrees C.
        resistance_c_per_w: Steady temperature rise per watt, K/W. Default: one air-cooled H100, hourly means, 2025.
        time_constant_s: Time to 63 % of a temperature step, s; assumed.
        highest_c: Temperature that its margin is counted to, degrees C; the twin does not slow down beyond it.
        may_set: Whether the twin lets its limit be set.
        has_energy_counter: Whether the twin offers an energy counter.

    Raises:
        ValueError: No points, or limits that do not rise.
    """

    simulated = True

    def __init__(
        self,
        points: Sequence[CurvePoint] = PRETRAINING_400_W,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        uuid: str = "GPU-simulated-0",
        idle_power_w: float = 50.0,
        coolant_c: float = 25.0,
        resistance_c_per_w: float = 0.217,
        time_constant_s: float = 60.0,
        highest_c: float = 87.0,
        may_set: bool = True,
        has_energy_counter: bool = True,
    ) -> None:
        limits_w = [point.gpu_power_limit_w for point in points]
        if not points or any(low >= high for low, high in itertools.pairwise(limits_w)):
            raise ValueError(f"A simulated GPU needs operating points by rising limit, not {limits_w} W.")
        self.uuid = uuid
        self.name = f"simulated GPU, {limits_w[-1]:g} W"
        self.busy = False
        self._points = tuple(points)
        self._monotonic = monotonic
        self._idle_power_w = idle_power_w
        self._coolant_c = coolant_c
        self._resistance_c_per_w = resistance_c_per_w
        self._time_constant_s = time_constant_s
        self._highest_c = highest_c
        self._may_set = may_set
        self._has_energy_counter = has_energy_counter
        self._limit_w = limits_w[-1]
        self._energy_j = self._limited_s = 0.0
        self._temperature_c = coolant_c + resistance_c_per_w * idle_power_w
        self._time_s = monotonic()

    def set_busy(self, busy: bool) -> None:
        """Start or end the work that the twin's power follows."""
        self._advance()
        self.busy = busy

    def relative_throughput(self) -> float:
        """Return the work per second under the present limit, over that at the highest."""
        return self._interpolate([point.relative_throughput for point in self._points])

    def reset_energy(self) -> None:
        """Set the energy counter to zero, as a reload of the driver does."""
        self._advance()
        self._energy_j = 0.0

    def power_limit_w(self) -> float | None:
        """Return the limit that was requested last, W."""
        return self._limit_w

    def enforced_limit_w(self) -> float | None:
        """Return the limit in force, W."""
        return self._limit_w

    def limit_range_w(self) -> tuple[float, float] | None:
        """Return the lowest and highest limit of the curve, W."""
        return self._points[0].gpu_power_limit_w, self._points[-1].gpu_power_limit_w

    def set_power_limit_w(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit, W, within the curve's range."""
        outcome: Outcome = "denied"
        if self._may_set:
            self._advance()
            low_w, high_w = self._points[0].gpu_power_limit_w, self._points[-1].gpu_power_limit_w
            self._limit_w = min(max(limit_w, low_w), high_w)
            outcome = "applied" if self._limit_w == limit_w else "clamped"
        return LimitVerdict(limit_w, self._limit_w, self._limit_w, outcome)

    def power_w(self) -> float | None:
        """Return the present power, W."""
        return self._drawn_w()

    def energy_j(self) -> float | None:
        """Return the energy since the twin was made or reset, J."""
        self._advance()
        return self._energy_j if self._has_energy_counter else None

    def temperature_c(self) -> float | None:
        """Return the temperature of the die, degrees C."""
        self._advance()
        return self._temperature_c

    def margin_c(self) -> float | None:
        """Return how much hotter the twin may get, K."""
        self._advance()
        return self._highest_c - self._temperature_c

    def held_back(self) -> HeldBack:
        """Return how long the twin has worked below its highest limit; nothing else holds it back."""
        self._advance()
        return HeldBack(self._limited_s, 0.0, 0.0, 0.0)

    def _advance(self) -> None:
        """Carry energy and temperature to the present; power has been constant since the last call."""
        now_s = self._monotonic()
        elapsed_s, self._time_s = now_s - self._time_s, now_s
        power_w = self._drawn_w()
        self._energy_j += power_w * elapsed_s
        if self.busy and self._limit_w < self._points[-1].gpu_power_limit_w:
            self._limited_s += elapsed_s
        steady_c = self._coolant_c + self._resistance_c_per_w * power_w
        decay = math.exp(-elapsed_s / self._time_constant_s)
        self._temperature_c = steady_c + (self._temperature_c - steady_c) * decay

    def _drawn_w(self) -> float:
        return self._interpolate([point.power_w for point in self._points]) if self.busy else self._idle_power_w

    def _interpolate(self, values: Sequence[float]) -> float:
        limits_w = [point.gpu_power_limit_w for point in self._points]
        for low in range(len(limits_w) - 1):
            if self._limit_w <= limits_w[low + 1]:
                share = (self._limit_w - limits_w[low]) / (limits_w[low + 1] - limits_w[low])
                return values[low] + share * (values[low + 1] - values[low])
        return values[-1]
