"""A few large gangs that have to pack: certified gap, time and memory on seeded weeks with everything in.

Gangs of 64 to 4,096 GPUs want seven tenths of the GPU-hours. Every week has four operating points, solar, a battery,
a billed peak, ramp limits, the cooling of a real plant and starts that cost time; prices and carbon are drawn too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.week import Week
from power.gpu import OperatingPoint
from power.tariff import Tariff
from tests.bench.machine import describe, table
from tests.weeks import battery, make_block, make_pool, make_run, solar, tiny_week

ROOT = Path(__file__).resolve().parents[2]
SIZES, CHANCES = (64, 128, 256, 512, 1024, 2048, 4096), (0.2, 0.15, 0.2, 0.15, 0.15, 0.1, 0.05)
POINTS = tuple(
    OperatingPoint(w, it, r) for w, it, r in ((350, 690, 0.70), (450, 875, 0.85), (560, 1060, 0.95), (700, 1250, 1.0))
)
FILL = 0.7
HEADROOM = 0.9  # of the power that all GPUs at work would draw with their cooling
COOLING_SHARE = 0.12  # of IT power, to size the block by


@dataclass(frozen=True)
class Case:
    """A kind of week, and what is wanted of it.

    Args:
        gangs: Count of gangs.
        n_slots: Count of slots in seven days.
        n_pools: Count of pools, each with a block of its own.
        limit_s: Longest time, s.
        gap: Certified gap wanted.
        of_ten: So many of ten weeks are to reach it.
    """

    gangs: int
    n_slots: int
    n_pools: int
    limit_s: float
    gap: float
    of_ten: int


CASES = {
    "12x168": Case(12, 168, 1, 30.0, 0.01, 9),
    "24x168": Case(24, 168, 4, 90.0, 0.02, 8),
    "30x168": Case(30, 168, 4, 90.0, 0.02, 8),
    "24x672": Case(24, 672, 4, 150.0, 0.03, 10),
}


def gang_week(case: Case, seed: int) -> Week:
    """Return the week of a case that belongs to a seed."""
    rng = np.random.default_rng([case.gangs, case.n_slots, seed])
    per_h = case.n_slots // 168
    sizes = rng.choice(SIZES, case.gangs, p=CHANCES)
    work_h = rng.uniform(20.0, 70.0, case.gangs)
    first = rng.integers(0, 40, case.gangs)
    last = np.minimum(168, first + (work_h * rng.uniform(1.4, 2.5, case.gangs)).astype(int) + 4)
    home = np.argsort(rng.permutation(case.gangs)) % case.n_pools
    wanted = np.array([float((sizes * work_h)[home == p].sum()) for p in range(case.n_pools)]) / 168 / FILL
    largest = np.array([max(sizes[home == p].max(), 1) for p in range(case.n_pools)])
    gpus = np.maximum(np.ceil(wanted), np.ceil(1.05 * largest)).astype(int)
    hour = np.arange(168)
    price = 0.08 + 0.03 * np.sin(2 * np.pi * (hour - 15) / 24) + np.cumsum(rng.normal(0, 0.004, 168)) * 0.5
    price += 0.03 * np.sin(4 * np.pi * (hour - 5) / 24) + rng.normal(0, 0.006, 168)
    carbon = np.clip(380 + 90 * np.sin(2 * np.pi * (hour - 16) / 24) + np.cumsum(rng.normal(0, 18, 168)), 60, 800)
    cloud = rng.uniform(0.4, 1.0, 168)
    warm = 14 + 7 * np.sin(2 * np.pi * (hour - 9) / 24)
    capacity_kw = gpus * POINTS[-1].it_w_per_gpu / 1000 * (1 + COOLING_SHARE) * HEADROOM
    # the largest gang may start at once, two of them may not
    ramp = [float(size) * POINTS[-1].it_w_per_gpu / 1000 * 1.2 / 15.0 for size in largest]

    def slots(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, per_h)

    return tiny_week(
        n_slots=case.n_slots,
        slot_minutes=60 // per_h,
        price_per_kwh=slots(np.clip(price, 0.0, 0.5)),
        ci_gco2_per_kwh=slots(carbon),
        dry_bulb_c=slots(warm),
        wet_bulb_c=slots(warm - 4),
        ghi_w_per_m2=slots(np.clip(850 * np.sin(2 * np.pi * (hour - 6) / 24), 0, None) * cloud),
        blocks=tuple(
            make_block(
                f"hall-{p + 1}",
                float(kw),
                n_slots=case.n_slots,
                solar=solar(0.5 * float(kw)),
                battery=battery(0.4 * float(kw), 0.15 * float(kw)),
                ramp_kw_per_min=ramp[p],
            )
            for p, kw in enumerate(capacity_kw)
        ),
        pools=tuple(make_pool(f"a{p + 1}", int(n), f"hall-{p + 1}", points=POINTS) for p, n in enumerate(gpus)),
        runs=tuple(
            make_run(
                f"r{i + 1}",
                int(sizes[i]),
                float(work_h[i]),
                float(last[i]),
                pools=_pools(rng, int(home[i]), int(sizes[i]), gpus),
                points=POINTS,
                earliest_h=float(first[i]),
                priority=int(rng.integers(1, 6)),
                checkpoint_s=300.0,
                reload_s=900.0,
                min_run_h=4.0,
                min_pause_h=2.0,
                max_pauses=4,
                on_off_grid_h=4.0,
            )
            for i in range(case.gangs)
        ),
        tariff=Tariff(demand_charge_per_kw_month=9.0, month_to_date_peak_kw=0.8 * float(capacity_kw.sum())),
    )


def _pools(rng: np.random.Generator, home: int, size: int, gpus: np.ndarray) -> tuple[str, ...]:
    """Return a gang's own pool, and for three in ten another one that it fits."""
    other = (home + 1) % len(gpus)
    two = rng.random() < 0.3 and other != home and size <= gpus[other]
    return (f"a{home + 1}", f"a{other + 1}") if two else (f"a{home + 1}",)


