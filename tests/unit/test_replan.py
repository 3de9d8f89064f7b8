"""A plan that goes on from one in force: what has passed stays, what was announced is kept where that costs little."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.rolling.in_force import InForce, changed_gpu_h
from planner.rolling.replan import THAWED, replan
from power.events import ImportLimit
from tests.weeks import FULL_POWER, battery, make_block, make_pool, make_run, tiny_week

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=20.0)
CHEAP, DEAR = 0.1, 0.3


def week(prices, **changes):
    """Eight hours, four of them of work at the one power limit that there is."""
    given = {"runs": (make_run(points=FULL_POWER),), "pools": (make_pool(points=FULL_POWER),)}
    return tiny_week(price_per_kwh=prices, **(given | changes))


def on(schedule, run=0):
    return (schedule.runs[run].gpu_power_limit_w > 0.0).tolist()


def judged(week, schedule):
    calendar, runs = to_calendar(week, schedule, status="x", certified_gap=None)
    return evaluate(calendar, runs, week, simulated_weeks=0)


def test_what_has_passed_stays_and_the_rest_follows_the_new_prices():
    before = week([CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP, DEAR, DEAR])
    announced = plan(before, EXACT).schedule
    assert on(announced) == [True, True, False, False, True, True, False, False]
    # after the first hour the cheap hours turn out to be the last two
    now = week([CHEAP, CHEAP, DEAR, DEAR, DEAR, DEAR, CHEAP, CHEAP])
    found = replan(now, InForce(announced, 1, 1), EXACT)
    assert on(found.found.schedule) == [True, True, False, False, False, False, True, True]
    assert found.changed_gpu_h == pytest.approx(4 * 256)
    verdict = judged(now, found.found.schedule)
    assert verdict.clean
    assert verdict.deadlines_missed == 0


def test_frozen_hours_are_kept_though_they_turned_dear():
    before = week([CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP, DEAR, DEAR])
    announced = plan(before, EXACT).schedule
    now = week([CHEAP, DEAR, DEAR, DEAR, DEAR, DEAR, CHEAP, CHEAP])
    frozen = replan(now, InForce(announced, 1, 5), EXACT).found.schedule
    assert on(frozen)[:5] == [True, True, False, False, True]
    free = replan(now, InForce(announced, 1, 1), EXACT).found.schedule
    assert sum(on(free)[6:]) == 2
    assert judged(now, frozen).cost > judged(now, free).cost


def test_a_change_is_made_where_it_saves_more_than_it_costs():
    before = week([CHEAP, CHEAP, CHEAP, CHEAP, DEAR, DEAR, DEAR, DEAR])
    announced = plan(before, EXACT).schedule
    now = week([CHEAP, CHEAP, 0.2, 0.2, CHEAP, CHEAP, DEAR, DEAR])
    # two hours on and two off change; a gang of 256 GPUs saves 0.1 a kWh in two hours of some 1.1 kW a GPU less idling
    saved = 0.1 * 2 * 256 * (FULL_POWER[0].it_w_per_gpu - 150.0) / 1000.0
    per_gpu_h = saved / (4 * 256)
    cheap = replan(now, InForce(announced, 2, 2, 0.8 * per_gpu_h), EXACT)
    dear = replan(now, InForce(announced, 2, 2, 1.3 * per_gpu_h), EXACT)
    assert on(cheap.found.schedule) == [True, True, False, False, True, True, False, False]
    assert dear.changed_gpu_h == 0.0
    assert dict(cheap.found.terms)["changes"] == pytest.approx(cheap.changed_gpu_h * 0.8 * per_gpu_h)
    assert sum(money for _, money in cheap.found.terms) == pytest.approx(cheap.found.objective)


def test_a_spell_that_runs_is_not_cut_below_its_shortest():
    run = make_run(points=FULL_POWER, min_run_h=3.0)
    before = week([CHEAP, DEAR, CHEAP, CHEAP, CHEAP, CHEAP, CHEAP, CHEAP], runs=(run,))
    announced = plan(week([CHEAP] * 4 + [DEAR] * 4, runs=(run,)), EXACT).schedule
    found = replan(before, InForce(announced, 1, 1), EXACT).found.schedule
    assert on(found)[:3] == [True, True, True]  # one hour has passed: two more belong to the spell


def test_what_the_battery_did_stays_and_it_ends_where_it_must():
    block = make_block(n_slots=8, battery=battery())
    before = week([0.02, 0.02, DEAR, DEAR, CHEAP, CHEAP, CHEAP, CHEAP], blocks=(block,))
    announced = plan(before, EXACT).schedule
    assert announced.blocks[0].charge_kw[:2].sum() > 0.0
    now = week([0.02, 0.02, CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP], blocks=(block,))
    found = replan(now, InForce(announced, 2, 2), EXACT).found.schedule
    assert np.array_equal(found.blocks[0].charge_kw[:2], announced.blocks[0].charge_kw[:2])
    assert found.blocks[0].discharge_kw[4:6].sum() > found.blocks[0].discharge_kw[2:4].sum()
    assert judged(now, found).clean


def test_ordered_hours_that_heat_forbids_are_planned_anew():
    plant = make_block(n_slots=8, capacity_kw=330.0)
    mild = week([CHEAP] * 4 + [DEAR] * 4, blocks=(plant,), pools=(make_pool(gpus=256, points=FULL_POWER),))
    announced = plan(mild, EXACT).schedule
    assert on(announced)[:4] == [True] * 4
    hot = np.full(8, 15.0)
    hot[2] = 40.0  # the dry cooler carries 163 kW then, and the gang takes 282
    now = replace(mild, signals=replace(mild.signals, dry_bulb_c=hot, wet_bulb_c=np.full(8, 10.0)))
    found = replan(now, InForce(announced, 1, 4), EXACT)
    assert found.note == THAWED
    assert not on(found.found.schedule)[2]
    assert on(found.found.schedule)[0]


def test_nothing_changes_where_nothing_new_is_known():
    known = week([CHEAP, DEAR] * 4)
    announced = plan(known, EXACT).schedule
    found = replan(known, InForce(announced, 3, 5, 0.01), EXACT)
    assert found.changed_gpu_h == 0.0
    assert changed_gpu_h(known, announced, found.found.schedule) == 0.0
    assert found.found.mip_gap <= 1e-6


def test_operating_points_that_have_passed_are_not_planned_again():
    prices = np.array([0.1, 0.1, 0.1, 0.1, 0.12, 0.12, 0.12, 0.12])
    before = tiny_week(price_per_kwh=prices, runs=(make_run(work_h=5.0),))
    announced = plan(before, EXACT).schedule
    now = tiny_week(price_per_kwh=prices[::-1].copy(), runs=(make_run(work_h=5.0),))
    found = replan(now, InForce(announced, 4, 4), EXACT).found.schedule
    assert np.array_equal(found.runs[0].gpu_power_limit_w[:4], announced.runs[0].gpu_power_limit_w[:4])
    verdict = judged(now, found)
    assert verdict.clean
    assert verdict.deadlines_missed == 0


@pytest.mark.parametrize(("slot", "frozen", "cost"), [(-1, 0, 0.0), (3, 2, 0.0), (0, 0, -1.0)])
def test_what_makes_no_sense_is_refused(slot, frozen, cost):
    with pytest.raises(ConfigError):
        InForce(plan(week([CHEAP] * 8), EXACT).schedule, slot, frozen, cost)


def test_what_was_promised_to_an_event_is_kept_by_the_plan_that_goes_on():
    prices = [CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP, DEAR, DEAR]
    before = week(prices)
    announced = plan(before, EXACT).schedule
    free = to_calendar(before, announced, status="x", certified_gap=None)[0].blocks[0].import_kw
    block, start = before.blocks[0].name, before.grid.start
    limit = ImportLimit(start + timedelta(hours=4), start + timedelta(hours=5.5), free[3] * 1.01, block, "a cut")
    found = replan(before, InForce(announced, 1, 1, limits=(limit,)), EXACT).found.schedule
    assert on(found)[0]
    assert sum(on(found)) == 4
    assert on(found)[4:6] == [False, False]
    kept = to_calendar(before, found, status="x", certified_gap=None)[0].blocks[0].import_kw
    assert max(kept[4:6]) <= limit.limit_kw < free[4]
    whole_site = replace(limit, block=None)
    assert on(replan(before, InForce(announced, 1, 1, limits=(whole_site,)), EXACT).found.schedule)[4:6] == [False] * 2
