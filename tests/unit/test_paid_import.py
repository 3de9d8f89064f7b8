"""Where import is paid for, a plan draws what machines can draw and no more: by hand, by pattern, by the judge."""

from __future__ import annotations

import math

import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from tests.enumeration import best_cost
from tests.weeks import FULL_POWER, battery, make_block, make_pool, make_run, tiny_week
from thermal.plant import cooling, dry_cooler

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)
CAPACITY_KW = 400.0
IDLE_KW = 256 * 0.15
FULL_KW = 256 * 1.1
PAID, DEAR = -0.05, 0.10


def paid_week(**changes):
    """Four hours, the first of them paid for, and a gang of 256 GPUs; carbon costs nothing."""
    store = changes.pop("battery", None)
    given = {
        "n_slots": 4,
        "price_per_kwh": [PAID, DEAR, DEAR, DEAR],
        "ci_gco2_per_kwh": 0.0,
        "blocks": (make_block("hall", CAPACITY_KW, n_slots=4, battery=store),),
        "pools": (make_pool(gpus=256, points=FULL_POWER),),
        "runs": (make_run(work_h=2.0, deadline_h=4.0, points=FULL_POWER),),
    }
    return tiny_week(**(given | changes))


def judged(week):
    """The plan, and what the judge makes of it; it is proven to be the best, and no pattern is better."""
    found = plan(week, EXACT)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best_cost(week), rel=1e-6)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    seen = evaluate(calendar, runs, week)
    assert seen.clean
    return found, seen.blocks[0]


def cooling_kw(it_kw):
    """What the plant takes at an IT power, at the 15 deg C of all hours."""
    return float(cooling(dry_cooler(CAPACITY_KW), it_kw, 15.0, 10.0).cooling_kw)


def test_cooling_takes_what_the_heat_asks_for_though_more_would_be_paid_for():
    found, block = judged(paid_week())
    full_kw, idle_kw = FULL_KW + cooling_kw(FULL_KW), IDLE_KW + cooling_kw(IDLE_KW)
    # on in the paid hour and in one of the dear ones, idle in two; some 110 kW of the connection stay free
    assert found.objective == pytest.approx(PAID * full_kw + DEAR * (full_kw + 2.0 * idle_kw), rel=1e-6)
    assert block.import_kw[0] == pytest.approx(full_kw, rel=1e-6)
    assert block.import_kw[0] < 0.75 * CAPACITY_KW


def test_a_battery_is_filled_and_not_filled_and_emptied_at_once():
    store = battery(100.0, 40.0, initial_share=0.8, final_share=0.8, wear_cost_per_kwh=0.0)
    bare, _ = judged(paid_week())
    found, block = judged(paid_week(battery=store))
    # 10 kWh of room take 10 / 0.95 kWh in the paid hour and give 10 * 0.95 kWh in a dear one
    assert found.objective - bare.objective == pytest.approx(PAID * 10.0 / 0.95 - DEAR * 10.0 * 0.95, rel=1e-5)
    assert (block.charge_kw[0], block.discharge_kw[0]) == (pytest.approx(10.0 / 0.95, rel=1e-5), 0.0)


def test_a_gang_does_not_mix_distant_points_to_draw_more():
    pool, run = make_pool(gpus=256), make_run(work_h=0.88, deadline_h=4.0)
    found, block = judged(paid_week(pools=(pool,), runs=(run,)))
    # 0.88 of an hour's work is its middle point, 840 W; 0.4 of 650 W and 0.6 of 1,100 W would make it too, at 920 W
    assert block.it_kw[0] == pytest.approx(256 * 0.84, rel=1e-5)
    assert math.isclose(found.schedule.runs[0].gpu_power_limit_w[0], 500.0, rel_tol=1e-4)
