"""What holds for every plant whose values are allowed, in every weather."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plants import RATED_KW, plants, random_plants, warm_water_with_pad
from thermal.circuit import circuit
from thermal.envelope import CONVEX_SHARE, fit_branches, fit_envelope
from thermal.outdoors import outdoors
from thermal.plant import cooling, dry_cooler, outages, setpoint_c, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.setpoint import CHOICE_LOAD
from thermal.units_out import ALL

LOADS_KW = np.linspace(0.0, 1.1, 23)[:, None] * RATED_KW
AIR_C = np.linspace(-40.0, 55.0, 39)
FEW_C = AIR_C[::4]
CERTIFIED_C = np.array([-20.0, 5.0, 18.0, 26.0, 34.0, 42.0])
NOISE_KW = 1e-8 * RATED_KW
LOAD_FALL_SHARE = 0.15  # of rated IT power: what unlike flow floors may spare over a span of rising load
# loops whose flows follow the load alike; where they do not, more load can bring the CDUs nearer to balance
MATCHED = {
    "rack_pump_flow_floor": 0.4,
    "facility_pump_flow_floor": 0.4,
    "loop_rise_k": 10.0,
    "facility_rise_k": 10.0,
}
LIQUID_ONLY = {
    "rack_return_temp_c",
    "case_temp_c",
    "facility_supply_temp_c",
    "return_temp_c",
}
NOT_NEGATIVE = ("fan_kw", "room_fan_kw", "pump_kw", "rack_pump_kw", "compressor_kw", "chiller_kw", "water_l_per_h")


def check_state(plant, load_kw, dry_c, depression_k, taken_kw=0.0, running=ALL):
    """Every number is finite and the energy of the whole and of each loop closes."""
    state = cooling(plant, load_kw, dry_c, dry_c - depression_k, heat_taken_kw=taken_kw, running=running)
    for field in fields(state):
        if plant.loop is not None or field.name not in LIQUID_ONLY:
            assert np.isfinite(getattr(state, field.name)).all(), field.name
    for name in NOT_NEGATIVE:
        assert (getattr(state, name) >= 0.0).all(), name
    np.testing.assert_allclose(state.cooling_kw, state.fan_kw + state.pump_kw + state.compressor_kw, rtol=1e-12)
    entered_kw = load_kw + state.pump_kw + state.room_fan_kw + state.compressor_kw - state.heat_taken_kw
    np.testing.assert_allclose(state.heat_rejected_kw, entered_kw, rtol=1e-9, atol=1e-9)
    if plant.loop is None:
        return
    loop, liquid_kw = plant.loop, RATED_KW * plant.liquid_heat_share
    closed = circuit(loop, np.asarray(load_kw / RATED_KW), running)
    # the rack loop carries what racks and its pumps gave it, and hands it over in the CDUs
    rack_kw = load_kw * plant.liquid_heat_share + state.rack_pump_kw
    rack_rate = liquid_kw * loop.rack_rate_per_k * closed.rack_flow
    np.testing.assert_allclose(rack_rate * (state.rack_return_temp_c - state.supply_temp_c), rack_kw, rtol=1e-6)
    # the facility loop carries that and its own pumps' heat, less what is reused
    left_kw = rack_kw + state.pump_kw - state.rack_pump_kw - state.heat_taken_kw
    rate = liquid_kw * loop.facility_rate_per_k * closed.facility_flow
    np.testing.assert_allclose(
        rate * (state.return_temp_c - state.facility_supply_temp_c), left_kw, rtol=1e-6, atol=1e-6 * RATED_KW
    )
    air = outdoors(loop, dry_c, dry_c - depression_k)
    # without a chiller nothing gets colder than the air behind the pad or the wet bulb, and heat runs downhill
    warm = (state.chiller_heat_kw == 0.0) & (left_kw > 1e-6 * RATED_KW)
    assert (state.facility_supply_temp_c >= air.sink_c - 1e-6)[warm].all()
    assert (state.supply_temp_c >= state.facility_supply_temp_c).all()
    assert (state.case_temp_c >= state.supply_temp_c - 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_random_plants_are_finite_and_close(seed):
    load_kw, dry_c = np.linspace(0.0, 1.1, 9)[:, None] * RATED_KW, np.linspace(-40.0, 55.0, 14)
    for plant in random_plants(seed, 200):
        check_state(plant, load_kw, dry_c, 7.0)


@settings(max_examples=40, deadline=None)
@given(plants(), st.floats(0.0, 25.0), st.floats(0.0, 0.5))
def test_every_state_is_finite_and_its_energy_closes(plant, depression_k, taken_share):
    check_state(plant, LOADS_KW, AIR_C, depression_k, taken_share * RATED_KW)


@settings(max_examples=25, deadline=None)
@given(plants())
def test_the_same_with_any_one_unit_out(plant):
    for running in outages(plant).values():
        if min(running) > 0.0:
            check_state(plant, LOADS_KW, AIR_C, 6.0, running=running)


@settings(max_examples=50, deadline=None)
@given(plants(pad_effectiveness=0.0, setpoint_rule="held", **MATCHED))
def test_power_and_temperature_rise_with_load_and_with_ambient(plant):
    state = cooling(plant, LOADS_KW, AIR_C, AIR_C - 6.0)
    # warm air makes a tower better, so where its setpoint follows the weather its fans may slow down at part load
    follows = plant.kind == "tower_chiller" and not plant.loop.has_chiller
    for name in ("cooling_kw", "supply_temp_c", "air_supply_temp_c", "heat_rejected_kw", "case_temp_c"):
        values = getattr(state, name)
        if np.isnan(values).all():
            continue
        assert np.diff(values, axis=0).min() >= -NOISE_KW, name
        if not (name == "cooling_kw" and follows):
            assert np.diff(values, axis=1).min() >= -NOISE_KW, name
    assert (np.diff(w_max_kw(plant, AIR_C, AIR_C - 6.0)) <= NOISE_KW).all()


def falling_loads(plant, load_kw):
    """Return which steps of load may take less power: both lie where facility pumps follow it and rack pumps do not.

    There more load brings the two flows of the CDUs nearer to each other, and what they gain spares fans and chillers.
    """
    if plant.loop is None:
        return np.zeros(len(load_kw) - 1, dtype=bool)
    rack, facility = (pump.flow_floor * RATED_KW for pump in (plant.loop.rack_pump, plant.loop.facility_pump))
    return ((load_kw[1:] > facility) & (load_kw[:-1] < rack))[:, 0]


def padded(plant):
    """Whether pads are wetted above some air temperature."""
    return plant.kind == "dry_cooler" and plant.loop.pad.effectiveness > 0.0


def same_air(plant, dry_c):
    """Return which steps of air temperature do not wet the pads, if the plant has any."""
    wetted = padded(plant) & (dry_c > (plant.loop.pad.from_c if padded(plant) else np.inf))
    return wetted[1:] == wetted[:-1]


def chooses(plant):
    """Whether the setpoint is the cheapest of cooling and leakage at one load, so that cooling alone may fall."""
    return plant.loop is not None and plant.loop.setpoint_rule == "chosen"


def follows_the_air(plant):
    """Whether towers without chillers hold a setpoint that warms with the air, in which a tower is the better."""
    return plant.kind == "tower_chiller" and not plant.loop.has_chiller


@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_random_plants_take_more_with_more_load_and_in_warmer_air(seed):
    load_kw, dry_c = np.linspace(0.0, 1.1, 12)[:, None] * RATED_KW, np.linspace(-40.0, 55.0, 20)
    by_load = by_air = fallen = 0
    for plant in random_plants(seed, 200):
        cooling_kw = cooling(plant, load_kw, dry_c, dry_c - 6.0).cooling_kw
        may_fall = falling_loads(plant, load_kw)
        by_load += not may_fall.any()
        assert np.diff(cooling_kw, axis=0)[~may_fall].min() >= -NOISE_KW, plant
        fall_kw = (np.maximum.accumulate(cooling_kw, axis=0) - cooling_kw).max()
        assert fall_kw <= LOAD_FALL_SHARE * RATED_KW, plant
        fallen += fall_kw > NOISE_KW
        if not chooses(plant) and not follows_the_air(plant):
            by_air += 1
            assert np.diff(cooling_kw, axis=1)[:, same_air(plant, dry_c)].min() >= -NOISE_KW, plant
        if not padded(plant):
            assert (np.diff(w_max_kw(plant, dry_c, dry_c - 6.0)) <= NOISE_KW).all(), plant
    assert fallen <= 10  # the exception is rare
    assert by_load > 120  # of two hundred: most plants are held to both
    assert by_air > 180


def test_wetting_a_pad_spares_at_most_the_fans_and_chillers_before_it():
    spared = 0
    for plant in random_plants(11, 200):
        if not padded(plant) or chooses(plant):
            continue
        from_c = plant.loop.pad.from_c
        dry_c = np.array([from_c, np.nextafter(from_c, np.inf)])
        state = cooling(plant, LOADS_KW, dry_c, np.full(2, from_c - 6.0))
        fall_kw = state.cooling_kw[:, 0] - state.cooling_kw[:, 1]
        before_kw = state.fan_kw[:, 0] - state.room_fan_kw[:, 0] + state.compressor_kw[:, 0]
        assert (fall_kw <= before_kw + NOISE_KW).all(), plant
        spared += bool((fall_kw > NOISE_KW).any())
    assert spared > 5
    ready = warm_water_with_pad(RATED_KW)
    for depression_k, most_share in ((6.0, 0.007), (15.0, 0.0105)):
        wet_c = np.full(2, ready.loop.pad.from_c - depression_k)
        dry_c = np.array([ready.loop.pad.from_c, np.nextafter(ready.loop.pad.from_c, np.inf)])
        ready_kw = cooling(ready, LOADS_KW, dry_c, wet_c).cooling_kw
        assert 0.0 < (ready_kw[:, 0] - ready_kw[:, 1]).max() <= most_share * RATED_KW


def test_a_chosen_setpoint_takes_more_of_cooling_and_leakage_together_at_its_load():
    """What cooling alone takes falls where the setpoint steps up: by no more than the chips then leak."""
    fallen = 0
    for leakage in np.linspace(0.05, 2.0, 20):
        for plant in (
            dry_cooler(RATED_KW, setpoint_rule="chosen", chip_leakage_pct_per_k=leakage, chiller_capacity_share=0.5),
            tower_chiller(RATED_KW, setpoint_rule="chosen", chip_leakage_pct_per_k=leakage),
        ):
            state = cooling(plant, CHOICE_LOAD * RATED_KW, AIR_C, AIR_C - 6.0)
            assert np.diff(state.cooling_kw + state.leakage_kw).min() >= -NOISE_KW, plant
            fallen += bool(np.diff(state.cooling_kw).min() < -NOISE_KW)
    assert fallen > 0


def test_towers_whose_setpoint_follows_the_air_spare_at_most_a_third_of_their_fans():
    fallen, air_c = 0, np.linspace(-40.0, 55.0, 191)
    for plant in random_plants(12, 240, chiller_capacity_share=0.0, setpoint_rule="held"):
        if plant.kind != "tower_chiller":
            continue
        cooling_kw = cooling(plant, LOADS_KW, air_c, air_c - 6.0).cooling_kw
        fall_kw = (np.maximum.accumulate(cooling_kw, axis=1) - cooling_kw).max()
        full_fans_kw = plant.loop.full_fan_share * plant.liquid_heat_share * RATED_KW
        assert fall_kw <= full_fans_kw / 3.0 + NOISE_KW, plant
        fallen += fall_kw > NOISE_KW
    assert fallen > 5


@pytest.mark.parametrize("make", [dry_cooler, tower_chiller])
def test_unlike_flow_floors_spare_a_usual_plant_nothing(make):
    """The facility loop follows the load from half flow on, the rack loop keeps 90 %: power rises all the same."""
    plant = make(RATED_KW, rack_pump_flow_floor=0.9, facility_pump_flow_floor=0.5)
    load_kw = np.linspace(0.0, 1.1, 111)[:, None] * RATED_KW
    assert falling_loads(plant, load_kw).sum() == 40  # steps of 1 % from 0.50 to 0.90
    assert np.diff(cooling(plant, load_kw, AIR_C, AIR_C - 6.0).cooling_kw, axis=0).min() >= -NOISE_KW


@settings(max_examples=40, deadline=None)
@given(plants())
def test_w_max_is_the_last_safe_load(plant):
    w_max = w_max_kw(plant, AIR_C, AIR_C - 6.0)
    assert ((w_max >= 0.0) & (w_max <= RATED_KW)).all()
    at = cooling(plant, w_max, AIR_C, AIR_C - 6.0)
    above = cooling(plant, w_max + 1e-3, AIR_C, AIR_C - 6.0)
    some, derated = w_max > 0.0, w_max < RATED_KW
    air_limit_c = plant.room.air_supply_limit_c
    assert (at.supply_temp_c[some] <= plant.supply_limit_c + 1e-6).all()
    assert (at.air_supply_temp_c[some] <= air_limit_c + 1e-6).all()
    broken = (above.supply_temp_c > plant.supply_limit_c) | (above.air_supply_temp_c > air_limit_c)
    if plant.loop is not None:
        limit_c = plant.loop.cold_plate.case_limit_c
        assert (at.case_temp_c[some] <= limit_c + 1e-6).all()
        broken |= above.case_temp_c - above.supply_temp_c + plant.supply_limit_c > limit_c
        by_liquid = some & derated & (above.supply_temp_c > plant.supply_limit_c)
        if plant.loop.sequence == "site":
            assert (at.fan_speed[by_liquid] > 1.0 - 1e-6).all()
    assert broken[derated].all()


@settings(max_examples=25, deadline=None)
@given(plants())
def test_one_unit_out_never_carries_more(plant):
    assert (w_max_n1_kw(plant, AIR_C, AIR_C - 6.0) <= w_max_kw(plant, AIR_C, AIR_C - 6.0) + NOISE_KW).all()


@settings(max_examples=25, deadline=None)
@given(plants(), st.integers(1, 8), st.lists(st.floats(0.0, 1.0), min_size=4, max_size=12))
def test_segments_over_estimate_within_their_error(plant, segments, shares):
    fit = fit_envelope(plant, FEW_C, FEW_C - 6.0, segments)
    assert fit.slope.shape == (FEW_C.size, segments)
    assert np.isfinite(fit.slope).all()
    assert np.isfinite(fit.intercept_kw).all()
    assert (np.diff(fit.slope, axis=1) >= -1e-6).all()
    for share in shares:
        it_kw = share * fit.w_max_kw
        excess = fit.cooling_kw(it_kw) - cooling(plant, it_kw, FEW_C, FEW_C - 6.0).cooling_kw
        assert excess.min() >= -NOISE_KW
        assert (excess <= fit.fit_error_kw + NOISE_KW).all()
    assert (fit.hull_gap_kw <= fit.fit_error_kw + NOISE_KW).all()


@settings(max_examples=25, deadline=None)
@given(plants())
def test_what_is_certified_convex_is_convex_on_a_grid_of_its_own(plant):
    fit = fit_envelope(plant, FEW_C, FEW_C - 6.0)
    share = np.linspace(0.0, 1.0, 173)[:, None]
    curve = cooling(plant, share * fit.w_max_kw, FEW_C, FEW_C - 6.0).cooling_kw
    # the chord from every load to every other, at all loads between
    for first in range(0, 172, 8):
        for last in range(first + 8, 173, 8):
            part = share[first : last + 1] - share[first]
            chord = curve[first] + part / part[-1] * (curve[last] - curve[first])
            above = (curve[first : last + 1] - chord).max(axis=0)
            assert (above[fit.convex] <= CONVEX_SHARE * RATED_KW * 1.02 + NOISE_KW).all()


@pytest.mark.parametrize("seed", [21, 22])
def test_the_certificate_of_two_hundred_random_plants_holds_between_any_loads(seed):
    """Every chord between two of 23 loads against the curve at 177: what is certified lies nowhere far above one."""
    share = np.linspace(0.0, 1.0, 177)
    ends = share[::8]
    # where each load stands between each two ends; outside of them the chord says nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (share[:, None, None] - ends[:, None]) / (ends - ends[:, None])
    between = (along >= 0.0) & (along <= 1.0) & (ends > ends[:, None])
    along = np.where(between, along, 0.0)
    certified = refused = 0
    for plant in random_plants(seed, 100):
        fit = fit_envelope(plant, CERTIFIED_C, CERTIFIED_C - 6.0)
        curve = cooling(plant, share[:, None] * fit.w_max_kw, CERTIFIED_C, CERTIFIED_C - 6.0).cooling_kw
        at = curve[::8]
        for hour, convex in enumerate(fit.convex):
            chord = (1.0 - along) * at[:, None, hour] + along * at[:, hour]
            above_kw = np.where(between, curve[:, None, None, hour] - chord, -np.inf).max()
            if convex:
                certified += 1
                assert above_kw <= CONVEX_SHARE * RATED_KW * 1.02 + NOISE_KW, plant
            else:
                refused += above_kw > CONVEX_SHARE * RATED_KW
    assert certified > 300  # of 600 hours
    assert refused > 10  # what is refused is bent, so that a certificate says something


@settings(max_examples=20, deadline=None)
@given(plants(sequence="site", chiller_capacity_share=0.6), st.lists(st.floats(0.0, 1.0), min_size=4, max_size=8))
def test_branches_over_estimate_within_their_error(plant, shares):
    cut, w_max = fit_branches(plant, FEW_C, FEW_C - 6.0), w_max_kw(plant, FEW_C, FEW_C - 6.0)
    assert ((cut.split_kw >= 0.0) & (cut.split_kw <= w_max)).all()
    for share in shares:
        it_kw = share * w_max
        off = (cut.off_slope * it_kw[:, None] + cut.off_intercept_kw).max(axis=1)
        on = (cut.on_slope * it_kw[:, None] + cut.on_intercept_kw).max(axis=1)
        excess = np.where(it_kw > cut.split_kw, on, off) - cooling(plant, it_kw, FEW_C, FEW_C - 6.0).cooling_kw
        assert excess.min() >= -NOISE_KW
        assert (excess <= cut.fit_error_kw + NOISE_KW).all()


@settings(max_examples=25, deadline=None)
@given(plants(chip_leakage_pct_per_k=0.3))
def test_a_setpoint_lies_within_its_span(plant):
    asked_c = setpoint_c(plant, FEW_C, FEW_C - 6.0)
    least_c = plant.supply_setpoint_c
    if plant.loop is not None and plant.loop.setpoint_rule == "chosen":
        least_c = min(least_c, plant.loop.supply_least_c)
    assert ((asked_c >= least_c) & (asked_c <= plant.supply_limit_c)).all()
