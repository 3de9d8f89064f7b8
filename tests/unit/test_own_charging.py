"""A battery that only own sources may charge, where import is paid for: what charges it is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.planner_reports import planned
from tests.weeks import battery, make_block, make_run, solar, tiny_week
from thermal.plant import tower_chiller

PLAIN = tower_chiller(1000.0)
WITH_TANK = replace(PLAIN, loop=replace(PLAIN.loop, store=replace(PLAIN.loop.store, volume_m3=60.0)))


@pytest.mark.parametrize("plant", [PLAIN, WITH_TANK], ids=["plain", "with a tank"])
def test_what_charges_the_battery_is_made_behind_the_meter(plant):
    store = battery(400.0, 100.0, initial_share=0.1, final_share=0.1, grid_charging=False, wear_cost_per_kwh=0.0)
    week = tiny_week(
        price_per_kwh=np.repeat([-0.06, 0.3], 4),
        ci_gco2_per_kwh=0.0,
        dry_bulb_c=30.0,
        wet_bulb_c=20.0,
        ghi_w_per_m2=600.0,
        blocks=(make_block(n_slots=8, plant=plant, battery=store, solar=solar(150.0)),),
        runs=(make_run(gpus=256, work_h=3.0),),
    )
    found, seen = planned(week)
    (flows,) = found.schedule.blocks
    assert flows.charge_kw[:4].max() > 50.0
    assert (flows.charge_kw <= flows.solar_used_kw + 1e-6).all()
    assert seen.violations == ()
