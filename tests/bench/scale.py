"""Many gangs by classes of like runs: time, certified gap, memory; again after an event; and how time grows.

Each case runs in a process of its own. Weeks are drawn from seeds (tests/many_gangs.py), 70 % full, a demand charge,
solar in every other hall and a battery in the others.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from planner.evaluate import evaluate
from planner.optimize.scale import ManyGangs
from planner.publish import to_calendar
from tests.bench.machine import describe, table
from tests.many_gangs import many_gangs
from tests.weeks import at


@dataclass(frozen=True)
class Case:
    """A size, and what is wanted of it: s, gap in %, GiB."""

    runs: int
    slots: int
    pools: int
    most_s: float
    most_gap_pct: float
    most_gib: float


CASES = {
    "100x168": Case(100, 168, 1, 120.0, 4.0, 1.5),
    "1000x672": Case(1_000, 672, 4, 120.0, 3.0, 1.5),
    "10000x672": Case(10_000, 672, 4, 240.0, 4.0, 4.0),
}
AGAIN = "1000x672"
AGAIN_S, AGAIN_GAP_PCT = 10.0, 4.0


def measure(name: str, seed: int) -> dict[str, float]:
    """Plan one case, judge it, and plan it again with half of its first pool out for six hours where that is asked."""
    case = CASES[name]
    week = many_gangs(seed, n_runs=case.runs, n_slots=case.slots, slot_minutes=10_080 // case.slots, n_pools=case.pools)
    planner = ManyGangs(case.most_gap_pct / 100.0, case.most_s)
    began, cpu = time.monotonic(), time.process_time()
    found = planner.plan(week)
    told = {"wall_s": time.monotonic() - began, "cpu_s": time.process_time() - cpu, "gap_pct": 100.0 * found.mip_gap}
    told["gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    began = time.monotonic()
    calendar = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls, options={}
    )
    told["publish_s"], began = time.monotonic() - began, time.monotonic()
    verdict = evaluate(*calendar, week)
    told |= {"judge_s": time.monotonic() - began, "violations": len(verdict.violations)}
    told["missed"] = verdict.deadlines_missed
    if name == AGAIN:
        pool = week.pools[0]
        gpus = pool.commissioning[0][1]
        short = replace(pool, commissioning=(pool.commissioning[0], (at(60), gpus // 2), (at(66), gpus)))
        began = time.monotonic()
        again = planner.replan(replace(week, pools=(short, *week.pools[1:])))
        told |= {"again_s": time.monotonic() - began, "again_gap_pct": 100.0 * again.mip_gap}
    return told


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="scale")
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", choices=CASES, help="measure one case in this process and print JSON")
    asked = parser.parse_args(arguments)
    if asked.one:
        print(json.dumps(measure(asked.one, asked.seed)))
        return
    print(describe(), end="\n\n")
    rows, sizes = [], []
    for name in asked.only or CASES:
        command = [sys.executable, "-m", "tests.bench", "scale", "--one", name, "--seed", str(asked.seed)]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        case = CASES[name]
        sizes.append((case.runs, said["wall_s"]))
        rows.append(
            [
                name,
                str(case.pools),
                f"{said['wall_s']:.1f} (at most {case.most_s:.0f})",
                f"{said['cpu_s']:.1f}",
                f"{said['gap_pct']:.2f} (at most {case.most_gap_pct:.0f})",
                f"{said['gib']:.2f} (at most {case.most_gib:g})",
                f"{said['publish_s']:.1f} / {said['judge_s']:.1f}",
                f"{said['violations']:.0f} / {said['missed']:.0f}",
            ]
        )
        if "again_s" in said:
            again_gap = f"{said['again_gap_pct']:.2f} (at most {AGAIN_GAP_PCT:.0f})"
            again_s = f"{said['again_s']:.1f} (at most {AGAIN_S:.0f})"
            rows.append([f"{name}, again after an event", str(case.pools), again_s, "", again_gap, "", "", ""])
    print(
        table(
            [
                "gangs x slots", "pools", "wall, s", "CPU, s", "certified gap, %", "peak memory, GiB",
                "publish / judge, s", "violations / deadlines missed",
            ],
            rows,
        )
    )  # fmt: skip
    if len(sizes) > 1:
        runs, seconds = np.log(np.array(sizes, dtype=float).T)
        print(f"\ngrowth of time with runs (log-log slope): {np.polyfit(runs, seconds, 1)[0]:.2f}")
