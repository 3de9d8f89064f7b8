"""Steps the power limit through a training's own steps and measures draw and throughput at each."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any

from trainer_hooks.clock import Clock
from trainer_hooks.errors import GpuError, SweepError
from trainer_hooks.gpu import LIMIT_TOLERANCE_W
from trainer_hooks.limits import limit_keeper
from trainer_hooks.meter import EnergyMeter
from trainer_hooks.signals import before_ending, not_before_ending
from trainer_hooks.sweep.file import FEWEST_LIMITS, sweep_document, write_sweep
from trainer_hooks.sweep.readings import Reading, enough, error_share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from trainer_hooks.gpu import Gpu

_LOG = logging.getLogger("trainer_hooks")
# How long a limit may take until the boards enforce it.
_PATIENCE_S = 10.0
_ROUND_W = 5.0
_DEFAULT_LIMITS = 6


class Sweep:
    """Measures operating points inside a training loop; `step()` is called after every training step.

    One process sweeps: it sets the limits of all GPUs that the job has on its machine, and is told the job's tokens.
    The limits found are given back at the end, after an exception in a `with` block, at the exit of Python and at
    SIGTERM; after SIGKILL the node agent gives them back, where the limits are set through it.

    Args:
        gpus: The GPUs that the training runs on.
        limits_w: Power limits to measure, W per GPU; by default six from the lowest to the highest that all take.
        gpu: GPU type as the site file names it; the product name if empty.
        workload: What is trained.
        warmup_steps: Steps before anything is measured.
        settle_s: Shortest time after a limit is in force, s, before readings begin: power readings are means over
            1 s on most boards.
        settle_steps: Fewest whole steps in that time.
        window_s: Shortest length of a reading, s; boards sample a part of the time only.
        window_steps: Fewest steps of a reading.
        repeats: Fewest readings at a limit.
        most_readings: Readings at a limit after which it counts as too noisy.
        noise_share: Largest standard error of the mean throughput, and largest spread between readings.
        held_s: At the end, wait so long at a step boundary, s, and measure the draw of a held job; 0 does not.
        idle_w: Draw of a GPU without a job, W, if known.
        seed: Seed of the order of limits, which is another in every round.
        clock: Time.

    Raises:
        SweepError: No GPUs, too few limits, or one that the boards do not take.
    """

    def __init__(
        self,
        gpus: Sequence[Gpu],
        limits_w: Sequence[float] = (),
        *,
        gpu: str = "",
        workload: str = "",
        warmup_steps: int = 20,
        settle_s: float = 2.0,
        settle_steps: int = 2,
        window_s: float = 10.0,
        window_steps: int = 5,
        repeats: int = 3,
        most_readings: int = 24,
        noise_share: float = 0.03,
        held_s: float = 0.0,
        idle_w: float | None = None,
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self._gpus = tuple(gpus)
        self.limits_w = tuple(sorted(set(limits_w))) or _default_limits_w(self._gpus)
        _check(self._gpus, self.limits_w)
        self._gpu = gpu or self._gpus[0].name
        self._workload = workload
        self._warmup_steps = warmup_steps
        self._settle_s, self._settle_steps = settle_s, settle_steps
        self._window_s, self._window_steps = window_s, window_steps
        self._repeats, self._most_readings = max(repeats, 2), most_readings
        self._noise_share = noise_share
        self._held_s = held_s
        self._idle_w = idle_w
        self._held_w: float | None = None
        self._random = random.Random(seed)  # noqa: S311 - the order need not be secret
        self._clock = clock or Clock()
        self._meter = EnergyMeter(self._gpus, self._clock.monotonic)
        self._keepers = tuple(limit_keeper(board) for board in self._gpus)
        self._readings: dict[float, list[Reading]] = {limit_w: [] for limit_w in self.limits_w}
        self._points: dict[float, tuple[Reading, ...]] = {}
        self._round: list[float] = []
        self._limit_w: float | None = None
        self._measuring = self._counts_tokens = False
        self._steps = self._tokens = 0
        self._since_s = self._asked_s = self._clock.monotonic()
        self.done = False
        self.problem = ""
        before_ending(self.close)

    def step(self, tokens: int = 0, steps: int = 1) -> bool:
        """Call after every training step of the job.

        Args:
            tokens: Tokens that the job trained in it on these GPUs; without, steps per second are measured.
            steps: Steps done since the last call.

        Returns:
            Whether the sweep is done: all is measured and the limits are given back, or `problem` says why not.
        """
        if self.done:
            return True
        self._steps += steps
        self._tokens += tokens
        self._counts_tokens = self._counts_tokens or tokens > 0
        try:
            self._go_on()
        except GpuError as error:
            self._end(str(error))
        return self.done

    def document(self) -> dict[str, Any]:
        """Return what was measured as the planner takes it.

        Raises:
            SweepError: The sweep is not whole.
        """
        if self.problem or not self.done:
            why = self.problem or f"{len(self._points)} of {len(self.limits_w)} limits are measured."
            raise SweepError("the sweep", why, "Let it run to its end.")
        return sweep_document(
            self._points,
            gpu=self._gpu,
            workload=self._workload,
            counts_tokens=self._counts_tokens,
            idle_w=self._idle_w,
            held_w=self._held_w,
        )

    def write(self, path: Path) -> None:
        """Write the operating points for the planner.

        Args:
            path: A JSON file.

        Raises:
            SweepError: The sweep is not whole, or the file cannot be written.
        """
        write_sweep(path, self.document())

    def close(self) -> None:
        """Give the limits back; without a whole sweep `problem` says so."""
        if not self.done:
            self._end(f"it was ended with {len(self._points)} of {len(self.limits_w)} limits measured.")

    def __enter__(self) -> Sweep:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _go_on(self) -> None:
        now_s = self._clock.monotonic()
        if self._limit_w is None:
            if self._steps >= self._warmup_steps:
                self._next_limit()
        elif not self._measuring:
            if (
                self._is_in_force(now_s)
                and self._steps >= self._settle_steps
                and now_s - self._since_s >= self._settle_s
            ):
                self._measuring = True
                self._begin(now_s)
        elif self._steps >= self._window_steps and now_s - self._since_s >= self._window_s:
            self._read(self._limit_w, now_s)
            if not self.done:
                self._next_limit()

    def _begin(self, now_s: float) -> None:
        self._steps = self._tokens = 0
        self._since_s = now_s
        self._meter.sample()

    def _is_in_force(self, now_s: float) -> bool:
        """Whether every board enforces the limit; time and steps count from when it does."""
        limit_w = self._limit_w or 0.0
        enforced_w = [board.enforced_limit_w() for board in self._gpus]
        late = [value for value in enforced_w if value is not None and abs(value - limit_w) > LIMIT_TOLERANCE_W]
        if not late:
            return True
        if now_s - self._asked_s > _PATIENCE_S:
            raise GpuError(
                f"limit {limit_w:g} W",
                f"a board enforces {late[0]:g} W {_PATIENCE_S:g} s after it was set.",
                "Look for another program, a module limit or heat that sets it (nvidia-smi -q -d POWER,PERFORMANCE).",
            )
        self._begin(now_s)
        return False

    def _read(self, limit_w: float, now_s: float) -> None:
        duration_s = now_s - self._since_s
        energy = self._meter.sample()
        self._measuring = False
        present_w = [board.power_limit_w() for board in self._gpus]
        if any(value is not None and abs(value - limit_w) > LIMIT_TOLERANCE_W for value in present_w):
            raise GpuError(
                f"limit {limit_w:g} W",
                "somebody else set another while it was measured.",
                "Stop what else sets power limits on this machine, and sweep again.",
            )
        if energy.energy_j <= 0:
            raise GpuError(f"limit {limit_w:g} W", "the boards tell neither energy nor power.", "Use other GPUs.")
        amount = self._tokens / len(self._gpus) if self._counts_tokens else float(self._steps)
        readings = self._readings[limit_w]
        readings.append(Reading(energy.energy_j / duration_s / len(self._gpus), amount / duration_s, duration_s))
        found = enough(readings, self._repeats, self._noise_share)
        if found is not None:
            self._points[limit_w] = found
            _LOG.info("gridpace: %g W measured in %d readings.", limit_w, len(readings))
        elif len(readings) >= self._most_readings:
            noise = error_share([reading.rate_per_s for reading in readings])
            self._end(
                f"throughput at {limit_w:g} W is still too noisy after {len(readings)} readings (standard error "
                f"{noise:.1%}): measure longer windows."
            )

    def _next_limit(self) -> None:
        if not self._round:
            self._round = [limit_w for limit_w in self.limits_w if limit_w not in self._points]
            self._random.shuffle(self._round)
        if not self._round:
            self._hold()
            self._end("")
            return
        self._limit_w = self._round.pop()
        for keeper in self._keepers:
            verdict = keeper.apply(self._limit_w)
            if verdict.outcome != "applied":
                self._end(f"limit {self._limit_w:g} W of {keeper.gpu.uuid} was {verdict.outcome}.")
                return
        self._asked_s = self._clock.monotonic()
        self._begin(self._asked_s)

    def _hold(self) -> None:
        if self._held_s > 0:
            self._meter.sample()
            begin_s = self._clock.monotonic()
            self._clock.sleep(self._held_s)
            waited_s = self._clock.monotonic() - begin_s
            self._held_w = self._meter.sample().energy_j / waited_s / len(self._gpus)

    def _end(self, problem: str) -> None:
        self.problem, self.done = problem, True
        not_before_ending(self.close)
        for keeper in self._keepers:
            keeper.restore()
        if problem:
            _LOG.warning("gridpace: the sweep has no result: %s", problem)


def draw_w(gpus: Sequence[Gpu], duration_s: float, clock: Clock) -> float:
    """Measure the draw of GPUs over a stretch of time.

    Args:
        gpus: The GPUs, at least one.
        duration_s: How long, s, above 0.
        clock: Time.

    Returns:
        Mean draw of one GPU, W.
    """
    meter = EnergyMeter(gpus, clock.monotonic)
    begin_s = clock.monotonic()
    clock.sleep(duration_s)
    return meter.sample().energy_j / (clock.monotonic() - begin_s) / len(gpus)


def _range_w(gpus: Sequence[Gpu]) -> tuple[float, float] | None:
    ranges = [bounds for bounds in (gpu.limit_range_w() for gpu in gpus) if bounds is not None]
    return (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None


def _default_limits_w(gpus: Sequence[Gpu]) -> tuple[float, ...]:
    bounds = _range_w(gpus)
    if bounds is None:
        raise SweepError("the sweep", "the boards do not tell which limits they take.", "Name the limits.")
    low_w, high_w = bounds
    step_w = (high_w - low_w) / (_DEFAULT_LIMITS - 1)
    even = (_ROUND_W * round((low_w + number * step_w) / _ROUND_W) for number in range(_DEFAULT_LIMITS))
    return tuple(sorted({min(max(limit_w, low_w), high_w) for limit_w in even}))


def _check(gpus: Sequence[Gpu], limits_w: Sequence[float]) -> None:
    if not gpus:
        raise SweepError("the sweep", "it was given no GPU.", "Run it where the training's GPUs are visible.")
    if len(limits_w) < FEWEST_LIMITS:
        raise SweepError("the sweep", f"{len(limits_w)} limits show no curve.", f"Name at least {FEWEST_LIMITS}.")
    bounds = _range_w(gpus)
    outside = [limit_w for limit_w in limits_w if bounds and not bounds[0] <= limit_w <= bounds[1]]
    if outside and bounds:
        raise SweepError(
            f"limit {outside[0]:g} W",
            f"the boards take {bounds[0]:g} to {bounds[1]:g} W.",
            "Name limits in this range.",
        )
