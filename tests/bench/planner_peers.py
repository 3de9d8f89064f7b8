"""Our planner beside linopy, PyPSA and EMHASS: first whether they find the same optimum, then what each costs.

The aggregate program of many gangs is built from the same plain numbers by each path and solved by the same HiGHS with
the same options; every path runs in a process of its own. A small plan is put to EMHASS as deferrable loads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from planner.optimize import PlanOptions, plan
from planner.optimize.scale.classes import EVERY_RUN
from planner.optimize.scale.fluid import Fluid
from planner.sources.cache import default_folder
from tests.bench.machine import describe, table
from tests.bench.peers.answer import BadAnswerError, ratio
from tests.bench.peers.deferrable_task import deferrable_task, deferrable_week
from tests.bench.peers.environment import EnvironmentFailedError, ask, make
from tests.bench.peers.fluid_task import CASES, crowd_of, fluid_task
from tests.bench.peers.plan_answer import SAME, Built, Deferred, apart, middle, read_built, read_deferred
from tests.bench.peers.timed_reply import reply, solver

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "planner_peers.txt"
FLUID_PEERS = (HERE / "peers/linopy_fluid.py", HERE / "peers/pypsa_fluid.py")
EMHASS = HERE / "peers/emhass_plan.py"
EXACT = PlanOptions(gap_target=0.0, time_limit_s=120.0)
TOLD = """\
- linopy states the same program, with the columns and all but the empty rows of ours.
- PyPSA holds it as a network: work is a store, GPUs flow through links. It has more columns and rows for the same.
"""


def main(arguments: list[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="planner_peers")
    parser.add_argument("--env", type=Path, default=default_folder() / "planner-peers", help="folder of the peers")
    parser.add_argument("--case", choices=CASES, action="append", help="default: all of them")
    parser.add_argument("--rounds", type=int, default=1, help="processes of each path, and small plans of each planner")
    parser.add_argument("--own", choices=CASES, help="build and solve one case by our own path and print JSON")
    options = parser.parse_args(arguments)
    if options.own:
        gangs = crowd_of(*CASES[options.own])
        reply("gridpace", ("highspy", "numpy", "scipy"), lambda: solver(Fluid(gangs, EVERY_RUN)._model._highs))
        return
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    try:
        python = make(options.env, REQUIREMENTS)
        fluid = {name: _fluid(python, name, options.rounds) for name in options.case or CASES}
        deferred = _deferred(python, options.rounds)
    except (EnvironmentFailedError, BadAnswerError) as error:
        sys.exit(f"no comparison with linopy, PyPSA and EMHASS: {error}")
    print(describe(), end="\n\n")
    print(f"One thread, interior point without crossover; medians of processes of each path: {options.rounds}.\n")
    print(_versions([*next(iter(fluid.values())), *deferred]), end="\n\n")
    optima = [(one.objective, ways[0].objective) for ways in (*fluid.values(), deferred) for one in ways[1:]]
    print(table(["case", "path", "optimum", "apart, of ours", ""], _agreement(fluid, deferred)), end="\n\n")
    if any(apart(ours, theirs) > SAME for theirs, ours in optima):
        sys.exit("the peers do not find what ours finds: no ratio is told")
    print(TOLD)
    head = ["case", "path", "columns", "rows", "build, CPU s", "over ours", "solve, CPU s", "build + solve, s"]
    print(table([*head, "over ours", "build holds, MiB", "peak, MiB"], _costs(fluid)), end="\n\n")
    print(table(["small plan", "first, CPU s", "best, CPU s", "best, s"], _small(deferred)))


def _fluid(python: Path, name: str, rounds: int) -> list[Built]:
    """Return ours and the peers' medians on one case."""
    task = json.dumps(fluid_task(crowd_of(*CASES[name])))
    own = [sys.executable, "-m", "tests.bench", "planner_peers", "--own", name]
    asked = [partial(_asked_own, own), *(partial(ask, python, script, task) for script in FLUID_PEERS)]
    return [middle([read_built(one()) for _ in range(rounds)]) for one in asked]


def _asked_own(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _deferred(python: Path, rounds: int) -> list[Deferred]:
    """Return our small plan and EMHASS's, each planned a number of times in one process."""
    week = deferrable_week()
    wall_s, cpu_s, money = [], [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        money.append(plan(week, EXACT).objective)
        wall_s.append(time.perf_counter() - wall)
        cpu_s.append(time.process_time() - cpu)
    ours = Deferred("gridpace", {}, money[0], tuple(wall_s), tuple(cpu_s))
    return [ours, read_deferred(ask(python, EMHASS, json.dumps(deferrable_task(week) | {"rounds": rounds})))]


def _versions(ways: list[Built | Deferred]) -> str:
    return "\n".join(
        f"- {way.peer}: {', '.join(f'{name} {version}' for name, version in way.versions.items())}"
        for way in ways
        if way.versions
    )


def _agreement(fluid: dict[str, list[Built]], deferred: list[Deferred]) -> list[list[str]]:
    rows = []
    for case, ways in (*fluid.items(), ("small plan", deferred)):
        ours = ways[0].objective
        for way in ways[1:]:
            far = apart(ours, way.objective)
            rows.append([case, way.peer, f"{way.objective:.6f}", f"{far:.1e}", "equal" if far <= SAME else "apart"])
    return rows


def _costs(fluid: dict[str, list[Built]]) -> list[list[str]]:
    rows = []
    for case, ways in fluid.items():
        ours = ways[0]
        for way in ways:
            both_s, ours_s = way.build_s + way.solve_s, ours.build_s + ours.solve_s
            rows.append(
                [
                    case,
                    way.peer,
                    f"{way.columns:,}",
                    f"{way.rows:,}",
                    f"{way.build_cpu_s:.2f}",
                    f"{ratio(way.build_cpu_s, ours.build_cpu_s):.1f}",
                    f"{way.solve_cpu_s:.1f}",
                    f"{both_s:.1f}",
                    f"{ratio(both_s, ours_s):.1f}",
                    f"{way.built_mib - way.held_mib:.0f}",
                    f"{way.peak_mib:.0f}",
                ]
            )
    return rows


def _small(deferred: list[Deferred]) -> list[list[str]]:
    return [[way.peer, f"{way.cpu_s[0]:.2f}", f"{min(way.cpu_s):.2f}", f"{min(way.wall_s):.2f}"] for way in deferred]
