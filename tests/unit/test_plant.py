"""Cooling plants: numbers worked by hand, the design point, the cold, the heat, and values that are refused."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from thermal.catalogue import catalogue, describe
from thermal.components.room import RoomAir, cop
from thermal.loop import LiquidLoop
from thermal.plant import CoolingPlant, cooling, dry_cooler, room_air, setpoint_c, settings, tower_chiller, w_max_kw

RATED_KW = 20_000.0
FACTORIES = {"dry_cooler": dry_cooler, "tower_chiller": tower_chiller, "room_air": room_air}


def test_dry_cooler_closes_at_its_design_point():
    # limit 45 C less 4 K in the CDU and 6 K in the cooler: 35 C outdoors at rated power and full fans
    state = cooling(dry_cooler(RATED_KW), RATED_KW, 35.0, 25.0)
    assert state.supply_temp_c == pytest.approx(45.0, abs=1e-9)
    assert state.fan_speed == pytest.approx(1.0, abs=1e-9)
    assert w_max_kw(dry_cooler(RATED_KW), [35.0, 34.9], [25.0, 25.0]) == pytest.approx(RATED_KW)


def test_pump_power_by_hand():
    # 18.9 MW at 10 K: rack loop 0.47154 m3/s of PG25 at 40 C (3.96865 x 1009.909 = 4007.98 kJ/m3K); 250 kPa, 65 %
    plant = dry_cooler(RATED_KW)
    state = cooling(plant, RATED_KW, 10.0, 8.0)
    assert state.rack_pump_kw == pytest.approx(18_900.0 * 250.0 / (4007.98 * 10.0 * 0.65), rel=1e-5)
    # facility loop at 36 C: 3.959046 x 1011.9074 = 4006.19 kJ/m3K
    facility_kw = state.pump_kw - state.rack_pump_kw
    assert facility_kw == pytest.approx(18_900.0 * 250.0 / (4006.19 * 10.0 * 0.65), rel=1e-5)
    # at the floor of 0.9: 0.2 * 0.9 + 0.8 * 0.9^3 = 0.7632 of it, whatever the load
    at_floor = cooling(plant, [0.0, 9_000.0, 18_000.0], 10.0, 8.0).pump_kw
    assert at_floor == pytest.approx([0.7632 * float(state.pump_kw)] * 3)


def test_full_fans_by_hand():
    # 18.9 MW at 35 W/kW, 1.1 MW of air at 40 (room) and 20 (outdoors) W/kW
    state = cooling(dry_cooler(RATED_KW), RATED_KW, 35.0, 25.0)
    assert state.fan_kw == pytest.approx(661.5 + 44.0 + 22.0)
    assert state.room_fan_kw == pytest.approx(44.0)


def test_fans_follow_the_cubic_law_above_natural_draught():
    state = cooling(dry_cooler(RATED_KW, liquid_heat_share=1.0), 16_000.0, 20.0, 15.0)
    speed = float(state.fan_speed)
    assert 0.1 < speed < 1.0
    assert float(state.fan_kw) == pytest.approx(RATED_KW * 0.035 * speed * (speed**2 - 0.01) / 0.99)


def test_setpoint_follows_the_weather_between_design_and_limit():
    plant = dry_cooler(RATED_KW)
    got = setpoint_c(plant, [-20.0, 29.9, 32.0, 35.0, 44.0], [-21.0, 20.0, 20.0, 22.0, 25.0])
    assert got == pytest.approx([40.0, 40.0, 42.0, 45.0, 45.0])
    assert setpoint_c(room_air(12.0), [0.0, 40.0], [0.0, 20.0]) == pytest.approx([24.0, 24.0])


def test_zero_load_moves_the_pumps_heat_only():
    state = cooling(dry_cooler(RATED_KW), 0.0, 20.0, 15.0)
    air_part_kw = float(state.room_fan_kw + state.compressor_kw)
    assert float(state.heat_rejected_kw) == pytest.approx(float(state.pump_kw) + air_part_kw)
    assert float(state.supply_temp_c) == 40.0


def test_deep_frost_needs_no_fans_and_no_compressor():
    state = cooling(dry_cooler(RATED_KW), 10_000.0, -40.0, -40.0)
    assert float(state.fan_speed) == 0.0
    assert float(state.fan_kw) == pytest.approx(1_100 * (0.040 * 0.5**3 + 0.020 * ((0.5 + 0.04 * 0.125) / 1.04) ** 3))
    assert float(state.compressor_kw) == 0.0
    assert float(state.supply_temp_c) == 40.0
    assert float(state.return_temp_c) < 50.0


def test_above_w_max_the_supply_leaves_its_limit():
    plant = dry_cooler(RATED_KW)
    w_max = w_max_kw(plant, 40.0, 25.0)
    assert 9_000.0 < w_max < 11_500.0
    at, above = cooling(plant, w_max, 40.0, 25.0), cooling(plant, 1.1 * w_max, 40.0, 25.0)
    assert float(at.supply_temp_c) == pytest.approx(45.0, abs=1e-9)
    assert float(at.fan_speed) == pytest.approx(1.0, abs=1e-9)
    assert float(above.supply_temp_c) > 45.3


def test_w_max_by_hand_in_the_span_of_constant_flow():
    # flow 0.9, so the supply stands (heat) x (K per heat) above the air: two loads below the floor give the line
    plant = dry_cooler(RATED_KW)
    hot = cooling(plant, [4_000.0, 8_000.0], 45.0, 25.0)
    k_per_kw = (hot.supply_temp_c[1] - hot.supply_temp_c[0]) / 4_000.0
    excess_at_zero_k = hot.supply_temp_c[0] - 45.0 - 4_000.0 * k_per_kw
    assert w_max_kw(plant, 41.0, 25.0) == pytest.approx((45.0 - 41.0 - excess_at_zero_k) / k_per_kw, rel=1e-9)


def test_derating_of_a_40_c_supply():
    dry, wet = np.array([25.0, 35.0, 40.0, 45.0, 50.0]), np.array([18.0, 24.0, 26.0, 28.0, 30.0])
    bare = w_max_kw(dry_cooler(RATED_KW, supply_limit_c=40.0), dry, wet)
    padded = w_max_kw(dry_cooler(RATED_KW, supply_limit_c=40.0, pad_effectiveness=0.75), dry, wet)
    assert bare[0] == RATED_KW
    assert bare[2:] == pytest.approx([0.0, 0.0, 0.0])  # 40 C air cannot make 40 C water
    # an independent 20 MW prototype with a pad carries 20, 20, 19.0, 13.7 and 9.5 MW
    assert padded == pytest.approx([20_000.0, 20_000.0, 19_000.0, 13_700.0, 9_500.0], rel=0.2)


def test_pad_water_and_fan_power_by_hand():
    # 18.9 MW x 1.15 / 10 K = 2173.5 kW/K of air, cooled by 0.75 x 14 K: 9.392 kg/s, and a third more for the bleed
    plant = dry_cooler(RATED_KW, pad_effectiveness=0.75, supply_limit_c=36.0, supply_setpoint_c=36.0)
    state = cooling(plant, RATED_KW, 40.0, 26.0)
    assert float(state.fan_speed) == 1.0
    assert float(state.water_l_per_h) == pytest.approx(2173.5 * 10.5 / 2430.0 * 3600.0 / 0.75)
    assert float(state.fan_kw) == pytest.approx(661.5 * 1.08 + 66.0)
    # dry below 25 C
    assert float(cooling(plant, RATED_KW, 24.9, 15.0).water_l_per_h) == 0.0


def test_wet_bulb_above_dry_bulb_is_read_as_saturated_air():
    plant = dry_cooler(RATED_KW, pad_effectiveness=0.75)
    assert float(cooling(plant, RATED_KW, 30.0, 30.2).water_l_per_h) == 0.0


def test_room_power_by_hand():
    # 35 C: evaporating 14 C, lift 33 K, COP 0.45 x 287.15 / 33 = 3.9157; load 1/1.2 of capacity
    assert float(cop(RoomAir(), np.array(35.0))) == pytest.approx(3.9157, abs=1e-4)
    state = cooling(room_air(12.0), 12.0, 35.0, 24.0)
    assert float(state.compressor_kw) == pytest.approx(12.48 / 3.91568 * (0.7 + 0.3 / 1.2), rel=1e-5)
    assert float(state.fan_kw) == pytest.approx(12.0 * 0.060)
    assert float(state.pump_kw) == 0.0
    assert np.isnan(state.return_temp_c)


def test_economiser_by_hand():
    # 20 C: return 36.48 C, 16.48 K x 12.48 kW / 25 K = 8.2268 kW free, 4.2532 kW left; COP 7.1788; capacity 17.2224 kW
    state = cooling(room_air(12.0), 12.0, 20.0, 14.0)
    assert float(state.compressor_kw) == pytest.approx(4.25318 / 7.17875 * (0.7 + 0.3 * 4.25318 / 17.2224), rel=1e-5)
    warm = cooling(room_air(12.0), 12.0, 24.0, 14.0)
    without = cooling(room_air(12.0, economiser=False), 12.0, 24.0, 14.0)
    assert float(warm.compressor_kw) == float(without.compressor_kw)  # locked out at the setpoint
    assert float(cooling(room_air(12.0, economiser=False), 12.0, 20.0, 14.0).compressor_kw) > 1.0


def test_small_compressors_let_the_room_warm():
    # capacity 0.8 of rated heat at 35 C; asked for 1.0, 25 % too much: 0.25 / 0.03 = 8.33 K above 24 C
    plant = room_air(12.0, dx_capacity_share=0.8)
    assert float(cooling(plant, 12.0, 35.0, 24.0).supply_temp_c) == pytest.approx(24.0 + 0.25 / 0.03)
    w_max = w_max_kw(plant, 35.0, 24.0)
    assert float(cooling(plant, w_max, 35.0, 24.0).supply_temp_c) == pytest.approx(27.0)
    assert w_max < 12.0


def test_the_residual_air_can_be_what_limits_a_liquid_plant():
    plant = dry_cooler(RATED_KW, dx_capacity_share=0.5)
    w_max = w_max_kw(plant, 30.0, 20.0)
    assert w_max < 0.6 * RATED_KW
    assert float(cooling(plant, w_max, 30.0, 20.0).air_supply_temp_c) == pytest.approx(27.0)


def test_all_heat_to_liquid_leaves_no_room():
    state = cooling(dry_cooler(RATED_KW, liquid_heat_share=1.0), [0.0, RATED_KW], 30.0, 20.0)
    assert state.compressor_kw.tolist() == [0.0, 0.0]
    assert state.room_fan_kw.tolist() == [0.0, 0.0]
    assert np.isfinite(state.cooling_kw).all()


@pytest.mark.parametrize(("dry", "low", "high"), [(-10.0, 0.015, 0.03), (15.0, 0.02, 0.03), (30.0, 0.05, 0.07)])
def test_share_of_cooling_in_a_warm_water_plant(dry, low, high):
    state = cooling(dry_cooler(RATED_KW), RATED_KW, dry, dry - 6.0)
    assert low < float(state.cooling_kw) / RATED_KW < high


def test_arguments_broadcast():
    state = cooling(dry_cooler(RATED_KW), np.zeros((3, 1)), np.zeros(4), 0.0)
    assert {getattr(state, f.name).shape for f in fields(state)} == {(3, 4)}


def test_settings_are_what_the_factories_take():
    for kind, factory in FACTORIES.items():
        plant = factory(100.0)
        for setting in catalogue(kind):
            assert factory(100.0, **{setting.name: setting.default}) == plant
        told = {value.name: value.value for value in describe(plant)}
        assert told == {setting.name: setting.default for setting in catalogue(kind)}
    assert "rack_pump_flow_floor" not in settings("room_air")
    assert "pad_effectiveness" not in settings("tower_chiller")


def test_a_change_reaches_the_plant():
    assert dry_cooler(1.0, air_rise_k=11.0, cdu_approach_k=3.0).room.air_rise_k == 11.0
    assert dry_cooler(1.0, cdu_approach_k=3.0).liquid_heat_share == 0.945
    assert room_air(1.0, air_supply_limit_c=32.0).supply_limit_c == 32.0
    assert room_air(1.0).supply_setpoint_c == 24.0
    assert room_air(1.0).liquid_heat_share == 0.0
    assert dry_cooler(1.0).supply_limit_c == 45.0
    assert dry_cooler(1.0).supply_setpoint_c == 40.0


def test_unknown_setting_names_the_kind_and_the_known_ones():
    with pytest.raises(TypeError, match=r"cdu_count is no setting of a room_air plant; it has .*room_fan_floor"):
        room_air(12.0, cdu_count=5)
    with pytest.raises(TypeError, match="chiller is no setting of a dry_cooler plant"):
        dry_cooler(12.0, chiller=True)


@pytest.mark.parametrize(
    ("factory", "changes", "words"),
    [
        (dry_cooler, {"supply_setpoint_c": 46.0}, "supply_setpoint_c is 46 C, above supply_limit_c of 45 C"),
        (dry_cooler, {"rack_pump_flow_floor": 0.0}, "rack_pump_flow_floor is 0, outside 0.05 to 1"),
        (dry_cooler, {"rack_pump_head_kpa": 5.0}, "rack_pump_head_kpa is 5 kPa, outside 10 to 1000 kPa"),
        (dry_cooler, {"facility_pump_head_kpa": math.nan}, "facility_pump_head_kpa is nan kPa"),
        (dry_cooler, {"liquid_heat_share": True}, "liquid_heat_share is True; a number is wanted"),
        (dry_cooler, {"loop_rise_k": "10"}, "loop_rise_k is '10'; a number of K is wanted"),
        (
            dry_cooler,
            {"cooler_air_ratio": 0.5},
            "cooler_approach_k: an approach of 6 K is out of reach; 10.2 K is the least",
        ),
        (dry_cooler, {"facility_rise_k": 20.0}, "cdu_approach_k: an approach of 4 K is out of reach"),
        (dry_cooler, {"sequence": "best"}, "sequence is 'best'; it is one of site, optimal"),
        (dry_cooler, {"rack_coolant": "oil"}, "rack_coolant is 'oil'; it is one of water, pg25, pg40, eg30"),
        (dry_cooler, {"setpoint_rule": "chosen"}, "but chip_leakage_pct_per_k is 0; give the site's leakage"),
        (dry_cooler, {"cooler_count": 7.5}, "cooler_count is 7.5; a whole number is wanted"),
        (
            tower_chiller,
            {"tower_approach_k": 1.0, "tower_water_air_ratio": 3.0},
            "tower_approach_k: an approach of 1 K",
        ),
        (room_air, {"air_supply_setpoint_c": 28.0}, "air_supply_setpoint_c is 28 C, above air_supply_limit_c of 27 C"),
        (room_air, {"economiser_itd_k": 20.0}, "economiser_itd_k is 20 K, below 24.96 K"),
        (room_air, {"economiser": 1}, "economiser is 1; write true or false"),
    ],
)
def test_values_that_are_refused(factory, changes, words):
    with pytest.raises(ValueError) as caught:
        factory(100.0, **changes)
    assert words in str(caught.value)


@pytest.mark.parametrize("rated", [0.0, -1.0, math.inf, math.nan])
def test_rated_power_must_be_positive_and_finite(rated):
    with pytest.raises(ValueError, match="rated_it_kw is"):
        room_air(rated)


def test_kind_must_fit_the_parts():
    with pytest.raises(ValueError, match="a dry_cooler plant needs a loop"):
        CoolingPlant("dry_cooler", 1.0, None, RoomAir())
    with pytest.raises(ValueError, match="a room_air plant has no loop"):
        CoolingPlant("room_air", 1.0, LiquidLoop(), RoomAir())
    with pytest.raises(ValueError, match="kind is 'tower'; a cooling plant is one of dry_cooler, tower_chiller, room_"):
        CoolingPlant("tower", 1.0, LiquidLoop(), RoomAir())
    with pytest.raises(ValueError, match="a tower_chiller plant has towers"):
        CoolingPlant("tower_chiller", 1.0, LiquidLoop(), RoomAir())
