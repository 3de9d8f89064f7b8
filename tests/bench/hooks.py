"""What the hooks cost: a step, reading one run among ten thousand, publishing them."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.bench.machine import describe, table
from trainer_hooks import Governor
from trainer_hooks.agreement.coordinator import Timing
from trainer_hooks.agreement.host import HostedHub
from trainer_hooks.agreement.session import HubAgreement, Place
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.calendar import Calendar, RunCalendar, Window, read_calendar, read_current, write_calendar
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.governor import WATCH_S
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter, new_writer
from trainer_hooks.wire import call

N_RUNS = 10_000
N_WINDOWS = 84  # a week of two-hour windows
N_STEPS = 200_000
N_READS = 200
N_RANKS = N_GPUS = 8


def main(arguments: list[str]) -> None:
    """Print the table; takes no options."""
    if arguments:
        sys.exit(f"hooks takes no options, not {arguments}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begin_s = time.perf_counter()
        header, runs = _week()
        write_calendar(folder / "calendar", header, runs)
        written_s = time.perf_counter() - begin_s
        begin_s = time.perf_counter()
        read_calendar(folder / "calendar")
        verified_s = time.perf_counter() - begin_s
        plain_ms = _reads_ms(lambda: read_current(folder / "calendar", "run-9999"))
        checked_ms = _reads_ms(lambda: read_current(folder / "calendar", "run-9999", verify=True))
        steps_us = _steps_us(folder, None)
        joined_us = _joined_steps_us(folder)
    rows = (
        ("Governor.step() off a boundary, median", statistics.median(steps_us), "us", "<= 5 us"),
        (
            "Governor.step() off a boundary, 99th percentile",
            statistics.quantiles(steps_us, n=100)[98],
            "us",
            "<= 50 us",
        ),
        (f"the same, one of {N_RANKS} ranks, {N_GPUS} GPUs, median", statistics.median(joined_us), "us", "<= 5 us"),
        ("the same, 99th percentile", statistics.quantiles(joined_us, n=100)[98], "us", "<= 50 us"),
        (f"one run among {N_RUNS:,}, median", statistics.median(plain_ms), "ms", "< 50 ms"),
        (f"one run among {N_RUNS:,}, slowest of {N_READS}", max(plain_ms), "ms", "< 50 ms"),
        (f"one run among {N_RUNS:,}, hash checked, median", statistics.median(checked_ms), "ms", ""),
        (f"publishing {N_RUNS:,} runs of {N_WINDOWS} windows", written_s, "s", ""),
        (f"verifying the hashes of {N_RUNS:,} runs", verified_s, "s", ""),
    )
    print(describe(), end="\n\n")
    print(table(["what", "measured", "goal"], [[what, f"{x:.3f} {unit}", goal] for what, x, unit, goal in rows]))


def _week() -> tuple[Calendar, list[RunCalendar]]:
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    length = timedelta(hours=168 / N_WINDOWS)
    end = start + N_WINDOWS * length
    windows = tuple(
        Window(
            start=start + index * length,
            end=start + (index + 1) * length,
            state="run",
            pool="pool-a",
            block="block-1",
            gpus=8,
            gpu_power_limit_w=400.0 - index % 3 * 50.0,
            checkpoint="none",
            tokens=1e9,
            energy_kwh=10.0,
            kgco2e=3.0,
            why="one of the greenest hours of the day",
        )
        for index in range(N_WINDOWS)
    )
    runs = [RunCalendar("bench", start, start, end, "bench", f"run-{index}", windows) for index in range(N_RUNS)]
    header = Calendar("bench", start, start, end, "bench", "UTC", 60, 168, {}, "bench", None, (), ())
    return header, runs


def _reads_ms(read) -> list[float]:
    taken = []
    for _ in range(N_READS if read() else 0):
        begin_s = time.perf_counter()
        read()
        taken.append((time.perf_counter() - begin_s) * 1e3)
    return taken


def _joined_steps_us(folder: Path) -> list[float]:
    """Steps of one of several ranks on a node: each has joined the hub and looks at its word in every step."""
    path = folder / "hub.sock"
    hosted = HostedHub(path, Timing())
    ranks = [HubAgreement(Place("bench", rank, N_RANKS), lambda m: call(path, m, 1.0), 30.0) for rank in range(N_RANKS)]
    try:
        for rank in ranks:
            rank.reach(time.monotonic() + 5.0)
            rank.stance(0, Wish.GO)
        return _steps_us(folder, ranks[0])
    finally:
        for rank in ranks[1:]:
            rank.close()
        hosted.close()


def _steps_us(folder: Path, agreement: HubAgreement | None) -> list[float]:
    telemetry = TelemetryWriter(folder / "telemetry", "run-0", new_writer())
    feed = CalendarFeed(folder / "calendar", "run-0")
    taken = []
    gpus = [SimulatedGpu(uuid=f"GPU-{number}") for number in range(N_GPUS if agreement else 1)]
    made = {"feed": feed, "run": "run-0", "gpus": gpus, "telemetry": telemetry, "agreement": agreement}
    with Governor(**made, watch_s=WATCH_S) as governor:
        for _ in range(N_STEPS):
            begin_ns = time.perf_counter_ns()
            governor.step(tokens=1, save=None)
            taken.append((time.perf_counter_ns() - begin_ns) / 1e3)
    return taken
