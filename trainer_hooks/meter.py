"""Joules with their source and error, and tokens with those lost to a rollback taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.errors import GpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer_hooks.gpu import Gpu

# Source: NVIDIA, NVML API reference, nvmlDeviceGetPowerUsage: within 5 % of the present power. Yang, Adamek and
# Armour, "Part-time Power Measurements" (2023), find errors of that kind to be a constant share of each board's power.
SENSOR_ERROR = 0.05
# Source: the same study and NVML: the energy counter is renewed about every 100 ms.
COUNTER_PERIOD_S = 0.1
# No board draws more than this many times its highest limit for longer than a sample; beyond it a counter lies.
IMPLAUSIBLE_POWER = 2.0


@dataclass(frozen=True)
class Energy:
    """Energy of one or more GPU boards over a stretch of time.

    Attributes:
        energy_j: Energy, J.
        sensor_error_j: Half-width of the sensors' error, J; grows with the energy.
        edge_error_j: Half-width of the error from when the counter was last renewed, J; counts once per stretch.
        source: `counter`, `power` (integrated), `mixed`, `simulated`, or `none` if nothing could be read.
    """

    energy_j: float
    sensor_error_j: float
    edge_error_j: float
    source: str

    @property
    def error_j(self) -> float:
        """Half-width of the uncertainty, J."""
        return self.sensor_error_j + self.edge_error_j

    def beside(self, other: Energy) -> Energy:
        """Add the energy of other boards over the same time; the errors of one kind of board do not cancel."""
        return self._joined(other, self.edge_error_j + other.edge_error_j)

    def then(self, other: Energy) -> Energy:
        """Add the energy of the same boards over the time that follows; the shared edge cancels."""
        return self._joined(other, max(self.edge_error_j, other.edge_error_j))

    def _joined(self, other: Energy, edge_error_j: float) -> Energy:
        sources = {self.source, other.source} - {"none"}
        source = sources.pop() if len(sources) == 1 else "mixed" if sources else "none"
        return Energy(self.energy_j + other.energy_j, self.sensor_error_j + other.sensor_error_j, edge_error_j, source)


NO_ENERGY = Energy(0.0, 0.0, 0.0, "none")


class _BoardMeter:
    """Energy of one board between samples."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._time_s: float | None = None
        self._counter_j: float | None = None
        self._power_w: float | None = None
        self._highest_w = self._highest_limit_w()

    def sample(self, now_s: float) -> Energy:
        """Read the board and return the energy since the last sample."""
        counter_j, power_w = self._read()
        elapsed_s = 0.0 if self._time_s is None else now_s - self._time_s
        energy = NO_ENERGY if self._time_s is None else self._between(elapsed_s, counter_j, power_w)
        self._time_s, self._counter_j, self._power_w = now_s, counter_j, power_w
        return energy

    def _between(self, elapsed_s: float, counter_j: float | None, power_w: float | None) -> Energy:
        if counter_j is not None and self._counter_j is not None:
            used_j = counter_j - self._counter_j
            if used_j >= 0 and (self._highest_w is None or used_j <= self._most_j(elapsed_s, self._highest_w)):
                if self._gpu.simulated:
                    return Energy(used_j, 0.0, 0.0, "simulated")
                mean_w = used_j / elapsed_s if elapsed_s > 0 else 0.0
                return Energy(used_j, SENSOR_ERROR * used_j, COUNTER_PERIOD_S * mean_w, "counter")
        return self._integrated(elapsed_s, power_w)

    @staticmethod
    def _most_j(elapsed_s: float, highest_w: float) -> float:
        return IMPLAUSIBLE_POWER * highest_w * (elapsed_s + COUNTER_PERIOD_S)

    def _integrated(self, elapsed_s: float, power_w: float | None) -> Energy:
        ends_w = [value for value in (self._power_w, power_w) if value is not None]
        if not ends_w:
            return NO_ENERGY
        mean_w = sum(ends_w) / len(ends_w)
        # Between two readings the power may have been at either for the whole time. With one it may have been
        # anything the board can draw.
        spread_w = abs(ends_w[0] - mean_w) if len(ends_w) == 2 else max(mean_w, (self._highest_w or 0.0) - mean_w)
        used_j = mean_w * elapsed_s
        source = "simulated" if self._gpu.simulated else "power"
        return Energy(used_j, SENSOR_ERROR * used_j + spread_w * elapsed_s, 0.0, source)

    def _read(self) -> tuple[float | None, float | None]:
        try:
            return self._gpu.energy_j(), self._gpu.power_w()
        except GpuError:
            return None, None

    def _highest_limit_w(self) -> float | None:
        try:
            bounds = self._gpu.limit_range_w()
        except GpuError:
            return None
        return None if bounds is None else bounds[1]


class EnergyMeter:
    """Sums the energy of GPUs: each board's counter where it is sound, else its power integrated.

    A counter that runs backwards or leaps beyond what the board can draw was reset or is wrong; that stretch is
    integrated from power instead.

    Args:
        gpus: The boards.
        monotonic: Clock, s.
    """

    def __init__(self, gpus: Sequence[Gpu], monotonic: Callable[[], float]) -> None:
        self._boards = tuple(_BoardMeter(gpu) for gpu in gpus)
        self._monotonic = monotonic
        self.total = NO_ENERGY
        self.sample()

    def sample(self) -> Energy:
        """Read every board.

        Returns:
            Energy of all boards since the last sample.
        """
        now_s = self._monotonic()
        energy = NO_ENERGY
        for board in self._boards:
            energy = energy.beside(board.sample(now_s))
        self.total = self.total.then(energy)
        return energy


class TokenMeter:
    """Counts tokens trained, and takes out those that a rollback made worthless.

    Args:
        position_tokens: Where this process begins: tokens already in the state it loaded.
    """

    def __init__(self, position_tokens: int = 0) -> None:
        self.start_tokens = position_tokens
        self.position_tokens = position_tokens
        self.tokens = 0

    @property
    def useful_tokens(self) -> int:
        """Tokens trained by this process that are still in the training's state."""
        return self.position_tokens - self.start_tokens

    def add(self, tokens: int) -> None:
        """Count tokens just trained.

        Raises:
            ValueError: Tokens are negative.
        """
        if tokens < 0:
            raise ValueError(f"Tokens of a step cannot be {tokens}; report a rollback with rollback().")
        self.tokens += tokens
        self.position_tokens += tokens

    def resume_at(self, position_tokens: int) -> None:
        """Say where the training stands after loading a state, before the first step.

        Raises:
            ValueError: Tokens were counted already, or the position is negative.
        """
        if self.tokens or position_tokens < 0:
            raise ValueError(
                f"The start cannot be set to {position_tokens} tokens after {self.tokens} were counted; "
                "it is set once, before the first step."
            )
        self.start_tokens = self.position_tokens = position_tokens

    def rollback(self, to_tokens: int) -> int:
        """Go back to an earlier state of this training.

        Args:
            to_tokens: Position of the restored state, in tokens since the training's very beginning.

        Returns:
            Tokens lost.

        Raises:
            ValueError: The position lies ahead of the present one, or is negative.
        """
        if not 0 <= to_tokens <= self.position_tokens:
            raise ValueError(
                f"A rollback to {to_tokens} tokens is not possible: the training stands at {self.position_tokens}."
            )
        lost = self.position_tokens - to_tokens
        self.position_tokens = to_tokens
        return lost