def measure(name: str, seed: int, patience: float) -> dict[str, float | str]:
    """Plan one week in this process and return its figures."""
    case = CASES[name]
    week = gang_week(case, seed)
    began, busy = time.perf_counter(), time.process_time()
    found = plan(week, PlanOptions(gap_target=case.gap, time_limit_s=case.limit_s * patience))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - busy
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    broken = len(evaluate(calendar, runs, week).violations)
    size = dict(found.size)
    return {
        "gap": found.mip_gap, "status": found.status, "wall_s": wall_s, "cpu_s": cpu_s, "broken": broken,
        "late": len(found.shortfalls), "binaries": size["binaries"], "objective": found.objective,
    }  # fmt: skip


def apart(name: str, seed: int, patience: float) -> dict[str, float | str]:
    """Measure one week in a process of its own, with its peak memory."""
    code = (
        f"import json; from tests.bench.gangs import measure; print(json.dumps(measure({name!r}, {seed}, {patience})))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{name} with seed {seed} ended with {os.waitstatus_to_exitcode(status)}")
    return {**json.loads(said), "peak_gib": used.ru_maxrss / 2**20}


def _row(name: str, seed: int, one: dict[str, float | str]) -> list[str]:
    return [
        name,
        str(seed),
        f"{100 * one['gap']:.2f}",
        str(one["status"]),
        f"{one['wall_s']:.1f}",
        f"{one['cpu_s']:.1f}",
        f"{one['peak_gib']:.2f}",
        str(one["binaries"]),
        str(one["late"]),
        str(one["broken"]),
    ]


def main(arguments: list[str]) -> None:
    """Print a row for every week and what each case comes to."""
    parser = argparse.ArgumentParser(prog="gangs")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--patience", type=float, default=1.0, help="times the limit, on a machine busy with other work"
    )
    asked = parser.parse_args(arguments)
    print(describe(), end="\n\n")
    rows, sums = [], []
    for name in asked.case or CASES:
        case, found = CASES[name], [apart(name, seed, asked.patience) for seed in range(asked.seeds)]
        rows += [_row(name, seed, one) for seed, one in enumerate(found)]
        gaps = np.array([one["gap"] for one in found])
        sums.append(
            [
                name,
                f"{np.count_nonzero(gaps <= case.gap)} of {len(gaps)} ({case.of_ten} of 10)",
                f"{100 * case.gap:.0f}",
                f"{100 * np.median(gaps):.2f}",
                f"{100 * gaps.max():.2f}",
                f"{max(one['wall_s'] for one in found):.1f}",
                f"{case.limit_s:.0f}",
                f"{max(one['peak_gib'] for one in found):.2f}",
            ]
        )
    head = ["gangs x slots", "seed", "certified gap, %", "status", "time, s", "processor time, s", "peak memory, GiB"]
    print(table([*head, "whole columns", "late stages", "promises broken"], rows), end="\n\n")
    head = ["gangs x slots", "weeks within (wanted)", "gap wanted, %", "median, %", "highest, %", "longest, s"]
    print(table([*head, "limit, s", "peak memory, GiB"], sums))
