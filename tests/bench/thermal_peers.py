"""Our loops beside TESPy and pandapipes: first whether they find the same, then what one solve costs each."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from planner.sources.cache import default_folder
from tests.bench.machine import describe, table
from tests.bench.peers.answer import Answer, BadAnswerError, Difference, differences, ratio, read_answer
from tests.bench.peers.environment import EnvironmentFailedError, ask, make
from tests.bench.peers.reference import (
    DEPRESSION_K,
    DRY_BULBS_C,
    LOADS,
    RATED_KW,
    loads_and_weather,
    own_states,
    reference_plant,
    task,
)
from thermal.plant import cooling

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "thermal_peers.txt"
SCRIPTS = (HERE / "peers/tespy_loop.py", HERE / "peers/pandapipes_loop.py")
NOT_EQUIVALENT = {
    "TESPy": """\
- It solves the same unknowns: both loops, the CDU, the cooler and the air flow that holds the supply.
- Its properties are CoolProp's at every state; ours are a constant heat capacity per loop.
- It counts friction heat where the pressure falls, ours where the pump is: up to half a tenth of a kelvin.
- Fan power, cold plates, pads, chillers, room air and water are not asked of it; ours computes them with every state.
""",
    "pandapipes": """\
- It solves flow, pressure and temperature of both circuits; supplies, heats and the heat of the pumps are given to it.
- It has no exchanger between two circuits and no air side: it finds the returns and the pumps' powers alone.
- CDU, cooler, fans and everything else of ours are not in it: the same time buys less than a state of ours.
""",
}
HOURS, LOAD_POINTS = 8_760, 20
YEARS = 5  # times that all of them are computed


def main(arguments: list[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="thermal_peers")
    parser.add_argument("--env", type=Path, default=default_folder() / "thermal-peers", help="folder of the peers")
    parser.add_argument("--rounds", type=int, default=20, help="times that each solves all states")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    asked, own = task(options.rounds), own_states(*loads_and_weather())
    try:
        python = make(options.env, REQUIREMENTS)
        answers = [read_answer(ask(python, script, json.dumps(asked)), len(own), options.rounds) for script in SCRIPTS]
    except (EnvironmentFailedError, BadAnswerError) as error:
        sys.exit(f"no comparison with TESPy and pandapipes: {error}")
    print(describe(), end="\n\n")
    print(
        f"A {RATED_KW:,.0f} kW loop of water at {len(LOADS)} loads and {len(DRY_BULBS_C)} dry bulbs: {len(own)} states "
        f"solved {options.rounds} times each after a first time. Starting a peer and reading "
        "its result are not in its time.\n"
    )
    found = [(answer, differences(own, answer)) for answer in answers]
    print(table(["peer", "value", "largest difference", "counts as equal", ""], _agreement(found)), end="\n\n")
    for answer in answers:
        print(f"{answer.peer} ({', '.join(f'{k} {v}' for k, v in answer.versions.items())}):")
        print(NOT_EQUIVALENT[answer.peer])
    if not all(difference.equal for _, each in found for difference in each):
        sys.exit("the peers do not find what ours finds: no ratio is told")
    print(
        table(
            ["what", "ms a state, median", "best", *(f"{a.peer} over it, medians (best)" for a in answers)],
            _ratios(answers, _single_s(options.rounds), _year_s()),
        )
    )


def _agreement(found: list[tuple[Answer, list[Difference]]]) -> list[list[str]]:
    def told(difference: Difference, value: float) -> str:
        return f"{value:.3f} K" if difference.name.endswith("_c") else f"{100.0 * value:.2f} %"

    return [
        [answer.peer, each.name, told(each, each.largest), told(each, each.allowed), "equal" if each.equal else "apart"]
        for answer, differing in found
        for each in differing
    ]


def _ratios(answers: list[Answer], single_s: list[float], year_s: list[float]) -> list[list[str]]:
    rows = [
        [f"{answer.peer}, one state a solve", f"{1e3 * answer.median_s:.2f}", f"{1e3 * answer.best_s:.2f}", "", ""]
        for answer in answers
    ]
    for name, seconds in (
        ("ours, one state a call", single_s),
        (f"ours, {HOURS:,} hours x {LOAD_POINTS} loads in one call", [s / (HOURS * LOAD_POINTS) for s in year_s]),
    ):
        middle_s, best_s = float(np.median(seconds)), min(seconds)
        times = [f"{ratio(answer.median_s, middle_s):,.0f} ({ratio(answer.best_s, best_s):,.0f})" for answer in answers]
        rows.append([name, f"{1e3 * middle_s:.3g}", f"{1e3 * best_s:.3g}", *times])
    return rows


def _single_s(rounds: int) -> list[float]:
    """Return the times of every state asked for alone, s."""
    plant, seconds = reference_plant(), []
    it_kw, dry_c = loads_and_weather()
    cooling(plant, it_kw[0], dry_c[0], dry_c[0] - DEPRESSION_K)
    for _ in range(rounds):
        for load, dry in zip(it_kw, dry_c, strict=True):
            start = time.perf_counter()
            cooling(plant, load, dry, dry - DEPRESSION_K)
            seconds.append(time.perf_counter() - start)
    return seconds


def _year_s() -> list[float]:
    """Return the times of a year's hours at many loads in one call, s."""
    plant, seconds = reference_plant(), []
    dry_c = 15.0 + 12.0 * np.sin(np.arange(HOURS) / 1394.0) + 8.0 * np.sin(np.arange(HOURS) / 3.82)
    loads_kw = np.linspace(0.05, 1.0, LOAD_POINTS) * RATED_KW
    for _ in range(YEARS):
        start = time.perf_counter()
        cooling(plant, loads_kw, dry_c[:, None], dry_c[:, None] - DEPRESSION_K)
        seconds.append(time.perf_counter() - start)
    return seconds
