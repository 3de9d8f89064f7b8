"""The chance of a deadline: what is promised beside what simulated weeks show, for gangs that fail rarely and often."""

from __future__ import annotations

import argparse
import time

from power.failure_budget import reach_probability
from power.failure_weeks import simulated_probability
from tests.bench.machine import describe, table
from tests.failing_gangs import CASES, SHARES_DUE

WEEK_S = 168 * 3600.0
ALLOWED_POINTS = 2.0


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench goodput", description=__doc__)
    parser.add_argument("--weeks", type=int, default=10_000, help="simulated weeks per gang [10000]")
    weeks = parser.parse_args(arguments).weeks
    print(describe(), end="\n\n")
    print(
        f"Chance that tokens due are made in time: promised / {weeks:,} simulated weeks, %, for tokens due of "
        f"{', '.join(f'{share:g}' for share in SHARES_DUE)} times the plan's mean.\n"
    )
    rows, furthest = [], 0.0
    for case in CASES:
        due = [(case.due_tokens(share), case.end_s) for share in SHARES_DUE]
        began = time.perf_counter()
        promised = [reach_probability(case.goodput, case.plan, *one) for one in due]
        reckoned_s = time.perf_counter() - began
        simulated = simulated_probability(case.goodput, case.plan, due, weeks, seed=1)
        simulated_s = time.perf_counter() - began - reckoned_s
        off = max(100 * abs(a - b) for a, b in zip(promised, simulated, strict=True))
        furthest = max(furthest, off)
        rows.append(
            [
                case.name,
                f"{case.goodput.failures_per_s * WEEK_S:.2f}",
                f"{case.goodput.factor_share:.3f}",
                *(f"{100 * a:.1f} / {100 * b:.1f}" for a, b in zip(promised, simulated, strict=True)),
                f"{off:.2f}",
                f"{1000 * reckoned_s / len(due):.1f}",
                f"{1000 * simulated_s:.0f}",
            ]
        )
    head = ["gang", "failures a week", "useful", *(f"due {share:g}" for share in SHARES_DUE)]
    print(table([*head, "off, points", "reckoned, ms", "simulated, ms"], rows))
    print(f"\nFurthest: {furthest:.2f} points; allowed: {ALLOWED_POINTS:g}.")
