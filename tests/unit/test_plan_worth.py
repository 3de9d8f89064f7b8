"""What a plan is worth: grams, money and promises of power, heat and deadlines, against both ways without a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.baseline import counterfactuals
from planner.evaluate import Violation, evaluate
from planner.export.report import report_html
from planner.export.worth_view import HEADS, worth_json, worth_notes, worth_rows
from planner.outcome import Outcome
from planner.plan_worth import plan_worth, promises_kept
from tests.judged import kept, published, site


@pytest.fixture(scope="module")
def planned():
    week = site()
    calendar, runs = published(week, kept())
    seen = evaluate(calendar, runs, week)
    return Outcome(week, calendar, runs, seen, counterfactuals(week, seen))


def broken(kind):
    return Violation(kind, "hall", None, 1.0, 0.0, "kW", f"{kind} is broken")


def test_the_three_parts_are_told_against_both_ways(planned):
    week, seen = planned.week, planned.evaluation
    worth = plan_worth(week, seen, planned.counterfactuals)
    assert [one.against for one in worth] == ["asap", "steady"]
    for one, other in zip(worth, planned.counterfactuals, strict=True):
        if other.savings is not None:
            assert one.saved_kg == pytest.approx(other.evaluation.carbon_kg - seen.carbon_kg)
            assert one.saved_money == pytest.approx(other.evaluation.cost - seen.cost)
        assert one.plan == promises_kept(week, seen)
        assert one.other == promises_kept(week, other.evaluation)
        assert (one.plan.deadlines, one.plan.deadlines_kept) == (seen.deadlines, seen.deadlines - seen.deadlines_missed)


def test_promises_of_power_and_of_heat_are_counted_apart(planned):
    kinds = ("capacity", "ramp", "battery-state", "cooling-limit", "tank-warm", "min-run", "tokens")
    seen = replace(planned.evaluation, violations=tuple(map(broken, kinds)))
    found = promises_kept(planned.week, seen)
    assert (found.power_broken, found.heat_broken) == (3, 2)


def test_what_is_used_is_the_most_of_any_block_in_any_slot(planned):
    blocks = planned.evaluation.blocks
    power = max(float((b.facility_kw / b.capacity_kw).max()) for b in blocks)
    heat = max(float((b.it_kw / b.w_max_kw).max()) for b in blocks)
    found = promises_kept(planned.week, planned.evaluation)
    assert (found.power_used_share, found.heat_used_share) == (pytest.approx(power), pytest.approx(heat))


def test_where_the_work_is_not_the_same_promises_are_told_still(planned):
    others = tuple(replace(o, savings=None, reason="run big makes less") for o in planned.counterfactuals)
    worth = plan_worth(planned.week, planned.evaluation, others)
    rows = worth_rows(worth, "EUR")
    assert [row[1:3] for row in rows] == [["not told", "not told"]] * 2
    assert all("used" in row[3] and "used" in row[4] and " of " in row[5] for row in rows)
    assert worth_notes(worth)[0] == "Neither grams nor money are told against asap: run big makes less"
    assert worth_json(worth[0])["saved_carbon_kg"] is None


def test_the_report_tells_the_worth_with_all_its_parts(planned):
    page = report_html(planned).decode()
    assert "What the plan is worth" in page
    assert all(head in page for head in HEADS)
