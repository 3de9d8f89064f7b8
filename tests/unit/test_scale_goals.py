"""Goals of many gangs: budgets of carbon are kept, one measure goes before the other, bounds stay below the best."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.objective import CARBON, COST, LATENESS, CarbonBudget, Goal, Objective
from planner.optimize import PlanOptions, plan
from planner.optimize.limits import block_limits
from planner.optimize.scale.certificate import Certificate
from planner.optimize.scale.classes import EVERY_RUN
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.fluid import Fluid
from planner.optimize.scale.goals import free_late, goals_money, valued
from planner.publish import to_calendar
from planner.stagger import longest_moves
from tests.many_gangs import many_gangs
from tests.weeks import random_week

SCALE = PlanOptions(gap_target=0.05, time_limit_s=600.0, method="scale")


@cache
def week(fill=0.6):
    """Fifty gangs in one hall over a day and a half."""
    return many_gangs(11, n_runs=50, n_slots=36, n_pools=1, fill=fill)


@cache
def plain():
    return plan(week(), SCALE)


def judged(one, found):
    calendar, runs = to_calendar(
        one, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return evaluate(calendar, runs, one, simulated_weeks=0)


def test_measures_are_those_of_the_judge():
    verdict, measures = judged(week(), plain()), dict(plain().measures)
    assert measures[CARBON] == pytest.approx(verdict.carbon_kg, rel=5e-3)
    assert measures[COST] == pytest.approx(
        sum(m for n, m in plain().terms if n in {"energy", "demand", "water", "wear"})
    )
    assert measures[LATENESS] == 0.0


def test_a_carbon_budget_is_kept_where_it_can_be():
    before = dict(plain().measures)[CARBON]
    budget = CarbonBudget(0.985 * before, 5000.0)
    tight = replace(week(), objective=Objective(budget=budget))
    found = plan(tight, SCALE)
    assert dict(found.measures)[CARBON] <= budget.most_kg
    assert judged(tight, found).violations == ()
    assert dict(found.terms)["goals"] == pytest.approx(goals_money(tight, dict(found.measures)))
    assert sum(money for _, money in found.terms) == pytest.approx(found.objective)
    assert found.bound <= found.objective
    assert found.mip_gap < 0.09


def test_carbon_first_then_cost():
    ordered = replace(week(), objective=Objective(order=(LATENESS, CARBON, COST), tolerance_share=0.01))
    found = plan(ordered, SCALE)
    by_price, first = dict(plain().measures), dict(found.measures)
    assert first[CARBON] < by_price[CARBON]
    assert first[LATENESS] == 0.0
    assert judged(ordered, found).violations == ()
    dirtier = plan(replace(week(), objective=Objective(order=(LATENESS, COST, CARBON), tolerance_share=0.01)), SCALE)
    assert dict(dirtier.measures)[COST] < first[COST]


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_the_best_plan_of_the_program_of_record(seed):
    goals = (Goal(CARBON, 0.3, 100.0), Goal(LATENESS, 2.0, 50.0), Goal(LATENESS, 0.5), Goal(COST, 0.4, 30.0))
    one = replace(
        random_week(seed, n_runs=3, n_slots=10, n_pools=1 + seed % 2, fill=1.1), objective=Objective(goals=goals)
    )
    best = plan(one, PlanOptions(gap_target=0.0, time_limit_s=30.0, method="gangs"))
    gangs = crowd(longest_moves(one), [block_limits(one, block) for block in one.blocks])
    found = Fluid(valued(gangs), EVERY_RUN).solve(30.0)
    rng, slack = np.random.default_rng(seed), 1e-6 * max(1.0, abs(best.objective))
    for late in (found.late, np.zeros(1), np.array([2.0]), rng.uniform(0.0, 2.0, 1)):
        bound = Certificate(valued(gangs, late)).bound(found.it, found.gpu, 30.0) - free_late(one, late)
        assert bound <= best.objective + slack
    assert plan(one, SCALE).bound <= best.objective + slack
