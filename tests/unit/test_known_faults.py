"""Faults that other models of cooling had, shown absent here."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.plant import cooling, dry_cooler, tower_chiller, w_max_kw

RATED_KW = 20_000.0


def test_a_tower_does_not_over_cool_at_no_load():
    # EnergyPlus issue 4927
    state = cooling(tower_chiller(RATED_KW), [0.0, 500.0], -10.0, -11.0)
    assert state.supply_temp_c.tolist() == [28.0, 28.0]
    assert (state.fan_speed == 0.0).all()


@pytest.mark.parametrize("wet_bulb_c", [15.0, 25.6, 28.0])
def test_a_stated_approach_is_kept_at_the_design_heat(wet_bulb_c):
    # EnergyPlus issue 7561: towers sized too small from their approach; in warmer air an approach shrinks, never grows
    limits = {"supply_limit_c": 60.0, "cold_plate_case_limit_c": 85.0}
    plant = tower_chiller(RATED_KW, chiller_capacity_share=0.0, supply_setpoint_c=20.0, **limits)
    state = cooling(plant, RATED_KW, wet_bulb_c + 5.0, wet_bulb_c, supply_c=20.0)
    approach_k = float(state.facility_supply_temp_c) - wet_bulb_c
    if wet_bulb_c == 25.6:
        assert approach_k == pytest.approx(4.0, abs=1e-6)
    else:
        assert (approach_k < 4.0) == (wet_bulb_c > 25.6)


def test_no_chiller_runs_without_something_to_carry_its_heat_away():
    # EnergyPlus issue 10265
    dry = np.linspace(20.0, 45.0, 26)
    for plant in (tower_chiller(RATED_KW), dry_cooler(RATED_KW, chiller_capacity_share=0.6)):
        state = cooling(plant, 15_000.0, dry, dry - 8.0)
        on = state.chiller_kw > 0.0
        assert on.any()
        condensers_kw = 0.015 * (state.chiller_heat_kw + state.chiller_kw)
        assert (state.fan_kw[on] >= condensers_kw[on]).all()
        np.testing.assert_allclose(
            state.heat_rejected_kw,
            15_000.0 + state.pump_kw + state.room_fan_kw + state.compressor_kw,
            rtol=1e-12,
        )


@pytest.mark.parametrize("make", [dry_cooler, tower_chiller])
def test_a_plant_closes_at_its_own_nominal_point(make):
    # Modelica Buildings issue 4189
    plant = make(RATED_KW, chiller_capacity_share=0.0, supply_setpoint_c=33.6, supply_limit_c=33.6)
    sink_c = 33.6 - plant.loop.cdu.approach_k - plant.loop.rejection.approach_k
    state = cooling(plant, RATED_KW, sink_c, sink_c)
    assert float(state.supply_temp_c) == pytest.approx(33.6, abs=1e-9)
    assert float(state.fan_speed) == pytest.approx(1.0, abs=1e-9)
    assert w_max_kw(plant, sink_c, sink_c) == pytest.approx(RATED_KW)


def test_part_load_goes_down_to_nothing_without_a_step_or_a_singular_point():
    # TESPy issue 399, pandapipes issue 679
    loads = np.concatenate([[0.0], np.logspace(-12, 0, 60)]) * RATED_KW
    for plant in (dry_cooler(RATED_KW), tower_chiller(RATED_KW), tower_chiller(RATED_KW, sequence="optimal")):
        state = cooling(plant, loads, 15.0, 10.0)
        assert np.isfinite(state.cooling_kw).all()
        assert abs(state.cooling_kw[1] - state.cooling_kw[0]) < 1e-6
        assert (np.diff(state.cooling_kw) >= -1e-9).all()


def test_dry_bulb_and_wet_bulb_are_told_apart():
    # RAPS feeds the dry bulb to an input for the wet bulb
    plant = tower_chiller(RATED_KW)
    dry_air, wet_air = (cooling(plant, RATED_KW, 32.0, wet).cooling_kw for wet in (16.0, 32.0))
    assert float(wet_air) > 1.2 * float(dry_air)
    padless = dry_cooler(RATED_KW)
    assert cooling(padless, RATED_KW, 32.0, 16.0).cooling_kw == cooling(padless, RATED_KW, 32.0, 31.0).cooling_kw


def test_capacity_of_chillers_does_not_depend_on_fan_power():
    # SustainDC passes fan power as a chiller's capacity
    small, large = (
        dry_cooler(RATED_KW, chiller_capacity_share=0.3, cooler_fan_w_per_kw=fan, supply_limit_c=40.0)
        for fan in (10, 60)
    )
    assert w_max_kw(small, 38.0, 22.0) == pytest.approx(w_max_kw(large, 38.0, 22.0))
    bigger = dry_cooler(RATED_KW, chiller_capacity_share=0.5, supply_limit_c=40.0)
    assert w_max_kw(bigger, 38.0, 22.0) > w_max_kw(small, 38.0, 22.0)
