"""Checks of the device layer on one GPU, printed as a table: `tests/gpu/run.sh`.

Every check says what it found and whether that is as the code assumes. The limit found is given back at the end, also
after a fault.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tests.gpu.transformer import TinyTransformer
from trainer_hooks import Governor
from trainer_hooks.clock import Clock
from trainer_hooks.devices import machine_gpus
from trainer_hooks.gpu import LIMIT_TOLERANCE_W
from trainer_hooks.nvml import NvmlSession
from trainer_hooks.settling import PATIENCE_S, Settling
from trainer_hooks.signals import before_ending
from trainer_hooks.sweep.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trainer_hooks.gpu import Gpu

READS = 200
COUNTER_TOLERANCE = 0.10  # of the energy: power is sampled a part of the time only
TRAINED_S = 0.5  # shortest time between two looks at the power


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        check: What was looked at.
        found: What was found, with its unit.
        holds: Whether that is as assumed; None where there is nothing to hold it against.
    """

    check: str
    found: str
    holds: bool | None = None

    def __str__(self) -> str:
        verdict = {True: "yes", False: "NO", None: "-"}[self.holds]
        return f"| {self.check} | {self.found} | {verdict} |"


def latencies(gpu: Gpu) -> Iterator[Row]:
    """Time each reading."""
    for name, read in (
        ("energy counter", gpu.energy_j),
        ("power", gpu.power_w),
        ("limit requested", gpu.power_limit_w),
        ("limit in force", gpu.enforced_limit_w),
        ("temperature", gpu.temperature_c),
        ("margin", gpu.margin_c),
    ):
        times_us = sorted(_timed_us(read) for _ in range(READS))
        value = read()
        told = "not offered" if value is None else f"{value:,.1f}"
        found = f"{told}; median {statistics.median(times_us):.1f} us, p99 {times_us[READS * 99 // 100]:.0f} us"
        yield Row(f"reading the {name}", found)


def limits(
    gpu: Gpu, train: Callable[[], int], bounds: tuple[float, float], prior_w: float, clock: Clock
) -> Iterator[Row]:
    """Set a lower limit under load, see when it is in force, and give the old one back."""
    yield Row("range of limits", f"{bounds[0]:.0f} to {bounds[1]:.0f} W, found at {prior_w:.0f} W")
    wanted_w = round((bounds[0] + bounds[1]) / 2)
    called_s, started_s = time.perf_counter(), clock.monotonic()
    settling = _asked(gpu, wanted_w, clock)
    call_ms = 1e3 * (time.perf_counter() - called_s)
    try:
        while not settling.done and clock.monotonic() - started_s < 2 * PATIENCE_S:
            train()
            settling.poll()
        verdict = settling.verdict
        yield Row(
            "setting a limit", f"{wanted_w} W: {verdict.outcome} in {call_ms:.1f} ms", verdict.outcome == "applied"
        )
        settled = "not" if verdict.settled_s is None else f"after {verdict.settled_s:.2f} s at the latest"
        yield Row("limit in force", f"{settled}; {verdict.enforced_w} W read back", verdict.settled_s is not None)
        above = _asked(gpu, bounds[1] + 100, clock)
        while not above.done:
            clock.sleep(0.02)
            above.poll()
        asked = above.verdict
        yield Row("limit above the range", f"{asked.outcome} at {asked.limit_w} W", asked.outcome == "clamped")
    finally:
        gpu.set_power_limit_w(prior_w)
    back_w = gpu.power_limit_w()
    yield Row("limit given back", f"{back_w} W", back_w is not None and abs(back_w - prior_w) <= LIMIT_TOLERANCE_W)


def _asked(gpu: Gpu, limit_w: float, clock: Clock) -> Settling:
    since_s = clock.monotonic()
    return Settling(gpu, gpu.set_power_limit_w(limit_w), since_s, monotonic=clock.monotonic)


