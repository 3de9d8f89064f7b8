"""What tank and heat pump do to cooling, as the program counts it, against the full physics."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.offsets import Flows, fit_offsets
from thermal.plant import cooling, dry_cooler, room_air, setpoint_c, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.split import own_kw, rejection_kw

RATED_KW = 20_000.0
LOW_KW = 3_000.0
MOST = Flows(0.3 * 0.945 * RATED_KW, 0.3 * 0.945 * RATED_KW)
LIKE = {"store_volume_m3": 500.0, "heat_pump_capacity_share": 0.3}
FOLLOWING = {"rack_pump_flow_floor": 0.3, "facility_pump_flow_floor": 0.3}
PLANTS = {
    "dry": dry_cooler(RATED_KW, **LIKE),
    "pad": dry_cooler(RATED_KW, pad_effectiveness=0.75, **FOLLOWING, **LIKE),
    "tower": tower_chiller(RATED_KW, **LIKE),
    "optimal": tower_chiller(RATED_KW, sequence="optimal", **LIKE),
    "dry with chillers": dry_cooler(
        RATED_KW, chiller_capacity_share=0.5, store_rise_k=5.0, supply_setpoint_c=30.0, supply_limit_c=32.0, **LIKE
    ),
}


@pytest.fixture(params=PLANTS, scope="module")
def drawn(request):
    """A plant's rows and physics at random flows in random weather."""
    plant, dice = PLANTS[request.param], np.random.default_rng(5)
    dry_c = dice.uniform(-15.0, 42.0, 120)
    wet_c = dry_c - dice.uniform(0.0, 12.0, 120)
    found = fit_offsets(plant, dry_c, wet_c, (LOW_KW, RATED_KW), MOST)
    held_c = setpoint_c(plant, dry_c, wet_c)
    it_kw = dice.uniform(LOW_KW, RATED_KW, (60, 120))
    way = dice.integers(0, 3, it_kw.shape)
    filled_kw, drawn_kw = (np.where(way == k, dice.uniform(0.0, MOST.tank_kw, it_kw.shape), 0.0) for k in (0, 1))
    taken_kw = np.where(dice.random(it_kw.shape) < 0.5, dice.uniform(0.0, MOST.taken_kw, it_kw.shape), 0.0)
    limited_kw = it_kw + found.fill_it_kw_per_kw * filled_kw - found.draw_it_kw_per_kw * drawn_kw
    allowed = (limited_kw <= w_max_kw(plant, dry_c, wet_c)) & (it_kw <= found.racks_kw)
    allowed &= drawn_kw + taken_kw <= 0.945 * it_kw
    allowed &= (filled_kw == 0.0) | (limited_kw <= found.hold_kw)
    tank_kw = filled_kw - drawn_kw
    state = cooling(plant, it_kw, dry_c, wet_c, supply_c=held_c, tank_kw=tank_kw, heat_taken_kw=taken_kw)
    like_kw = np.maximum(limited_kw - found.taken_it_kw_per_kw * taken_kw, 0.0)
    row_kw = own_kw(plant, it_kw, dry_c) + rejection_kw(plant, like_kw, (dry_c, wet_c), held_c)
    row_kw += (
        found.fill_power_kw_per_kw * filled_kw
        + found.draw_power_kw_per_kw * drawn_kw
        + found.taken_power_kw_per_kw * taken_kw
    )
    assert allowed.mean() > 0.4
    carries_kw = w_max_kw(plant, dry_c, wet_c, tank_kw=tank_kw)
    return {
        "over": (row_kw - state.cooling_kw)[allowed],
        "cooling": state.cooling_kw[allowed],
        "spare": (carries_kw - it_kw)[allowed],
        "warmer": (state.supply_temp_c - held_c)[allowed & (filled_kw > 0.0)],
    }


def test_the_rows_promise_no_less_power_than_the_plant_takes(drawn):
    # 0.2 % of rated IT power: where chillers start or stop between the loads looked at
    assert drawn["over"].min() > -0.002 * RATED_KW
    assert (drawn["over"] > -1e-4 * RATED_KW).mean() > 0.99


def test_the_rows_are_not_far_above_the_plant(drawn):
    assert drawn["over"].mean() < 0.15 * drawn["cooling"].mean()


def test_what_the_rows_allow_stays_within_the_limits(drawn):
    assert drawn["spare"].min() > -1e-6 * RATED_KW


def test_the_tank_is_filled_with_water_as_cold_as_its_own(drawn):
    assert drawn["warmer"].max() < 1e-6


def test_rows_for_a_unit_out_hold_with_it_out():
    plant, dry_c = PLANTS["dry"], np.array([30.0, 34.0, 36.0])
    found = fit_offsets(plant, dry_c, dry_c - 12.0, (LOW_KW, RATED_KW), MOST, one_out=True)
    n1_kw = w_max_n1_kw(plant, dry_c, dry_c - 12.0)
    for drawn_kw in np.linspace(0.1, 1.0, 7) * MOST.tank_kw:
        it_kw = np.minimum(n1_kw + found.draw_it_kw_per_kw * drawn_kw, found.racks_kw)
        assert (it_kw >= np.minimum(n1_kw + 0.3 * drawn_kw, found.racks_kw)).all()
        assert (it_kw <= w_max_n1_kw(plant, dry_c, dry_c - 12.0, tank_kw=-drawn_kw) + 1e-6).all()


def test_without_flows_the_constants_are_those_of_the_heat():
    found = fit_offsets(PLANTS["dry"], [20.0], [12.0], (LOW_KW, RATED_KW), Flows(0.0, 0.0))
    assert found.fill_it_kw_per_kw == found.draw_it_kw_per_kw == found.taken_it_kw_per_kw == 1.0 / 0.945
    assert found.fill_power_kw_per_kw == found.draw_power_kw_per_kw == 0.004
    assert found.taken_power_kw_per_kw == 0.0


def test_a_room_is_refused():
    with pytest.raises(ValueError, match=r"a room_air plant has no liquid loop for a tank or a heat pump"):
        fit_offsets(room_air(12.0), [20.0], [12.0], (1.0, 12.0), MOST)
