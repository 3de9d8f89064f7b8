"""What holds for every plant whose values are allowed, in every weather."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thermal.checks import LOOP_RANGES, ROOM_RANGES
from thermal.envelope import fit_envelope
from thermal.plant import CoolingPlant, cooling, dry_cooler, room_air, w_max_kw

RATED_KW = 1_000.0
LOADS_KW = np.linspace(0.0, 1.1, 23)[:, None] * RATED_KW
AIR_C = np.linspace(-40.0, 55.0, 39)
NOISE_KW = 1e-9 * RATED_KW


@st.composite
def plants(draw: st.DrawFn, *, pad: bool = True) -> CoolingPlant:
    liquid = draw(st.booleans())
    ranges = {**(LOOP_RANGES if liquid else {}), **ROOM_RANGES}
    values = {}
    for name, (low, high, _) in ranges.items():
        if draw(st.booleans()):
            values[name] = draw(st.floats(low, high))
    if not pad:
        values.pop("pad_effectiveness", None)
    values["economiser"] = draw(st.booleans())
    for setpoint, limit in (("supply_setpoint_c", "supply_limit_c"), ("air_supply_setpoint_c", "air_supply_limit_c")):
        if setpoint in ranges:
            both = sorted(draw(st.tuples(st.floats(*ranges[setpoint][:2]), st.floats(*ranges[setpoint][:2]))))
            values[setpoint], values[limit] = both
    try:
        return dry_cooler(RATED_KW, **values) if liquid else room_air(RATED_KW, **values)
    except ValueError:
        assume(condition=False)
        raise


@settings(max_examples=150, deadline=None)
@given(plants(), st.floats(0.0, 25.0))
def test_every_state_is_finite_and_its_energy_closes(plant, depression_k):
    state = cooling(plant, LOADS_KW, AIR_C, AIR_C - depression_k)
    for field in fields(state):
        if field.name != "return_temp_c" or plant.loop is not None:
            assert np.isfinite(getattr(state, field.name)).all(), field.name
    for name in ("fan_kw", "room_fan_kw", "pump_kw", "compressor_kw", "water_l_per_h"):
        assert (getattr(state, name) >= 0.0).all(), name
    np.testing.assert_allclose(state.cooling_kw, state.fan_kw + state.pump_kw + state.compressor_kw, rtol=1e-12)
    entered_kw = LOADS_KW + state.pump_kw + state.room_fan_kw + state.compressor_kw
    np.testing.assert_allclose(state.heat_rejected_kw, entered_kw, rtol=1e-9, atol=1e-9)
    if plant.loop is not None:
        # the water carries what racks and pumps gave it
        loop = plant.loop
        flow = np.maximum(LOADS_KW / RATED_KW, loop.pump_flow_floor)
        rate_kw_per_k = RATED_KW * loop.liquid_heat_share / loop.loop_rise_k * flow
        liquid_kw = LOADS_KW * loop.liquid_heat_share + state.pump_kw
        cdu_k = loop.cdu_approach_k * liquid_kw / (RATED_KW * loop.liquid_heat_share * loop.design_heat_share)
        carried_kw = rate_kw_per_k * (state.return_temp_c - (state.supply_temp_c - cdu_k))
        np.testing.assert_allclose(carried_kw, liquid_kw, rtol=1e-6)
        assert (state.supply_temp_c - cdu_k > AIR_C - (loop.pad_effectiveness * depression_k) - 1e-9).all()


@settings(max_examples=150, deadline=None)
@given(plants(pad=False))
def test_power_and_temperature_rise_with_load_and_with_ambient(plant):
    state = cooling(plant, LOADS_KW, AIR_C, AIR_C - 6.0)
    for values in (state.cooling_kw, state.supply_temp_c, state.air_supply_temp_c, state.heat_rejected_kw):
        assert np.diff(values, axis=0).min() >= -NOISE_KW
        assert np.diff(values, axis=1).min() >= -NOISE_KW
    assert (np.diff(w_max_kw(plant, AIR_C, AIR_C - 6.0)) <= 0.0).all()


@settings(max_examples=100, deadline=None)
@given(plants())
def test_w_max_is_the_last_safe_load(plant):
    w_max = w_max_kw(plant, AIR_C, AIR_C - 6.0)
    assert ((w_max >= 0.0) & (w_max <= RATED_KW)).all()
    at = cooling(plant, w_max, AIR_C, AIR_C - 6.0)
    above = cooling(plant, w_max + 1e-3, AIR_C, AIR_C - 6.0)
    some = w_max > 0.0
    assert (at.supply_temp_c[some] <= plant.supply_limit_c + 1e-9).all()
    assert (at.air_supply_temp_c[some] <= plant.room.air_supply_limit_c + 1e-9).all()
    derated = w_max < RATED_KW
    broken = (above.supply_temp_c > plant.supply_limit_c) | (above.air_supply_temp_c > plant.room.air_supply_limit_c)
    assert broken[derated].all()
    if plant.loop is not None:
        by_liquid = some & derated & (above.supply_temp_c > plant.supply_limit_c)
        assert (at.fan_speed[by_liquid] > 1.0 - 1e-6).all()


@settings(max_examples=60, deadline=None)
@given(plants(), st.integers(1, 8), st.lists(st.floats(0.0, 1.0), min_size=4, max_size=12))
def test_segments_over_estimate_within_their_error(plant, segments, shares):
    fit = fit_envelope(plant, AIR_C, AIR_C - 6.0, segments)
    assert fit.slope.shape == (AIR_C.size, segments)
    assert np.isfinite(fit.slope).all()
    assert np.isfinite(fit.intercept_kw).all()
    assert (np.diff(fit.slope, axis=1) >= -1e-9).all()
    for share in shares:
        it_kw = share * fit.w_max_kw
        excess = fit.cooling_kw(it_kw) - cooling(plant, it_kw, AIR_C, AIR_C - 6.0).cooling_kw
        assert excess.min() >= -1e-9
        assert (excess <= fit.fit_error_kw + 1e-9).all()
    assert (fit.hull_gap_kw <= fit.fit_error_kw + 1e-9).all()
