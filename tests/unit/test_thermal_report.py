"""The facts of the thermal report, by hand-worked figures and against the plant itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.plants import warm_water_with_pad
from thermal.alarms import Level, alarms
from thermal.derating import derates, limit_reached, one_out
from thermal.hours import CHILLER, COMPRESSOR, FREE, OFF, PAD, cooling_hours
from thermal.kpi import kpis
from thermal.margins import margins
from thermal.plant import cooling, dry_cooler, room_air, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.reach import reaches
from thermal.report import cooling_report
from thermal.reserve import Reserve

RATED_KW = 1_000.0
HOT = dry_cooler(RATED_KW)
DRY_C = np.array([-15.0, 10.0, 28.0, 36.0, 41.0, 41.0, 20.0])
WET_C = DRY_C - 8.0
ALL_ON = np.ones(7, dtype=bool)


def report(plant, it_kw=None, powered=ALL_ON, dry_c=DRY_C, **changes):
    it_kw = np.full(len(dry_c), plant.rated_it_kw) if it_kw is None else it_kw
    given = {"slot_h": 0.5, "now": 0, "carbon_kg": None, "ci_gco2_per_kwh": np.full(len(dry_c), 200.0)} | changes
    return cooling_report(plant, it_kw, dry_c, dry_c - 8.0, powered=powered, **given)


def alarm(found, name):
    return next(a for a in found.alarms if a.name == name)


def test_kpis_by_hand():
    found = {k.name: k.value for k in kpis(1_000.0, 100.0, 550.0, 220.0, 440.0, "made up")}
    assert found == {"PUE": 1.1, "WUE": 0.55, "ERF": 0.2, "CUE": 0.44, "ERE": 0.88}


def test_no_it_energy_gives_no_key_figure_but_the_reuse_of_what_there_is():
    found = {k.name: k.value for k in kpis(0.0, 100.0, 0.0, 0.0, 0.0, "made up")}
    assert found == {"PUE": None, "WUE": None, "ERF": 0.0, "CUE": None}


@pytest.mark.parametrize(
    ("plant", "cause"),
    [
        (HOT, "liquid supply"),
        (room_air(RATED_KW, dx_capacity_share=0.8), "room air"),
        (dry_cooler(RATED_KW, dx_capacity_share=0.5, economiser=False, cooler_approach_k=4.0), "room air"),
    ],
)
def test_the_cause_of_a_derate_is_the_limit_that_is_reached_first(plant, cause):
    dry_c, wet_c = np.array([36.0]), np.array([28.0])
    carried = w_max_kw(plant, dry_c, wet_c)
    assert carried[0] < RATED_KW
    assert limit_reached(plant, carried, dry_c, wet_c).tolist() == [cause]


def test_where_rated_power_is_carried_there_is_no_cause():
    assert limit_reached(HOT, np.array([RATED_KW]), np.array([20.0]), np.array([12.0])).tolist() == [""]


def test_spells_of_like_cause_are_joined_and_keep_their_worst():
    cause = np.array(["", "a", "a", "b", "", "a", "a"])
    carried = np.array([9.0, 7.0, 6.0, 5.0, 9.0, 4.0, 8.0])
    found = derates(cause, carried, np.arange(7.0), -np.arange(7.0))
    assert [(d.first, d.after, d.cause, d.least_kw) for d in found] == [
        (1, 3, "a", 6.0),
        (3, 4, "b", 5.0),
        (5, 7, "a", 4.0),
    ]
    assert (found[0].hottest_dry_bulb_c, found[0].hottest_wet_bulb_c) == (2.0, -1.0)


def test_one_out_is_the_plants_own_figure_and_names_the_unit():
    plant = tower_chiller(RATED_KW)
    dry_c, wet_c = np.array([20.0, 36.0]), np.array([12.0, 31.0])
    found = one_out(plant, dry_c, wet_c)
    assert found.w_max_kw == pytest.approx(w_max_n1_kw(plant, dry_c, wet_c))
    assert found.unit[1] == "chiller"


@pytest.mark.parametrize(
    ("plant", "dry_c", "mode"),
    [
        (HOT, 30.0, FREE),
        (warm_water_with_pad(RATED_KW), 30.0, PAD),
        (warm_water_with_pad(RATED_KW), 20.0, FREE),
        (tower_chiller(RATED_KW), 10.0, FREE),
        (tower_chiller(RATED_KW), 35.0, CHILLER),
        (room_air(RATED_KW), 30.0, COMPRESSOR),
        (room_air(RATED_KW), -10.0, FREE),
    ],
)
def test_modes(plant, dry_c, mode):
    given = np.array([dry_c])
    hours = cooling_hours(plant, np.array([RATED_KW]), given, given - 6.0, np.array([True]))
    assert hours.mode.tolist() == [mode]


def test_an_unpowered_plant_takes_and_carries_nothing():
    powered = np.array([True, False])
    dry_c = np.array([20.0, 20.0])
    hours = cooling_hours(HOT, np.array([500.0, 500.0]), dry_c, dry_c - 6.0, powered)
    assert hours.mode.tolist() == [FREE, OFF]
    for name in ("it_kw", "cooling_kw", "w_max_kw", "w_max_n1_kw", "water_l_per_h", "residual_kw"):
        assert getattr(hours, name)[1] == 0.0, name
    for name in ("supply_temp_c", "case_temp_c", "flow_l_per_min", "cdu_load_share"):
        assert np.isnan(getattr(hours, name)[1]), name
    off = report(HOT, powered=~ALL_ON)
    assert off.margins == ()
    assert off.totals["w_max_least_kw"].value is None
    assert {a.level for a in off.alarms} == {Level.GREEN}


def test_loop_figures_by_hand():
    """945 kW at a rise of 10 K: 94.5 kW/K over the volume heat. At the floor of 0.9 the head is 0.2 + 0.8 x 0.81."""
    hours = cooling_hours(HOT, np.array([1_000.0, 100.0]), np.full(2, 25.0), np.full(2, 17.0), np.ones(2, bool))
    volume_kj = HOT.loop.rack_volume_kj_per_m3_k
    assert hours.flow_l_per_min[0] == pytest.approx(945.0 / 10.0 / volume_kj * 60_000.0)
    assert hours.flow_l_per_min[1] == pytest.approx(0.9 * hours.flow_l_per_min[0])
    assert hours.head_kpa == pytest.approx([250.0, 250.0 * (0.2 + 0.8 * 0.81)])
    assert hours.cdu_load_share[0] == pytest.approx(1.0)
    assert hours.cdu_load_share[1] == pytest.approx(0.1, abs=0.01)


def test_totals_are_sums_over_slots():
    found = report(warm_water_with_pad(RATED_KW), slot_h=0.5)
    state = cooling(warm_water_with_pad(RATED_KW), np.full(7, RATED_KW), DRY_C, WET_C)
    assert found.totals["it_kwh"].value == pytest.approx(3_500.0)
    assert found.totals["cooling_kwh"].value == pytest.approx(0.5 * state.cooling_kw.sum())
    assert found.totals["water_l"].value == pytest.approx(0.5 * state.water_l_per_h.sum())
    parts = sum(found.totals[name].value for name in ("fan_kwh", "pump_kwh", "compressor_kwh"))
    assert parts == pytest.approx(found.totals["cooling_kwh"].value)
    by_name = {k.name: k.value for k in found.kpis}
    assert by_name["CUE"] == pytest.approx(0.2 * by_name["PUE"])
    assert sum(q.value for q in found.mode_hours.values()) == pytest.approx(3.5)
    assert found.totals["energy_balance_residual_kw"].value < 1e-6 * RATED_KW


def test_the_calendars_own_import_is_what_is_counted_as_carbon():
    found = report(HOT, carbon_kg=np.full(7, 10.0))
    cue = next(k for k in found.kpis if k.name == "CUE")
    assert cue.value == pytest.approx(70.0 / 3_500.0)
    assert "import" in cue.boundary


def test_hours_are_counted_against_the_limits():
    found = report(HOT)
    carried = w_max_kw(HOT, DRY_C, WET_C)
    n1 = w_max_n1_kw(HOT, DRY_C, WET_C)
    assert found.totals["derate_h"].value == pytest.approx(0.5 * (carried < RATED_KW).sum())
    assert found.totals["over_capacity_h"].value == pytest.approx(0.5 * (carried < RATED_KW).sum())
    assert found.totals["without_reserve_h"].value == pytest.approx(0.5 * (n1 < RATED_KW).sum())
    assert found.totals["w_max_least_kw"].value == pytest.approx(carried.min())
    within = report(HOT, it_kw=np.minimum(carried, RATED_KW))
    assert within.totals["over_capacity_h"].value == 0.0


def test_the_tightest_hour_has_the_least_reserve_and_of_like_ones_is_the_hottest():
    assert report(HOT).tightest == 4
    assert report(HOT, it_kw=np.full(7, 1.0), dry_c=np.array([5.0, 9.0, 8.0, 9.0, 1.0, 2.0, 3.0])).tightest == 1


def test_the_highest_load_may_be_another_hour_than_the_tightest():
    """800 kW in mild air load the CDUs most; 600 kW at 36 C leave the least with one cooler out."""
    dry_c = np.array([20.0, 15.0, 36.0, 18.0, 10.0, 10.0, 20.0])
    found = report(HOT, it_kw=np.array([800.0, 800.0, 600.0, 100.0, 100.0, 100.0, 300.0]), dry_c=dry_c, now=3)
    assert (found.now, found.peak, found.tightest) == (3, 0, 2)  # of two like loads the hotter hour
    rows = {s.name: s for s in found.spans}
    hours, share = found.hours, rows["cdu_load_share"]
    moments = (share.now.value, share.peak.value, share.tightest.value)
    assert moments == pytest.approx(tuple(hours.cdu_load_share[[3, 0, 2]]))
    assert share.peak.value == share.highest.value > share.tightest.value
    one_out = rows["cdu_load_one_out_share"]
    assert one_out.peak.value == pytest.approx(share.peak.value * HOT.loop.cdu.count / (HOT.loop.cdu.count - 1))


def test_margins_are_limits_less_the_highest():
    hours = cooling_hours(HOT, np.full(7, RATED_KW), DRY_C, WET_C, ALL_ON)
    found = {m.name: m for m in margins(HOT, hours)}
    assert set(found) == {"chip case", "liquid supply", "room air"}
    assert found["liquid supply"].margin_k == pytest.approx(45.0 - hours.supply_temp_c.max())
    assert found["liquid supply"].slot == 4
    assert found["chip case"].limit_c == 75.0
    only_liquid = replace(HOT, loop=replace(HOT.loop, liquid_heat_share=1.0))
    hours = cooling_hours(only_liquid, np.full(7, RATED_KW), DRY_C, WET_C, ALL_ON)
    assert "room air" not in {m.name for m in margins(only_liquid, hours)}


def test_reaches_speak_of_the_case_limit_and_of_throttling():
    hours = cooling_hours(HOT, np.full(7, RATED_KW), DRY_C, WET_C, ALL_ON)
    assert [r.limit_c for r in reaches(HOT, hours, DRY_C, WET_C)] == [75.0, 85.0] * 3
    warm = dry_cooler(RATED_KW, cold_plate_case_limit_c=90.0)
    assert [r.limit_c for r in reaches(warm, hours, DRY_C, WET_C)] == [90.0] * 3
    assert reaches(room_air(RATED_KW), hours, DRY_C, WET_C) == ()


def test_a_hot_week_at_full_load_is_red_with_an_action_and_an_owner():
    found = report(HOT)
    assert found.alarms[0].level is Level.RED
    capacity = alarm(found, "Capacity")
    assert (capacity.level, capacity.owner, capacity.slot, capacity.hours_h) == (Level.RED, "planning", 3, 1.5)
    assert f"{w_max_kw(HOT, DRY_C, WET_C).min():,.0f} kW" in capacity.action
    assert alarm(found, "Temperature: liquid supply").level is Level.RED
    assert alarm(found, "Derating").level is Level.AMBER
    assert "dry cooler" in alarm(found, "Reserve (N+1)").action
    assert all(bool(a.action) == (a.level is not Level.GREEN) for a in found.alarms)


def test_a_load_within_what_is_carried_passes_no_limit():
    found = report(HOT, it_kw=np.full(7, 300.0))
    assert not [a for a in found.alarms if a.level is Level.RED]
    assert alarm(found, "Capacity").level is Level.GREEN


def test_frost_asks_for_a_flow_only_below_the_coolants_freezing():
    assert alarm(report(HOT), "Frost").level is Level.AMBER
    assert alarm(report(HOT, dry_c=DRY_C + 10.0), "Frost").level is Level.GREEN
    assert "towers" in alarm(report(tower_chiller(RATED_KW)), "Frost").action


def test_a_margin_of_less_than_two_kelvin_is_amber():
    for highest_c, level in ((42.9, Level.GREEN), (43.1, Level.AMBER), (45.0, Level.AMBER), (45.1, Level.RED)):
        hours = cooling_hours(HOT, np.full(7, 300.0), DRY_C, WET_C, ALL_ON)
        hours = replace(hours, supply_temp_c=np.full(7, highest_c))
        found = alarms(HOT, hours, margins(HOT, hours), (), DRY_C, 1.0)
        assert next(a for a in found if a.name == "Temperature: liquid supply").level is level


def test_the_sites_own_restart_time_stands_in_the_place_of_the_assumed_one():
    mild = np.full(7, 20.0)
    assert alarm(report(HOT, dry_c=mild), "Heat rejection lost").level is Level.GREEN
    longer = alarm(report(HOT, dry_c=mild, reserve=Reserve(restart_s=3_000.0)), "Heat rejection lost")
    assert longer.level is Level.AMBER
    assert "3000 s, as the site file says" in longer.told


def test_a_single_cdu_is_no_reserve():
    alone = dry_cooler(RATED_KW, cdu_count=1)
    found = report(alone, it_kw=np.full(7, 100.0))
    assert "only one" in alarm(found, "CDU load").told
    assert alarm(found, "Reserve (N+1)").level is Level.AMBER
    row = next(s for s in found.spans if s.name == "cdu_load_one_out_share")
    assert row.highest.value is None


def test_heat_the_model_loses_is_red():
    hours = cooling_hours(HOT, np.full(7, 300.0), DRY_C, WET_C, ALL_ON)
    leaking = replace(hours, residual_kw=np.full(7, 1.0))
    found = alarms(HOT, leaking, (), (), DRY_C, 1.0)
    assert next(a for a in found if a.name.startswith("Energy balance")).level is Level.RED
