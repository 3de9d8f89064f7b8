"""Plans of random small weeks with a tank and heat pumps: the judge finds nothing, and the curves keep their word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.baseline import counterfactuals
from planner.evaluate import evaluate
from planner.heat import HeatSale
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from tests.weeks import random_week
from thermal.plant import dry_cooler, tower_chiller
from thermal.reserve import Reserve

MAKERS = (dry_cooler, tower_chiller)


def cold_week(seed, maker, *, negative_prices=False):
    """A random week whose first block has a tank, a buyer of heat, or both."""
    week, dice = random_week(seed, n_slots=12, negative_prices=negative_prices), np.random.default_rng(seed)
    rated_kw = week.blocks[0].power.capacity_kw
    tank, buyer = dice.random() < 0.8, dice.random() < 0.6
    changes = {}
    if tank:
        changes |= {"store_volume_m3": rated_kw * dice.uniform(0.02, 0.3), "store_power_share": dice.uniform(0.05, 0.4)}
        changes |= {
            "store_final_share": float(dice.choice([0.1, 0.5])),
            "store_daily_loss_share": dice.uniform(0.0, 0.3),
        }
    if buyer or not tank:
        changes |= {"heat_pump_capacity_share": dice.uniform(0.05, 0.4), "heat_pump_supply_c": dice.uniform(50.0, 90.0)}
    sale = HeatSale(float(dice.uniform(0.0, 0.12)), dice.uniform(0.0, 0.4, 12) * rated_kw)
    block = replace(
        week.blocks[0],
        plant=MAKERS[maker](rated_kw, **changes),
        heat=sale if "heat_pump_capacity_share" in changes else None,
        reserve=Reserve(bool(dice.random() < 0.3), 300.0 if dice.random() < 0.3 else None),
    )
    warmer = replace(week.signals, dry_bulb_c=week.signals.dry_bulb_c + dice.uniform(-10.0, 18.0))
    warmer = replace(warmer, wet_bulb_c=warmer.dry_bulb_c - dice.uniform(1.0, 12.0, 12))
    return replace(week, blocks=(block, *week.blocks[1:]), signals=warmer)


def judged(week, found):
    header, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return header, evaluate(header, runs, week)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(1, 100_000), maker=st.integers(0, 1), negative=st.booleans())
def test_the_judge_finds_nothing_in_plans_with_tank_and_heat_pumps(seed, maker, negative):
    week = cold_week(seed, maker, negative_prices=negative)
    found = plan(week, PlanOptions(gap_target=0.02, time_limit_s=20.0))
    header, seen = judged(week, found)
    assert [violation.sentence for violation in seen.violations] == []
    block = week.blocks[0]
    assert bool(header.blocks[0].cold_kwh_th) == block.has_tank
    assert bool(header.blocks[0].heat_sold_kw_th) == (block.heat is not None)
    assert found.cooling[0].energy_kwh >= float(seen.blocks[0].cooling_kw.sum()) * (1.0 - 1e-3)
    for other in counterfactuals(week, seen):
        assert [v.sentence for v in other.evaluation.violations if v.kind.startswith(("tank", "heat", "stated"))] == []


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_what_the_plan_decides_of_the_tank_is_what_is_published(seed):
    week = cold_week(seed, 1)
    found = plan(week, PlanOptions(gap_target=0.02, time_limit_s=20.0))
    header, _ = judged(week, found)
    decided = found.schedule.blocks[0]
    assert week.blocks[0].has_tank
    for name in ("fill_kw_th", "draw_kw_th"):
        np.testing.assert_allclose(getattr(header.blocks[0], name), getattr(decided, name), atol=0.02)
