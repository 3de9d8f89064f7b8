"""What the planner's peers are asked, by hand, and how their answers are read."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from planner.optimize import plan
from planner.optimize.scale.classes import EVERY_RUN
from planner.optimize.scale.fluid import Fluid
from tests.bench import planner_peers
from tests.bench.peers.answer import BadAnswerError
from tests.bench.peers.deferrable_task import GANGS, HOURS, LEAST_ON_H, deferrable_task, deferrable_week
from tests.bench.peers.environment import ask
from tests.bench.peers.fluid_task import crowd_of, fluid_task
from tests.bench.peers.plan_answer import Built, apart, middle, read_built, read_deferred
from tests.bench.peers.timed_reply import __file__ as REPLY

SMALL = (5, 24, 60, 2)


def as_linprog(task):
    """The program of a task, written out once more for a solver of matrices."""
    cost, bounds, rows = [], [], {"le": [], "eq": []}

    def column(price=0.0, low=0.0, high=None):
        cost.append(price)
        bounds.append((low, high))
        return len(cost) - 1

    T, h = task["n_slots"], task["slot_h"]
    used = {pool["name"]: [[] for _ in range(T)] for pool in task["pools"]}
    load = {block["name"]: [[] for _ in range(T)] for block in task["blocks"]}
    for gang in task["gangs"]:
        made, share = [[] for _ in range(T)], [[] for _ in range(T)]
        for option in gang["options"]:
            for k, rate in enumerate(option["rate"]):
                for t in option["open"]:
                    x = column()
                    share[t].append((x, 1.0))
                    used[option["pool"]][t].append((x, 1.0))
                    load[option["block"]][t].append((x, option["added"][k][t]))
                    made[t].append((x, rate * h))
        rows["le"] += [(terms, gang["gpus"]) for terms in share]
        rows["le"].append(([term for terms in made for term in terms], gang["most"]))
        for mark, due in gang["marks"]:
            short = column(gang["price"])
            done = [(x, -amount) for terms in made[: int(mark)] for x, amount in terms]
            rows["le"].append(([*done, (short, -1.0)], -due))
    for pool in task["pools"]:
        rows["le"] += list(zip(used[pool["name"]], pool["gpus"], strict=True))
    imports = []
    for block in task["blocks"]:
        of_it = zip(*(block[name] for name in ("water_price", "idle", "it_most")), strict=True)
        it = [column(*one) for one in of_it]
        cooling = [column() for _ in range(T)]
        grid = [column(p, 0.0, most) for p, most in zip(task["energy_price"], block["import"], strict=True)]
        balance = [[(grid[t], 1.0), (it[t], -1.0), (cooling[t], -1.0)] for t in range(T)]
        taken = [[(x, -kw) for x, kw in terms] for terms in load[block["name"]]]
        rows["eq"] += [([(it[t], 1.0), *taken[t]], block["idle"][t]) for t in range(T)]
        rows["le"] += [([(cooling[t], -1.0), (it[t], slope)], -least) for t, slope, least in block["segments"]]
        for t, most in enumerate(block["solar"] or ()):
            balance[t].append((column(0.0, 0.0, most), 1.0))
        store, before = block["battery"], None
        for t in range(T) if store else ():
            charge, discharge = column(0.0, 0.0, store["charge"]), column(store["wear_price"], 0.0, store["discharge"])
            low, high = store["last"] if t == T - 1 else (store["least"], store["most"])
            level = column(0.0, low * store["energy"], high * store["energy"])
            balance[t] += [(charge, -1.0), (discharge, 1.0)]
            terms = [(level, 1.0), (charge, -h * store["charge_efficiency"])]
            terms.append((discharge, h / store["discharge_efficiency"]))
            terms += [] if before is None else [(before, -store["kept"])]
            rows["eq"].append((terms, store["kept"] * store["first"] * store["energy"] if before is None else 0.0))
            before = level
        rows["eq"] += [(terms, 0.0) for terms in balance]
        imports.append(grid)
    for register in task["registers"]:
        rise, interval = column(register["price"], register["least"]), np.array(register["interval"])
        for one in np.unique(interval[interval >= 0]):
            slots = np.flatnonzero(interval == one)
            rows["le"].append(([*((grid[t], 1.0 / len(slots)) for grid in imports for t in slots), (rise, -1.0)], 0.0))

    def dense(kind):
        a = np.zeros((len(rows[kind]), len(cost)))
        for i, (terms, _) in enumerate(rows[kind]):
            for x, value in terms:
                a[i, x] += value
        return a, np.array([side for _, side in rows[kind]])

    return linprog(cost, *dense("le"), *dense("eq"), bounds, method="highs").fun


def test_the_task_says_all_of_the_aggregate_program():
    gangs = crowd_of(*SMALL)
    task = json.loads(json.dumps(fluid_task(gangs), allow_nan=False))
    assert any(block["battery"] for block in task["blocks"])
    assert any(block["solar"] for block in task["blocks"])
    assert task["registers"]
    ours = Fluid(gangs, EVERY_RUN).solve(60.0)
    assert as_linprog(task) * task["unit_kw"] == pytest.approx(ours.objective, rel=1e-9)


def test_what_the_peers_are_not_asked_is_refused():
    gangs = crowd_of(*SMALL)
    first, *others = gangs.week.blocks
    ramped = replace(first, power=replace(first.power, ramp_kw_per_min=5.0))
    with pytest.raises(ValueError, match="ramp limit"):
        fluid_task(replace(gangs, week=replace(gangs.week, blocks=(ramped, *others))))


def test_deferrable_loads_cost_what_the_plan_costs_by_trying_every_start():
    """One gang with one spell: of all its spells the cheapest is what our own path finds."""
    week = deferrable_week()
    lone = replace(week, runs=(replace(week.runs[1], max_pauses=0),), pools=week.pools[1:2], blocks=week.blocks[1:2])
    task = deferrable_task(lone)
    (load,), price = task["loads"], np.array(task["price_per_kwh"])
    gpus, work_h, first, last = GANGS[1]
    assert (load["timesteps"], load["first"], load["after"], load["least_on"]) == (work_h, first, last, LEAST_ON_H)
    spells = [price[t : t + work_h].sum() for t in range(first, last - work_h + 1)]
    cheapest = (price @ np.array(task["base_w"]) + load["power_w"] * min(spells)) / 1000.0
    assert plan(lone, planner_peers.EXACT).objective == pytest.approx(cheapest, rel=1e-9)
    assert load["power_w"] > gpus * 950.0  # what a GPU adds to its idle power, before cooling
    assert len(price) == HOURS


BUILT = {
    "peer": "made up", "versions": {"made-up": "1"}, "objective": 10.0, "columns": 5, "rows": 4, "build_s": 0.5,
    "build_cpu_s": 0.4, "solve_s": 2.0, "solve_cpu_s": 1.5, "held_mib": 100.0, "built_mib": 150.0, "peak_mib": 160.0,
}  # fmt: skip
DEFERRED = {"peer": "made up", "versions": {}, "objective": 10.0, "wall_s": [0.5, 0.25], "cpu_s": [0.4, 0.2]}


def test_medians_are_taken_of_rounds_that_found_the_same():
    rounds = [read_built(json.dumps(BUILT | {"build_s": s})) for s in (0.5, 3.0, 0.75)]
    assert middle(rounds) == Built(**(BUILT | {"build_s": 0.75}))
    with pytest.raises(BadAnswerError, match="another optimum"):
        middle([*rounds, read_built(json.dumps(BUILT | {"objective": 10.0001}))])


def test_how_far_optima_are_apart_is_told_of_ours():
    assert apart(-200.0, -199.0) == pytest.approx(0.005)
    assert apart(200.0, 200.0) == 0.0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"build_s": 0.0}, "build_s is 0.0; more than 0"),
        ({"rows": 0}, "rows is 0; more than 0"),
        ({"objective": None}, "objective is None; a number"),
        ({"solve_cpu_s": True}, "solve_cpu_s is True; a number"),
        ({"peak_mib": float("nan")}, "peak_mib is nan; a number"),
        ({"more": 1}, "are wanted, not"),
        ({"peer": 1}, "peer must be a name"),
    ],
)
def test_what_is_no_answer_of_a_program_is_refused(changes, told):
    with pytest.raises(BadAnswerError, match=told):
        read_built(json.dumps(BUILT | changes))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Solved", "no JSON"),
        ("{}", "are wanted"),
        (json.dumps(DEFERRED | {"wall_s": []}), "wall_s must be a list of times"),
        (json.dumps(DEFERRED | {"cpu_s": [0.1, 0.0]}), "nothing is planned in no time"),
    ],
)
def test_what_is_no_answer_of_a_small_plan_is_refused(text, told):
    with pytest.raises(BadAnswerError, match=told):
        read_deferred(text)


def test_a_small_plan_is_told_by_its_rounds():
    assert read_deferred(json.dumps(DEFERRED)).wall_s == (0.5, 0.25)


def test_a_path_is_timed_apart_from_what_solvers_print(tmp_path):
    script = tmp_path / "path.py"
    script.write_text(
        f"""
import os, sys
sys.path.insert(0, {REPLY.rpartition("/")[0]!r})
from timed_reply import reply

def build():
    os.write(1, b"a banner")
    kept = bytearray(b"x") * (64 << 20)
    return lambda: {{"objective": 7.0, "columns": len(kept) >> 20, "rows": 1}}

reply("stand-in", ("numpy",), build)
""",
        encoding="utf-8",
    )
    found = read_built(ask(sys.executable, script, ""))
    assert (found.objective, found.columns) == (7.0, 64)
    assert found.built_mib - found.held_mib > 50.0
    assert found.build_s > 0.0


def test_it_is_told_plainly_that_the_environment_cannot_be_made(tmp_path):
    taken = tmp_path / "a file"
    taken.write_text("in the way", encoding="utf-8")
    with pytest.raises(SystemExit, match="no comparison with linopy, PyPSA and EMHASS: cannot make a virtual"):
        planner_peers.main(["--env", str(taken)])
