"""What a run's best other hours cost, by hand on small weeks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.optimize.whythen import Hours, why_then
from planner.precedence import After
from power.tariff import Tariff
from tests.explained import explained
from tests.weeks import FULL_POWER, make_block, make_pool, make_run, tiny_week
from thermal.plant import cooling

ADDED_KW = 256 * (1100.0 - 150.0) / 1000.0
CHEAP_FIRST = [0.05] * 4 + [0.10] * 4


def free_of_carbon(week):
    return replace(week, prices=replace(week.prices, carbon_per_t=0.0, water_per_m3=0.0))


def cooling_step_kw(week):
    """What the gang at full power adds to the cooling of the block."""
    at_kw = cooling(week.blocks[0].plant, [76.8, 76.8 + ADDED_KW], 15.0, 10.0).cooling_kw
    return float(at_kw[1] - at_kw[0])


def test_the_best_other_hours_cost_the_difference_of_the_prices():
    run = make_run(work_h=4.0, deadline_h=8.0, points=FULL_POWER, min_run_h=4.0)
    found = explained(free_of_carbon(tiny_week(price_per_kwh=CHEAP_FIRST, runs=(run,))))
    told = why_then(found.fixed, 0)
    assert told.now == Hours("a1", ((0, 4),))
    assert told.window == (0, 4)
    assert told.then == Hours("a1", ((4, 8),))
    kwh = 4.0 * (ADDED_KW + cooling_step_kw(found.week))
    assert told.more.paid == pytest.approx(0.05 * kwh, rel=2e-3)
    assert told.more.total == pytest.approx(told.more.paid)
    assert told.more.lateness == 0.0
    assert told.unproven == pytest.approx(0.0, abs=1e-3)


def test_other_hours_that_are_too_late_cost_lateness_and_name_the_stage():
    run = make_run(work_h=4.0, deadline_h=5.0, points=FULL_POWER, min_run_h=4.0)
    found = explained(free_of_carbon(tiny_week(price_per_kwh=CHEAP_FIRST, runs=(run,))))
    told = why_then(found.fixed, 0)
    assert told.now.spells == ((0, 4),)
    assert told.more.lateness == pytest.approx(3.0 * 256 * 3.0)  # three hours of the gang at 3 EUR per GPU-hour
    assert any("stage 'train'" in words and "is missed" in words for words in told.binds)


def test_gpus_that_others_hold_are_named():
    runs = tuple(make_run(name, 256, work_h=4.0, deadline_h=12.0, points=FULL_POWER, min_run_h=4.0) for name in "ab")
    week = tiny_week(n_slots=12, pools=(make_pool(gpus=256),), runs=runs, price_per_kwh=[*CHEAP_FIRST, *[0.2] * 4])
    found = explained(free_of_carbon(week))
    first = next(i for i, run in enumerate("ab") if found.choices.runs[run].on[0])
    told = why_then(found.fixed, first)
    assert told.then.spells == ((8, 12),)
    assert "in 4 h other runs take the GPUs of pool 'a1'" in told.binds


def test_who_waits_for_a_run_keeps_its_hours_and_is_named():
    proto = make_run("proto", 256, 2.0, 4.0, points=FULL_POWER, min_run_h=2.0)
    full = make_run("full", 256, 4.0, 8.0, points=FULL_POWER, min_run_h=4.0, after=(After("proto", "train"),))
    found = explained(free_of_carbon(tiny_week(price_per_kwh=CHEAP_FIRST, runs=(proto, full))))
    told = why_then(found.fixed, 0)
    assert told.then is None
    assert told.binds == ("no other hours leave a plan in which what waits for it ('full') keeps its own",)


def test_a_higher_peak_is_named():
    runs = tuple(make_run(name, 256, work_h=4.0, deadline_h=8.0, points=FULL_POWER, min_run_h=4.0) for name in "ab")
    week = tiny_week(runs=runs, tariff=Tariff(demand_charge_per_kw_month=5.0))
    found = explained(free_of_carbon(week))
    told = why_then(found.fixed, 0)
    assert told.more.paid == pytest.approx(5.0 * (ADDED_KW + cooling_step_kw(week)), rel=5e-3)
    assert any(words.startswith("the billed peak rises by 2") for words in told.binds)


def test_power_that_is_short_is_named():
    run = make_run("late", 256, work_h=6.0, deadline_h=6.0)
    block = make_block(capacity_kw=300.0, n_slots=6)
    found = explained(tiny_week(n_slots=6, blocks=(block,), runs=(run, make_run("none", 256, 1.0, 6.0))))
    told = why_then(found.fixed, 0)
    assert any("of block 'hall' leaves no more" in words for words in told.binds) or told.then.pool is None


def test_a_run_that_does_not_run_has_no_other_hours():
    found = explained(tiny_week(runs=(make_run(work_h=0.0),)))
    told = why_then(found.fixed, 0)
    assert (told.now, told.window, told.then, told.more) == (Hours(None, ()), None, None, None)
