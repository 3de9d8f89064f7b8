"""The front of a week: one worked out by hand, every point judged, beaten plans marked and never drawn as the front."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.export import frontier_view
from planner.export.frontier_view import document, frontier_html, lines, pair_figure
from planner.frontier.points import TODAY, beats, front_of
from planner.frontier.sweep import frontier
from planner.frontier.task import Task, point_of
from planner.objective import CARBON, COST, LATENESS, WATER, Goal
from planner.optimize import PlanOptions
from tests.fronts import CI, PRICE, every_plan, two_runs
from tests.weeks import make_block, make_pool, make_run
from thermal.plant import tower_chiller

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=60.0)
TWO = (CARBON, COST)


def here(tasks):
    """Carries tasks out in this process."""
    return map(point_of, tasks)


@pytest.fixture(scope="module")
def hand():
    return frontier(two_runs(), TWO, 7, EXACT, here)


@pytest.fixture(scope="module")
def three():
    return frontier(two_runs(), (CARBON, COST, LATENESS), 9, EXACT, here)


def test_a_level_is_planned_gang_by_gang_also_where_the_site_asks_for_classes():
    goals = (Goal(CARBON, 100.0),)
    found = point_of(Task("level", two_runs(), goals, replace(EXACT, method="scale")))
    assert found.carbon_kg == pytest.approx(point_of(Task("level", two_runs(), goals, EXACT)).carbon_kg)


def true_front(week, measures):
    """The figures that no plan beats, of all that there are."""
    figures = [
        tuple({CARBON: p.carbon_kg, COST: p.cost, LATENESS: p.terms.lateness, WATER: p.water_l}[m] for m in measures)
        for p in every_plan(week)
    ]
    return {
        mine
        for mine in figures
        if not any(all(o <= m for o, m in zip(other, mine, strict=True)) and other != mine for other in figures)
    }


def test_the_front_of_two_runs_is_the_one_worked_out_by_hand(hand):
    week, today = two_runs(), hand.today
    pairs = [(CI[a] + CI[b], PRICE[a] + PRICE[b]) for a, b in combinations(range(4), 2)]
    expected = sorted(p for p in pairs if not any(o != p and o[0] <= p[0] and o[1] <= p[1] for o in pairs))
    assert [ci for ci, _ in expected] == [300.0, 400.0, 500.0, 600.0, 700.0]
    found = [hand.points[i] for i in hand.front]
    # what trains and its cooling take the same energy in every hour; the rest is the same for all plans
    per_ci = (found[-1].carbon_kg - found[0].carbon_kg) / 400.0
    per_price = (found[0].cost - found[-1].cost) / (0.76 - 0.30)
    assert per_price == pytest.approx(1000.0 * per_ci, rel=1e-6)
    for point, (ci, price) in zip(found, expected, strict=True):
        assert point.carbon_kg - found[0].carbon_kg == pytest.approx(per_ci * (ci - 300.0), abs=1e-6)
        assert point.cost - found[-1].cost == pytest.approx(per_price * (price - 0.30), abs=1e-6)
    assert (today.name, today.deadlines_kept, today.deadlines) == (TODAY, 2, 2)
    assert week.prices.carbon_per_t == 500.0


def test_every_plan_of_a_front_is_judged_and_none_on_it_is_beaten(hand):
    assert len(hand.points) >= 7
    assert all(point.violations == () and point.settled for point in hand.points)
    for i in hand.front:
        assert not any(beats(other, hand.points[i], TWO) for other in hand.points)
    carbons = [hand.points[i].carbon_kg for i in hand.front]
    assert carbons == sorted(carbons)


def test_lateness_is_given_up_only_where_one_asks_for_it(three):
    week = two_runs()
    late = [point for point in three.points if point.late_gpu_h > 0.0]
    assert late
    assert all(point.name.startswith("lateness") for point in late)
    wanted = true_front(week, (CARBON, COST, LATENESS))
    for i in three.front:
        point = three.points[i]
        mine = (point.carbon_kg, point.cost, point.late_gpu_h * week.prices.lateness_per_gpu_h)
        assert any(mine == pytest.approx(one, rel=1e-6, abs=1e-6) for one in wanted)


def test_a_measure_in_which_all_plans_are_alike_is_told():
    found = frontier(two_runs(), (CARBON, COST, WATER), 5, EXACT, here)
    assert found.idle == (WATER,)
    assert "no plan differs from another in water" in frontier_view.notes(found)


def test_water_is_traded_where_hours_differ_in_it():
    week = two_runs(
        dry_bulb_c=[14.0, 20.0, 26.0, 32.0],
        wet_bulb_c=[10.0, 14.0, 18.0, 22.0],
        ci_gco2_per_kwh=[400.0, 300.0, 200.0, 100.0],
        blocks=(make_block(n_slots=4, plant=tower_chiller(1000.0)),),
    )
    found = frontier(week, (CARBON, WATER), 6, EXACT, here)
    waters = [found.points[i].water_l for i in found.front]
    assert len(waters) >= 3
    assert waters == sorted(waters, reverse=True)
    assert waters[0] > waters[-1] > 0.0


def test_a_plan_that_breaks_a_promise_is_never_on_the_front(hand):
    best, *others = (hand.points[i] for i in hand.front)
    broken = replace(best, carbon_kg=0.0, cost=0.0, violations=("it breaks a promise",))
    assert front_of([broken, *others], TWO) == tuple(range(1, len(others) + 1))


def test_a_plan_that_is_the_same_as_another_stands_once(hand):
    assert front_of([hand.today, hand.today], TWO) == (0,)


def test_the_site_files_own_plan_is_marked_wherever_it_stands(hand):
    told = document(hand, two_runs())
    (today,) = [point for point in told["points"] if point["today"]]
    assert today["name"] == TODAY
    assert today["stands"] == frontier_view.ON_FRONT
    assert {point["stands"] for point in told["points"]} == {frontier_view.ON_FRONT, frontier_view.TWIN}
    assert told["on_front"] == 5
    json.dumps(told, allow_nan=False)


def test_beaten_plans_are_marked_and_not_in_the_line_of_the_front(hand):
    week, today = two_runs(), hand.today
    beaten = replace(today, name="beaten", carbon_kg=today.carbon_kg + 1.0, cost=today.cost + 1.0)
    points = (*hand.points, beaten)
    front = replace(hand, points=points, front=front_of(points, TWO))
    assert frontier_view.stands(front, len(points) - 1) == frontier_view.BEATEN
    line, on_front, rest, mark = pair_figure(front, week, CARBON, COST)["data"]
    assert beaten.carbon_kg in rest["x"]
    assert beaten.carbon_kg not in [*line["x"], *on_front["x"]]
    assert mark["x"] == [today.carbon_kg]
    assert line["mode"] == "lines"
    assert rest["mode"] == "markers"


def test_a_front_of_three_measures_draws_no_line_through_what_two_of_them_rule_out(three):
    line, *_ = pair_figure(three, two_runs(), CARBON, COST)["data"]
    drawn = list(zip(line["x"], line["y"], strict=True))
    assert drawn == sorted(drawn)
    assert [y for _, y in drawn] == sorted((y for _, y in drawn), reverse=True)
    assert len(drawn) < len(three.front)


def test_the_page_holds_every_plan_and_what_it_is_worth(hand):
    text = frontier_html(hand, two_runs()).decode()
    for point in hand.points:
        assert point.name in text
    for words in ("What they are worth", "asap", "steady", "Power promises", "Deadlines kept", "synthetic test data"):
        assert words in text


def test_the_lines_tell_grams_money_and_promises_together(hand):
    told = "\n".join(lines(hand, two_runs()))
    assert "5 plans on the front" in told
    head = next(line for line in told.splitlines() if "Carbon spared" in line)
    assert all(words in head for words in ("Money spared", "Power promises", "Heat promises", "Deadlines kept"))


@pytest.mark.parametrize(
    ("measures", "points", "told"),
    [
        ((CARBON,), 12, "two objectives or more"),
        ((CARBON, CARBON), 12, "two objectives or more"),
        ((CARBON, "joy"), 12, "'joy' is no objective"),
        (TWO, 2, "2 points make no front"),
    ],
)
def test_a_front_that_is_none_is_refused(measures, points, told):
    with pytest.raises(ConfigError, match=told):
        frontier(two_runs(), measures, points, EXACT, here)


def test_plans_that_no_start_fits_are_made_without_it():
    week = two_runs()
    other = two_runs(runs=(make_run("third", 256, 1.0, 4.0),), pools=(make_pool(gpus=256),))
    choices = point_of(Task("other", other, None, EXACT)).choices
    strange = replace(choices, runs={"first": next(iter(choices.runs.values()))})
    moved = {name: replace(run, pool="nowhere") for name, run in strange.runs.items()}
    found = point_of(Task("again", week, None, EXACT, (replace(strange, runs=moved),)))
    assert found.violations == ()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_front_of_a_tiny_week_is_that_of_all_its_plans(seed):
    drawn = np.random.default_rng(seed)
    week = two_runs(ci_gco2_per_kwh=drawn.uniform(50, 500, 4), price_per_kwh=drawn.uniform(0.02, 0.4, 4))
    on_time = [p for p in every_plan(week) if p.terms.lateness < 1e-6]
    wanted = {
        (round(p.carbon_kg, 6), round(p.cost, 6))
        for p in on_time
        if not any(
            o.carbon_kg <= p.carbon_kg and o.cost <= p.cost and (o.carbon_kg, o.cost) != (p.carbon_kg, p.cost)
            for o in on_time
        )
    }
    found = frontier(week, TWO, len(wanted) + 3, EXACT, here)
    assert {(round(found.points[i].carbon_kg, 6), round(found.points[i].cost, 6)) for i in found.front} == wanted
