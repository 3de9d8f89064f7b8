"""What a plan makes small beside the prices: a carbon budget, met or missed and told, and measures in an order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.carbon_budget import budget_missed, budget_plan
from planner.errors import Infeasible
from planner.evaluate import evaluate
from planner.objective import BY_PRICE, CARBON, COST, LATENESS, CarbonBudget, Goal, Objective
from planner.optimize import PlanOptions, plan
from planner.optimize.choices import scheduled
from planner.optimize.fixed import fix
from planner.optimize.lexicographic import in_order
from planner.publish import to_calendar
from tests.fronts import every_plan, two_runs
from tests.weeks import random_week

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=60.0)
HARD = 1e6


def outcome(week, options=EXACT):
    found = plan(week, options)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return found, calendar, runs, evaluate(calendar, runs, week, simulated_weeks=0)


def with_objective(week, **given):
    return replace(week, objective=Objective(**given))


def lateness_gpu_h(week, seen):
    return seen.terms.lateness / week.prices.lateness_per_gpu_h


def test_the_measures_of_a_plan_are_what_the_judge_finds():
    week = random_week(2, n_runs=3, n_slots=8)
    found, _, _, seen = outcome(week, PlanOptions(0.02, 30.0))
    measures = dict(found.measures)
    assert measures["carbon"] == pytest.approx(seen.carbon_kg, rel=2e-3)
    assert measures["cost"] == pytest.approx(seen.cost, rel=2e-3)
    assert measures["water"] == pytest.approx(seen.water_l, rel=2e-3, abs=1e-6)
    assert measures["lateness"] == pytest.approx(lateness_gpu_h(week, seen), rel=2e-3, abs=1e-3)


def test_a_budget_below_the_plan_by_price_is_met_at_the_least_cost_of_all_plans_that_meet_it():
    week = two_runs(prices=replace(two_runs().prices, carbon_per_t=0.0))
    plans = every_plan(week)
    best = min(plans, key=lambda seen: seen.terms.objective)
    budget_kg = 0.75 * best.carbon_kg
    wanted = min((p for p in plans if p.carbon_kg <= budget_kg), key=lambda seen: seen.terms.objective)
    _, calendar, _, seen = outcome(with_objective(week, budget=CarbonBudget(budget_kg, HARD)))
    assert seen.clean
    assert seen.carbon_kg <= budget_kg
    assert seen.terms.objective == pytest.approx(wanted.terms.objective, rel=1e-3)
    assert calendar.carbon_budget.planned_kg == pytest.approx(seen.carbon_kg, rel=1e-6)
    assert "is kept" in calendar.carbon_budget.sentence
    assert budget_missed(calendar) == ()


def test_a_budget_that_no_plan_can_keep_is_missed_by_as_little_as_can_be_and_told():
    least_kg = min(seen.carbon_kg for seen in every_plan(two_runs()))
    week = with_objective(two_runs(), budget=CarbonBudget(0.5 * least_kg, HARD))
    found, calendar, _, seen = outcome(week)
    assert seen.clean
    assert seen.carbon_kg == pytest.approx(least_kg, rel=1e-3)
    (sentence,) = budget_missed(calendar)
    assert f"is missed by {seen.carbon_kg - 0.5 * least_kg:,.1f} kg" in sentence
    assert seen.terms.over_budget == pytest.approx((seen.carbon_kg - 0.5 * least_kg) / 1000.0 * HARD, rel=1e-6)
    assert found.objective == pytest.approx(seen.terms.objective, rel=2e-3)


def test_only_a_search_that_ended_by_its_gap_says_that_less_is_too_dear():
    week = with_objective(two_runs(), budget=CarbonBudget(10.0, HARD))
    assert "less would cost more than 1,000,000" in budget_plan(week, 20.0, proven=True).sentence
    assert "was not ruled out" in budget_plan(week, 20.0, proven=False).sentence
    assert budget_plan(week, 20.0, proven=None).sentence.endswith("the plan emits 20.0 kg")


def test_the_judge_finds_a_budget_that_a_calendar_misses_and_denies_or_leaves_out():
    week = two_runs()
    found = plan(week, EXACT)
    strict = with_objective(week, budget=CarbonBudget(1.0, HARD))
    calendar, runs = to_calendar(
        strict, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    assert evaluate(calendar, runs, strict).clean
    denied = replace(calendar, carbon_budget=replace(calendar.carbon_budget, planned_kg=0.5))
    loose = replace(calendar, carbon_budget=replace(calendar.carbon_budget, most_kg=1e6))
    kinds = [
        [v.sentence for v in evaluate(one, runs, strict).violations if v.kind == "carbon-budget"]
        for one in (denied, loose, replace(calendar, carbon_budget=None))
    ]
    assert ["states its carbon of 0.5 kg" in kinds[0][0], "more than the carbon budget of 1 kg" in kinds[0][1]] == [
        True,
        True,
    ]
    assert "states a budget of 1,000,000 kg, but it is 1 kg" in kinds[1][0]
    assert "says nothing of it" in kinds[2][0]
    assert any("has no carbon budget" in v.sentence for v in evaluate(calendar, runs, week).violations)


@pytest.mark.parametrize("order", [(CARBON, COST), (COST, CARBON), (CARBON, LATENESS, COST)])
def test_measures_are_made_small_in_their_order_and_each_stays_within_its_tolerance(order):
    week, tolerance = two_runs(), 0.002
    wanted = every_plan(week)
    named = {"carbon": lambda p: p.carbon_kg, "cost": lambda p: p.cost, "lateness": lambda p: p.terms.lateness}
    asked = order if LATENESS in order else (LATENESS, *order)
    for name in asked:
        best = min(named[name](p) for p in wanted)
        wanted = [p for p in wanted if named[name](p) <= best + tolerance * abs(best) + 1e-9]
    _, _, _, seen = outcome(with_objective(week, order=asked, tolerance_share=tolerance))
    assert seen.clean
    for name in asked:
        worst = max(named[name](p) for p in wanted)
        assert named[name](seen) <= worst * (1.0 + 2 * tolerance) + 1e-6


def test_a_plan_that_is_known_is_where_the_search_starts():
    week = random_week(7, n_runs=3, n_slots=10)
    best = plan(week, EXACT)
    again = plan(week, PlanOptions(gap_target=0.5, time_limit_s=30.0), (scheduled(best.schedule),))
    assert again.objective <= best.objective * (1.0 + 1e-9)


def test_an_objective_by_price_leaves_the_digest_of_a_week_alone_and_any_other_changes_it():
    week = two_runs()
    assert replace(week, objective=BY_PRICE).sha256 == week.sha256
    assert b'"objective"' not in week.canonical()
    others = [
        Objective(order=(LATENESS, COST)),
        Objective(budget=CarbonBudget(1.0, HARD)),
        Objective(goals=(Goal(COST, 1.0),)),
    ]
    assert len({week.sha256, *(replace(week, objective=one).sha256 for one in others)}) == 4


def test_money_of_carbon_beyond_the_budget_is_no_money_paid():
    week = with_objective(two_runs(), budget=CarbonBudget(1.0, HARD))
    found = plan(week, EXACT)
    fixed = fix(week, scheduled(found.schedule))
    terms = dict(found.terms)
    assert fixed.worth.over_budget == pytest.approx(terms["goals"], rel=1e-6)
    assert fixed.worth.paid == pytest.approx(dict(found.measures)["cost"], rel=1e-6)


def test_a_step_without_time_for_any_plan_leaves_that_of_the_step_before():
    week = with_objective(two_runs(), order=(LATENESS, CARBON, COST), tolerance_share=0.01)
    made = []

    def planned(step, options, starts):
        if len(made) == 2:
            raise Infeasible("no plan was found in the time given")
        made.append(plan(step, options, starts))
        return made[-1]

    found = in_order(week, EXACT, planned)
    assert found == replace(made[1], status="time-limit", solve_s=found.solve_s)
    assert found.solve_s >= made[0].solve_s + made[1].solve_s  # what the steps before took counts too
