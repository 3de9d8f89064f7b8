"""The first plans and the moves that make a small plan better: what they are, and that no plan is worse than they."""

from __future__ import annotations

import time

import numpy as np
import pytest

from planner.baseline import asap, steady
from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.optimize.greedy import Greedy, Pace
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.polish import polish
from planner.optimize.shifts import Shifts
from planner.publish import to_calendar
from planner.stagger import longest_moves
from power.tariff import Tariff
from tests.weeks import POINTS, make_block, make_pool, make_run, random_week, tiny_week

SECONDS = 60.0
CHEAP_LATE = [0.10] * 4 + [0.02] * 4


class Case:
    """A week's program."""

    def __init__(self, week):
        self.program = build(week)
        self.matrix, index = from_pulp(self.program.problem)
        self.places = locate(self.program, index)

    def start(self, pace):
        return Greedy(self.program, pace).choices(self.places)

    def solved(self, choices):
        found = polish(self.matrix, self.places, self.places.choices, choices, time.monotonic() + SECONDS)
        assert found is not None
        return found

    def choices(self, cells):
        return np.array([float(c) for c in cells])


def cells(case, pace):
    return "".join("1" if on else "0" for on in case.start(pace))


@pytest.mark.parametrize(
    ("pace", "expected"),
    [
        (Pace.FAST_WHEN_CHEAP, "0000111100"),
        (Pace.FAST, "1111000000"),
        (Pace.EVEN, "1111100000"),
        (Pace.SLOW, "1111100000"),
    ],
)
def test_four_hours_of_work_at_every_pace(pace, expected):
    # 4 h at full speed are 5.7 h at the lowest power: a sixth hour would make more than there is to do
    price = [0.10] * 4 + [0.02] * 4 + [0.10] * 2
    case = Case(tiny_week(n_slots=10, price_per_kwh=price, runs=(make_run(work_h=4, deadline_h=10),)))
    assert cells(case, pace) == expected
    assert case.solved(case.start(pace)).objective > 0


def test_the_even_pace_fills_the_time_up_to_the_last_due_date():
    case = Case(tiny_week(n_slots=10, runs=(make_run(work_h=5.5, deadline_h=7),)))
    assert cells(case, Pace.EVEN) == "1111111000"
    assert cells(case, Pace.FAST) == "1111110000"


def test_a_gang_waits_where_another_has_the_gpus():
    runs = (make_run("first", 512, 3, 8, priority=1), make_run("second", 256, 3, 8))
    case = Case(tiny_week(runs=runs))
    assert cells(case, Pace.FAST) == "11100000" + "00011100"


@pytest.mark.parametrize("seed", range(8))
def test_every_start_leaves_a_plan_and_no_plan_is_worse(seed):
    week = random_week(seed, n_runs=3, n_slots=12, n_pools=1 + seed % 2)
    case = Case(longest_moves(week))
    found = plan(week, PlanOptions(gap_target=0.9, time_limit_s=20.0))
    starts = [case.solved(case.start(pace)).objective * case.program.power_kw for pace in Pace]
    assert found.objective <= min(starts) * (1 + 1e-9)


def test_a_spell_moves_to_where_it_is_cheaper_and_grows_to_a_lower_power():
    case = Case(tiny_week(price_per_kwh=CHEAP_LATE, runs=(make_run(work_h=2, deadline_h=8),)))
    first = case.solved(case.choices("11000000"))
    moved = Shifts(case.matrix, case.places).better(first.values, first.objective, time.monotonic() + SECONDS)
    assert not moved[:4].any()
    better = case.solved(moved).objective
    assert better < first.objective
    week = case.program.week
    assert better * case.program.power_kw == pytest.approx(plan(week, PlanOptions(0.0, 20.0)).objective, rel=1e-6)


def test_moves_keep_to_open_cells_and_shortest_spells():
    run = make_run(work_h=2, deadline_h=8, earliest_h=3.0, min_run_h=2.0, points=POINTS[-1:])
    case = Case(tiny_week(price_per_kwh=[0.01] * 3 + [0.10] * 5, runs=(run,)))
    first = case.solved(case.choices("00011"))
    moved = Shifts(case.matrix, case.places).better(first.values, first.objective, time.monotonic() + SECONDS)
    assert int(moved.sum()) == 2
    case.solved(moved)


def test_a_plan_without_runs_has_nothing_to_move():
    case = Case(tiny_week())
    off = case.solved(np.zeros(8))
    assert not Shifts(case.matrix, case.places).better(off.values, off.objective, time.monotonic() + SECONDS).any()


@pytest.mark.parametrize("charge", [0.0, 8.0])
def test_no_baseline_is_cheaper_where_its_work_ends_on_the_grid(charge):
    """By the plan's own objective, as the judge finds it: at the lowest power the runs last 30 and 20 whole hours."""
    week = tiny_week(
        n_slots=48,
        price_per_kwh=0.14,
        pools=(make_pool(gpus=256),),
        blocks=(make_block(capacity_kw=400.0, n_slots=48),),
        runs=(make_run("a", 128, 0.7 * 30, 40), make_run("b", 64, 0.7 * 20, 36)),
        tariff=Tariff(demand_charge_per_kw_month=charge),
    )
    found = plan(week, PlanOptions(gap_target=0.01, time_limit_s=30.0))
    assert found.shortfalls == ()
    tokens = {run.name: week.work_tokens(run) for run in week.runs}
    mine = judged(week, found.schedule)
    assert mine == pytest.approx(found.objective, rel=2e-3)
    for rule in (asap, steady):
        assert mine <= judged(week, rule(week, tokens).schedule) * (1 + 1e-5)


def judged(week, schedule):
    calendar, runs = to_calendar(week, schedule, status="judged", certified_gap=None)
    found = evaluate(calendar, runs, week)
    return found.cost + found.carbon_kg * week.prices.carbon_per_t / 1000.0