def energy(gpu: Gpu, train: Callable[[], int], seconds: float, clock: Clock) -> Row:
    """Hold the energy counter against the power integrated over a training."""
    first_j = gpu.energy_j()
    if first_j is None:
        return Row("counter against integrated power", "the board has no counter of its own")
    started_s = before_s = clock.monotonic()
    before_w = gpu.power_w() or 0.0
    integrated_j = 0.0
    while clock.monotonic() - started_s < seconds:
        train()
        now_s = clock.monotonic()
        if now_s - before_s < TRAINED_S:
            continue
        now_w = gpu.power_w() or 0.0
        integrated_j += (before_w + now_w) / 2 * (now_s - before_s)
        before_s, before_w = now_s, now_w
    counted_j = (gpu.energy_j() or 0.0) - first_j
    ratio = integrated_j / counted_j if counted_j > 0 else float("inf")
    found = f"{counted_j:,.0f} J counted, {integrated_j:,.0f} J integrated, ratio {ratio:.3f}"
    return Row(f"counter against integrated power, {seconds:.0f} s", found, abs(ratio - 1) <= COUNTER_TOLERANCE)


def sweep(
    gpu: Gpu, train: Callable[[], int], window_s: float, limits_w: tuple[float, ...], clock: Clock
) -> Iterator[Row]:
    """Measure operating points of the training itself."""
    prior_w = gpu.power_limit_w()
    with Sweep(
        [gpu], limits_w, warmup_steps=10, window_s=window_s, workload="tiny transformer", clock=clock
    ) as measured:
        while not measured.step(tokens=train()):
            pass
    if measured.problem:
        yield Row("sweep", measured.problem, holds=False)
        return
    for point in measured.document()["points"]:
        draw_w, rate = statistics.mean(point["gpu_draw_w"]), statistics.mean(point["tokens_per_gpu_s"])
        found = f"{draw_w:.0f} W, {rate:,.0f} tokens/s, {rate / draw_w:.2f} tokens/J"
        yield Row(f"sweep at {point['gpu_power_limit_w']:.0f} W", found)
    yield Row("limit after the sweep", f"{gpu.power_limit_w()} W", gpu.power_limit_w() == prior_w)


def step_cost(gpu: Gpu) -> Row:
    """Time a Governor's step away from a boundary."""
    governor = Governor(gpus=[gpu])
    times_us = sorted(_timed_us(governor.step) for _ in range(20_000))
    governor.close()
    median_us, p99_us = statistics.median(times_us), times_us[len(times_us) * 99 // 100]
    return Row(
        "step() off a boundary", f"median {median_us:.2f} us, p99 {p99_us:.1f} us", median_us <= 5 and p99_us <= 50
    )


def _timed_us(call: Callable[[], object]) -> float:
    started_ns = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started_ns) / 1e3


def rows(train: Callable[[], int], *, seconds: float, window_s: float, points: int = 5, clock: Clock) -> Iterator[Row]:
    """Run every check on the first GPU of the machine.

    Args:
        train: Trains one step to its end and returns its tokens.
        seconds: Length of the energy check, s.
        window_s: Length of a reading of the sweep, s.
        points: Limits of the sweep.
        clock: Time that the GPU lives by.
    """
    session = NvmlSession()
    gpu = machine_gpus(session)[0]
    driver = session.module().nvmlSystemGetDriverVersion()
    yield Row("GPU", f"{gpu.name}, driver {driver}, PyTorch {torch.__version__}")
    for _ in range(10):
        train()
    yield from latencies(gpu)
    bounds, prior_w = gpu.limit_range_w(), gpu.power_limit_w()
    if bounds is None or prior_w is None:
        yield Row("limits", "the board tells no range or no limit", holds=False)
        return
    before_ending(lambda: gpu.set_power_limit_w(prior_w))
    yield from limits(gpu, train, bounds, prior_w, clock)
    yield energy(gpu, train, seconds, clock)
    span_w = bounds[1] - bounds[0]
    chosen_w = tuple(float(round(bounds[0] + span_w * k / (points - 1))) for k in range(points))
    yield from sweep(gpu, train, window_s, chosen_w, clock)
    yield step_cost(gpu)


def main() -> int:
    """Print the table; 1 where something is not as assumed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="where PyTorch trains")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the energy check")
    parser.add_argument("--window", type=float, default=5.0, help="length of a reading of the sweep, s")
    given = parser.parse_args()
    print("| check | found | as assumed |\n|---|---|---|")
    failed = 0
    for row in rows(TinyTransformer(given.device).step, seconds=given.seconds, window_s=given.window, clock=Clock()):
        print(row, flush=True)
        failed += row.holds is False
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
