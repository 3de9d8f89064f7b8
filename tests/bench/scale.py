"""Many gangs by classes of like runs: time, certified gap, memory; again after an event; and how time grows.

Each case runs in a process of its own, `--only` picks some. Weeks are drawn from seeds (tests/many_gangs.py), seven
tenths full, with a demand charge, solar in every other hall and a battery in the others. Months of quarter hours are
planned by windows where their gangs are few.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from planner.evaluate import evaluate
from planner.optimize import PlanOptions
from planner.optimize.scale import ManyGangs
from planner.publish import to_calendar
from planner.windows import by_windows, plan_by_windows
from tests.bench.machine import describe, table
from tests.many_gangs import many_gangs
from tests.weeks import at


@dataclass(frozen=True)
class Case:
    """A size, and what is wanted of it: s, gap in %, GiB; none of them where it only shows growth.

    Args:
        runs: Count of gangs.
        slots: Slots of the week.
        pools: Count of pools, each in a hall of its own.
        most: Wanted time, s, gap, %, and peak memory, GiB, or None.
        again: Whether half of the first pool falls out for six hours afterwards.
        slot_minutes: Length of a slot, min; 0 for slots that make a week.
    """

    runs: int
    slots: int
    pools: int
    most: tuple[float, float, float] | None
    again: bool = False
    slot_minutes: int = 0


CASES = {
    "100x168": Case(100, 168, 1, (120.0, 4.0, 1.5)),
    "1000x168": Case(1_000, 168, 4, None, again=True),
    "100x672": Case(100, 672, 4, None),
    "1000x672": Case(1_000, 672, 4, (120.0, 3.0, 1.5), again=True),
    "10000x672": Case(10_000, 672, 4, (240.0, 4.0, 4.0)),
    "month of 24": Case(24, 31 * 96, 1, None, slot_minutes=15),
    "month of 100": Case(100, 31 * 96, 4, None, slot_minutes=15),
}
GROWTH = ("100x672", "1000x672", "10000x672")
AGAIN_S, AGAIN_GAP_PCT = 10.0, 4.0
NO_TARGET = (240.0, 3.0, 4.0)  # limit and gap asked of a case that only shows growth
MONTH = (600.0, 3.0, 4.0)  # the same of a month


def measure(name: str, seed: int) -> dict[str, float]:
    """Plan one case, judge it, and plan it again with half of its first pool out for six hours where that is asked."""
    case = CASES[name]
    minutes = case.slot_minutes or 10_080 // case.slots
    week = many_gangs(seed, n_runs=case.runs, n_slots=case.slots, slot_minutes=minutes, n_pools=case.pools)
    most_s, most_gap_pct, _ = case.most or (MONTH if case.slot_minutes else NO_TARGET)
    planner = ManyGangs(most_gap_pct / 100.0, most_s)
    options = PlanOptions(most_gap_pct / 100.0, most_s)
    began, cpu = time.monotonic(), time.process_time()
    found = plan_by_windows(week, options, _said) if by_windows(week, options) else planner.plan(week)
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
    if case.again:
        pool = week.pools[0]
        gpus = pool.commissioning[0][1]
        short = replace(pool, commissioning=(pool.commissioning[0], (at(60), gpus // 2), (at(66), gpus)))
        event = replace(week, pools=(short, *week.pools[1:]))
        began, cpu = time.monotonic(), time.process_time()
        again = planner.replan(event)
        told |= {"again_s": time.monotonic() - began, "again_cpu_s": time.process_time() - cpu}
        told["again_gap_pct"] = 100.0 * again.mip_gap
        checked = evaluate(
            *to_calendar(
                event, again.schedule, status=again.status, certified_gap=again.mip_gap, shortfalls=again.shortfalls,
                options={},
            ),
            event,
        )  # fmt: skip
        told |= {"again_violations": len(checked.violations), "again_missed": checked.deadlines_missed}
    return told


@contextmanager
def _said(text: str) -> Iterator[None]:
    """Say on standard error what a month's windows take."""
    began = time.process_time()
    yield
    print(f"{text}: {time.process_time() - began:.1f} s of CPU", file=sys.stderr)


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
        said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        case = CASES[name]
        if name in GROWTH:
            sizes.append((case.runs, said["wall_s"], said["cpu_s"]))
        s, pct, gib = (f" (at most {limit:g})" for limit in case.most) if case.most else ("", "", "")
        rows.append(
            [
                name,
                str(case.pools),
                f"{said['wall_s']:.1f}{s}",
                f"{said['cpu_s']:.1f}",
                f"{said['gap_pct']:.2f}{pct}",
                f"{said['gib']:.2f}{gib}",
                f"{said['publish_s']:.1f} / {said['judge_s']:.1f}",
                f"{said['violations']:.0f} / {said['missed']:.0f}",
            ]
        )
        if case.again:
            rows.append(
                [
                    f"{name}, again after an event",
                    str(case.pools),
                    f"{said['again_s']:.1f} (at most {AGAIN_S:g})",
                    f"{said['again_cpu_s']:.1f}",
                    f"{said['again_gap_pct']:.2f} (at most {AGAIN_GAP_PCT:g})",
                    "",
                    "",
                    f"{said['again_violations']:.0f} / {said['again_missed']:.0f}",
                ]
            )
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
        runs, wall_s, cpu_s = np.log(np.array(sizes, dtype=float).T)
        slopes = [np.polyfit(runs, seconds, 1)[0] for seconds in (wall_s, cpu_s)]
        least, most = min(sizes)[0], max(sizes)[0]
        print(
            f"\ngrowth from {least:,} to {most:,} runs on 672 slots and 4 pools, log-log slope: "
            f"wall {slopes[0]:.2f}, CPU {slopes[1]:.2f}"
        )
