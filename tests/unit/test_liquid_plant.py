"""Whole liquid plants: sequences, setpoints, units out, heat reuse, and values told with their sources."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from tests.plants import warm_water_with_pad
from thermal.catalogue import catalogue, describe
from thermal.description import KINDS, Provenance
from thermal.facts import GRADES
from thermal.plant import (
    cooling,
    dry_cooler,
    outages,
    room_air,
    setpoint_c,
    tower_chiller,
    w_max_kw,
    w_max_n1_kw,
)
from thermal.setpoint import CHOICE_LOAD
from thermal.units_out import ALL

RATED_KW = 20_000.0
TRIM = {"chiller_capacity_share": 0.6, "supply_limit_c": 40.0}


def test_case_temperature_by_hand():
    # module of 1 kW, 60,000 / (4007.98 x 10) = 1.49701 L/min at design; 40 + 17.7 + 6.5 x 1.49701^-1.26
    state = cooling(warm_water_with_pad(RATED_KW), RATED_KW, 20.0, 12.0)
    assert float(state.case_temp_c) == pytest.approx(40.0 + 17.7 + 6.5 * 1.49701**-1.26, abs=1e-4)
    assert float(state.rack_return_temp_c) == pytest.approx(40.0 + 10.0 * (1.0 + 0.0095962), abs=1e-3)


def test_the_three_ready_plants():
    weather = (np.array([-10.0, 15.0, 30.0]), np.array([-11.0, 10.0, 21.0]))
    for plant, low, high in (
        (warm_water_with_pad(RATED_KW), 1.02, 1.06),
        (tower_chiller(RATED_KW), 1.02, 1.09),
        (room_air(12.0), 1.05, 1.35),
    ):
        state = cooling(plant, plant.rated_it_kw, *weather)
        pue = 1.0 + state.cooling_kw / plant.rated_it_kw
        assert ((pue > low) & (pue < high)).all(), (plant.kind, pue)
        assert (w_max_kw(plant, *weather) == plant.rated_it_kw).all()
    assert float(cooling(warm_water_with_pad(RATED_KW), RATED_KW, 40.0, 24.0).supply_temp_c) == pytest.approx(40.0)


def test_trim_chillers_take_over_where_full_fans_end():
    plant = dry_cooler(RATED_KW, **TRIM)
    cool, warm = (cooling(plant, RATED_KW, t, t - 8.0) for t in (29.9, 33.0))
    assert float(cool.chiller_kw) == 0.0
    assert 0.9 < float(cool.fan_speed) < 1.0
    assert float(warm.fan_speed) == 1.0
    assert float(warm.supply_temp_c) == 40.0
    # 6 K of approach becomes 3: half the heat; evaporating 33 C, condensing 45 C, kept at a lift of 15 K
    assert float(warm.chiller_heat_kw) / (RATED_KW * 0.945) == pytest.approx(0.19, abs=0.06)
    cop = 0.55 * (36.0 - 3.0 + 273.15) / 15.0
    part = float(warm.chiller_heat_kw) / (0.6 * RATED_KW * 0.945)
    power = 0.6 * RATED_KW * 0.945 / cop * (0.033 + 0.685 * part + 0.282 * part**2)
    one_on = 0.3 * RATED_KW * 0.945 / cop * (0.033 + 0.685 * 2 * part + 0.282 * (2 * part) ** 2)
    assert float(warm.chiller_kw) == pytest.approx(min(power, one_on) if part <= 0.5 else power, rel=1e-6)


@pytest.mark.parametrize("make", [dry_cooler, tower_chiller])
def test_the_best_sequence_is_never_dearer_and_somewhere_cheaper(make):
    loads, dry = np.linspace(0.0, RATED_KW, 40)[:, None], np.linspace(-10.0, 44.0, 28)
    site, best = (
        cooling(make(RATED_KW, sequence=s, chiller_capacity_share=0.6), loads, dry, dry - 7.0)
        for s in ("site", "optimal")
    )
    assert (best.cooling_kw <= site.cooling_kw + 1e-6).all()
    assert (best.cooling_kw < site.cooling_kw - 10.0).any()
    np.testing.assert_allclose(best.supply_temp_c, site.supply_temp_c, atol=1e-6)


def test_the_best_split_is_no_worse_than_any_on_a_fine_grid():
    from thermal.coil import coil
    from thermal.components import chiller
    from thermal.sequence import fan_share, least_power

    plant = dry_cooler(RATED_KW, sequence="optimal", chiller_capacity_share=0.6, chiller_count=3)
    loop = plant.loop
    for inlet_c, sink_c, heat in ((47.0, 31.0, 1.03), (46.0, 35.0, 0.8), (46.0, 30.0, 0.6)):
        free = coil(loop, np.array([1.0]), np.array([inlet_c]), np.array([sink_c]), 1.0)
        cop = np.array([6.0])
        got = least_power(free, np.array([heat]), cop, 1.0)
        assert got.cooled + free.carried(got.air_flow) >= heat - 1e-9
        air = np.linspace(0.1, 1.0, 20_001)
        rest = np.maximum(heat - free.carried(air), 0.0)
        tried = fan_share(loop, air, 1.0) + np.where(rest <= 0.6, 0.0, np.inf)
        compressor = chiller.power(loop.chiller, np.minimum(rest, 0.6), cop)
        tried = tried + compressor + 0.015 * (rest + compressor)
        total = got.fan + got.compressor + got.condenser_fan
        assert tried.min() * (1.0 - 1e-3) < float(total[0]) <= tried.min() * (1.0 + 1e-9)


def test_a_plan_fitted_to_the_wrong_sequence_is_off():
    dry = np.linspace(30.0, 42.0, 40)
    site, best = (
        cooling(dry_cooler(RATED_KW, sequence=s, chiller_capacity_share=0.6), 14_000.0, dry, dry - 10.0)
        for s in ("site", "optimal")
    )
    assert 0.01 < 1.0 - best.cooling_kw.sum() / site.cooling_kw.sum() < 0.2


def test_a_chosen_setpoint_follows_the_leakage():
    base = {"setpoint_rule": "chosen", "supply_least_c": 25.0, "chiller_capacity_share": 0.6}
    dry, wet = np.array([-5.0, 10.0, 25.0, 35.0]), np.array([-6.0, 7.0, 18.0, 24.0])
    leaky, tight = (dry_cooler(RATED_KW, chip_leakage_pct_per_k=pct, **base) for pct in (0.6, 0.001))
    assert (setpoint_c(leaky, dry, wet) <= setpoint_c(tight, dry, wet)).all()
    assert setpoint_c(leaky, dry, wet)[0] == 25.0
    assert (setpoint_c(tight, dry, wet)[-2:] == 45.0).all()


def test_the_chosen_setpoint_has_the_least_facility_power():
    plant = dry_cooler(
        RATED_KW, setpoint_rule="chosen", chip_leakage_pct_per_k=0.3, chiller_capacity_share=0.6, supply_least_c=25.0
    )
    for dry_c in (-5.0, 12.0, 24.0, 36.0):
        tried_c = np.arange(25.0, 46.0)
        state = cooling(plant, CHOICE_LOAD * RATED_KW, dry_c, dry_c - 7.0, supply_c=tried_c)
        facility_kw = state.cooling_kw + state.leakage_kw
        chosen_c = float(setpoint_c(plant, dry_c, dry_c - 7.0))
        assert facility_kw[tried_c == chosen_c] == pytest.approx(
            [facility_kw[state.supply_temp_c <= tried_c + 1e-6].min()]
        )


def test_leakage_by_hand():
    plant = dry_cooler(RATED_KW, chip_leakage_pct_per_k=0.3)
    state = cooling(plant, RATED_KW, 10.0, 5.0, supply_c=[36.0, 40.0, 44.0])
    assert state.leakage_kw == pytest.approx([-240.0, 0.0, 240.0])


def test_units_out_of_each_kind():
    plant = tower_chiller(RATED_KW, cdu_count=4)
    found = outages(plant)
    assert found == {
        "room": ALL._replace(room=0.875),
        "rejection": ALL._replace(rejection=0.875),
        "cdu": ALL._replace(cdu=0.75),
        "chiller": ALL._replace(chiller=0.5),
    }
    assert list(outages(room_air(12.0))) == ["room"]
    assert list(outages(dry_cooler(12.0, liquid_heat_share=1.0))) == ["rejection", "cdu"]


def test_the_worst_single_unit_counts():
    plant = tower_chiller(RATED_KW)
    dry, wet = np.array([20.0, 35.0]), np.array([15.0, 27.0])
    each = [w_max_kw(plant, dry, wet, running=running) for running in outages(plant).values()]
    assert w_max_n1_kw(plant, dry, wet) == pytest.approx(np.min(each, axis=0))
    alone = dry_cooler(RATED_KW, cooler_count=1)
    assert w_max_n1_kw(alone, dry, wet).tolist() == [0.0, 0.0]


def test_one_of_eight_coolers_out_derates_a_hot_hour():
    plant = dry_cooler(RATED_KW, dx_count=100)
    dry, wet = np.array([20.0, 35.0, 38.0]), np.array([14.0, 20.0, 22.0])
    full, fewer = w_max_kw(plant, dry, wet), w_max_kw(plant, dry, wet, running=ALL._replace(rejection=0.875))
    assert fewer[0] == full[0] == RATED_KW
    assert (0.8 * full[1:] < fewer[1:]).all()
    assert (fewer[1:] < full[1:]).all()


def test_heat_taken_for_reuse_relieves_the_fans():
    plant = dry_cooler(RATED_KW)
    none, some, all_ = (cooling(plant, 15_000.0, 25.0, 18.0, heat_taken_kw=q) for q in (0.0, 5_000.0, 1e9))
    assert some.fan_kw < none.fan_kw
    assert float(some.heat_taken_kw) == pytest.approx(5_000.0)
    assert float(some.heat_rejected_kw) == pytest.approx(float(none.heat_rejected_kw) - 5_000.0)
    # more than there is counts as all there is: racks and pumps
    assert float(all_.heat_taken_kw) == pytest.approx(15_000.0 * 0.945 + float(all_.pump_kw))
    assert float(all_.supply_temp_c) == 40.0


def test_the_case_limit_is_what_derates_where_cdus_and_their_pumps_are_out():
    plant, half = dry_cooler(RATED_KW, cold_plate_case_limit_c=67.0), ALL._replace(cdu=0.5)
    assert w_max_kw(plant, 10.0, 5.0) == RATED_KW
    w_max = w_max_kw(plant, 10.0, 5.0, running=half)
    assert w_max < RATED_KW
    closed = cooling(plant, w_max, 10.0, 5.0, supply_c=45.0, running=half)
    assert float(closed.case_temp_c) == pytest.approx(67.0, abs=1e-6)


@pytest.mark.parametrize("make", [dry_cooler, tower_chiller, warm_water_with_pad])
def test_chip_cases_of_ready_plants_keep_their_limit_at_that_of_the_liquid(make):
    plant = make(RATED_KW)
    hottest = cooling(plant, RATED_KW, 20.0, 15.0, supply_c=plant.supply_limit_c)
    assert float(hottest.case_temp_c) == pytest.approx(plant.supply_limit_c + plant.loop.design_plate_k)
    assert plant.supply_limit_c + plant.loop.design_plate_k < plant.loop.cold_plate.case_limit_c


def test_a_liquid_limit_at_which_chip_cases_break_theirs_is_refused_with_one_that_holds():
    # a module of 1 kW at 1.49701 L/min: 17.7 + 6.5 x 1.49701^-1.26 = 21.61 K
    with pytest.raises(ValueError, match="lower supply_limit_c to") as told:
        dry_cooler(RATED_KW, cold_plate_case_limit_c=62.0)
    assert str(told.value) == (
        "supply_limit_c is 45 C, and at rated IT power the cold plates add 21.6 K: chip cases of 66.6 C, above "
        "cold_plate_case_limit_c of 62 C; lower supply_limit_c to 40.3 C, or loop_rise_k for more flow"
    )
    for mend in ({"supply_limit_c": 40.3}, {"supply_limit_c": 42.0, "loop_rise_k": 6.0, "facility_rise_k": 6.0}):
        assert w_max_kw(dry_cooler(RATED_KW, cold_plate_case_limit_c=62.0, **mend), 10.0, 5.0) == RATED_KW


def test_every_value_is_told_with_unit_grade_and_source():
    told = Provenance("cdu_approach_k", "measured", "commissioning, spring")
    plant = dry_cooler(RATED_KW, cdu_approach_k=3.1, pad_effectiveness=0.7, provenance=[told])
    values = {v.name: v for v in describe(plant)}
    assert set(values) == {s.name for s in catalogue("dry_cooler")}
    assert all(v.grade in GRADES and v.source for v in values.values())
    approach, pad, share = values["cdu_approach_k"], values["pad_effectiveness"], values["liquid_heat_share"]
    assert (approach.value, approach.unit, approach.grade, approach.source) == (3.1, "K", "measured", told.source)
    assert (pad.value, pad.grade) == (0.7, "assumed")
    assert (share.grade, share.source) == ("datasheet", "Frontier (RAPS configuration)")
    with pytest.raises(ValueError, match="the grade of cdu_approach_k is 'guess'; it is one of measured, datasheet"):
        replace(plant, provenance=(Provenance("cdu_approach_k", "guess", "x"),))


def test_names_of_settings_are_unique_and_defaults_within_their_spans():
    for kind in KINDS:
        settings = catalogue(kind)
        assert len({s.name for s in settings}) == len(settings)
        for s in settings:
            if s.fact.choices:
                assert s.default in s.fact.choices
            else:
                assert s.fact.lowest <= s.default <= s.fact.highest, s.name


def test_a_plant_is_plain_data():
    for plant in (dry_cooler(1.0), tower_chiller(1.0), room_air(1.0)):
        assert json.loads(json.dumps(asdict(plant)))["kind"] == plant.kind
        assert hash(plant) == hash(replace(plant))


def test_frost_of_the_outdoor_loop():
    assert dry_cooler(1.0).loop.frost_c == pytest.approx(-9.79)
    assert tower_chiller(1.0).loop.frost_c == 0.0
