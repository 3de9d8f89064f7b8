"""A bound from whole schedules is never above the optimum; what is offered as a plan is one."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planner.optimize import PlanOptions, incumbent, plan, schedule_dive
from planner.optimize.coarse import coarsen
from planner.optimize.generation import FINEST
from planner.optimize.parts import take_apart
from planner.optimize.polish import polish
from planner.optimize.pricing import GangPricing
from planner.optimize.solver import Highs
from planner.optimize.worklevels import Fineness
from planner.stagger import longest_moves
from tests.exhaustive import exhaustive_cost
from tests.weeks import random_week
from tests.whole_schedules import PATIENCE_S, drawn

ROUNDING = 1e-7
ROUGH = Fineness(4, 100)
WEEKS = [(0, 2, 1), (3, 3, 2), (11, 3, 2)]


@pytest.mark.parametrize(("seed", "n_runs", "n_pools"), WEEKS)
def test_no_bound_is_above_what_trying_every_pattern_finds(seed, n_runs, n_pools):
    week = random_week(seed, n_runs=n_runs, n_slots=8, n_pools=n_pools, negative_prices=seed == 3)
    found = drawn(week)
    found.schedules.work(found.deadline)
    bound = found.schedules.bound(np.inf) * found.program.power_kw
    best = exhaustive_cost(longest_moves(week))
    assert bound <= best + ROUNDING * abs(best)
    assert bound > 0.9 * best


@pytest.mark.parametrize("seed", [22, 23])
def test_bound_and_plans_lie_on_either_side_of_the_optimum_of_the_whole_program(seed):
    found = drawn(random_week(seed, n_runs=4, n_slots=12, n_pools=1 + seed % 2))
    best = Highs(found.matrix, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
    assert best.status == "optimal"
    found.schedules.work(found.deadline)
    bound = found.schedules.bound(np.inf)
    assert bound <= best.objective + ROUNDING * abs(best.objective)
    x = found.schedules.plan(found.deadline)
    choices = found.places.choices
    plan = polish(found.matrix, found.places, choices, x[choices], found.deadline)
    assert plan.objective >= best.objective - ROUNDING * abs(best.objective)
    assert plan.objective <= 1.25 * best.objective
    again = found.schedules.better(plan.values, 3, found.deadline)
    assert again is None or found.matrix.cost @ again < found.matrix.cost @ x + ROUNDING


@pytest.mark.parametrize("seed", range(8))
def test_a_run_s_price_is_never_above_its_own_optimum_at_any_prices(seed):
    """Prices are drawn, so that schedules that no plan would choose are among the best ones too."""
    half_hours = seed % 4 == 1
    week = random_week(
        seed,
        n_runs=2,
        n_slots=16 if half_hours else 10,
        slot_minutes=30 if half_hours else 60,
        n_pools=1 + seed % 2,
        negative_prices=seed % 3 == 0,
    )
    # one is running already, and may go on without a reload
    going_on = replace(week.runs[0], running_in=week.runs[0].options[0].pool)
    found = drawn(replace(week, runs=(going_on, *week.runs[1:])) if seed % 2 else week)
    parts = take_apart(found.program, found.matrix, found.index)
    rng = np.random.default_rng(seed)
    for r, gang in enumerate(found.program.gangs):
        columns, rows = parts.columns(r), parts.rows(r)
        reduced = found.matrix.cost.copy()
        for option in found.places.gangs[r]:
            on = option.on[option.on >= 0]
            reduced[on] += rng.normal(30.0, 40.0, len(on))
            reduced[option.lower] -= rng.uniform(0.0, 12.0, option.lower.shape)
        own = replace(
            found.matrix,
            cost=reduced[columns],
            lower=found.matrix.lower[columns],
            upper=found.matrix.upper[columns],
            whole=found.matrix.whole[columns],
            a=sparse.csr_array(found.matrix.a[rows][:, columns]),
            row_lower=found.matrix.row_lower[rows],
            row_upper=found.matrix.row_upper[rows],
        )
        best = Highs(own, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
        coarse, fine = (GangPricing(gang, found.index, fine).price(reduced).least for fine in (ROUGH, FINEST))
        room = ROUNDING * max(1.0, abs(best.objective))
        assert coarse <= best.objective + room
        assert fine <= best.objective + room


def test_what_is_ruled_out_is_in_no_better_plan():
    found = drawn(random_week(22, n_runs=4, n_slots=12))
    found.schedules.work(found.deadline)
    best = Highs(found.matrix, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
    # with a plan of twice the least cost nothing must be held that the optimum does otherwise
    for objective in (best.objective, 1.02 * best.objective, 2.0 * best.objective):
        columns, values = found.schedules.ruled(objective, found.deadline)
        assert np.abs(best.values[columns] - values).max(initial=0.0) < 1e-5
    assert len(found.schedules.ruled(best.objective, found.deadline)[0]) > 0
    held = found.matrix.held(*found.schedules.ruled(1.02 * best.objective, found.deadline))
    again = Highs(held, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
    assert again.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize(("seed", "n_pools", "gap"), [(22, 1, 0.001), (23, 2, 0.02)])
def test_the_search_with_whole_schedules_reaches_the_optimum(monkeypatch, seed, n_pools, gap):
    # a program as small as this is solved whole at once
    monkeypatch.setattr(incumbent, "SMALL", 4)
    used = []
    told = incumbent.whole_schedules
    monkeypatch.setattr(incumbent, "whole_schedules", lambda *given: used.append(told(*given)) or used[-1])
    week = random_week(seed, n_runs=4, n_slots=12, n_pools=n_pools)
    plans = [plan(week, PlanOptions(gap_target=gap, time_limit_s=PATIENCE_S)) for _ in range(2)]
    found = drawn(week)
    best = Highs(found.matrix, whole=True, mip_rel_gap=0.0).run(PATIENCE_S).objective * found.program.power_kw
    assert len(used) == 2
    assert all(schedules is not None for schedules in used)
    for one in plans:
        assert one.status == "optimal"
        assert one.bound <= best * (1.0 + ROUNDING) <= one.objective * (1.0 + 2.0 * ROUNDING)
        assert one.mip_gap <= gap
    assert (plans[0].objective, plans[0].bound) == (plans[1].objective, plans[1].bound)
    assert plans[0].schedule.runs[0].why == plans[1].schedule.runs[0].why


def test_a_bound_found_by_the_time_limit_counts(monkeypatch):
    monkeypatch.setattr(incumbent, "SMALL", 4)

    def takes_all_the_time(search, root):
        search._deadline = time.monotonic()

    monkeypatch.setattr(incumbent.Search, "_around_root", takes_all_the_time)
    found = drawn(random_week(22, n_runs=4, n_slots=12))
    given = found.program, found.matrix, found.places, 0.001, found.deadline
    told = incumbent.Search(*given, index=found.index, limit_s=PATIENCE_S).run()
    assert told.objective > told.bound > found.root.objective * (1.0 + 1e-3)


def test_what_all_schedules_of_a_mix_agree_on_is_kept_and_the_rest_is_searched():
    found = drawn(random_week(22, n_runs=4, n_slots=12))
    best = Highs(found.matrix, whole=True, mip_rel_gap=0.0).run(PATIENCE_S)
    coarse = coarsen(found.matrix, found.places)
    choices = found.places.choices

    def searched(mix):
        search = incumbent.Search(found.program, found.matrix, found.places, 0.001, found.deadline)
        search._around_mix(coarse, mix)
        return search._best

    assert searched(None) is None
    # all agree on the optimum, or on all of it but one run, which is then searched
    open_ones = best.values.copy()
    options = found.places.gangs[0]
    open_ones[np.concatenate([o.on[o.on >= 0] for o in options])] = 0.5
    for mix in (best.values, open_ones):
        assert searched(mix).objective == pytest.approx(best.objective, rel=1e-3)
    kept = np.zeros(len(best.values))
    assert (searched(kept).values[choices] < 0.5).all()


def test_runs_that_do_not_fit_together_are_settled_one_by_one(monkeypatch):
    found = drawn(random_week(22, n_runs=4, n_slots=12))
    found.schedules.work(found.deadline)
    dive = found.schedules._dive
    told, asked = dive._priced, []

    def priced(settled, left, deadline):
        asked.append(len(settled))
        at_once = len(asked) > 1 and asked[-1] > max(asked[:-1]) + 1
        return None if at_once else told(settled, left, deadline)

    monkeypatch.setattr(dive, "_priced", priced)
    monkeypatch.setattr(schedule_dive, "SURE", 0.0)
    plan = dive.first(found.deadline)
    assert sorted(plan.patterns) == [0, 1, 2, 3]
    assert max(asked) == 4
    choices = found.places.choices
    values = polish(found.matrix, found.places, choices, plan.values[choices], found.deadline)
    assert values.objective == pytest.approx(plan.objective, rel=1e-6)
