"""The measured side of the thermal report, by readings whose trend, balance and distance from the plan are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thermal.alarms import Level
from thermal.calibrate import Telemetry
from thermal.calibrate.prediction import Inputs, predict
from thermal.measured import measured, measured_alarms
from thermal.plant import dry_cooler, room_air
from thermal.units_out import ALL

PLANT = dry_cooler(1_000.0)
DAYS = 28
HOURS = np.arange(24 * DAYS)
TIME = np.datetime64("2024-05-01T00:00:00") + HOURS * np.timedelta64(1, "h")
DRY_C = 18.0 + 8.0 * np.sin(HOURS / 24.0 * 2.0 * np.pi)
# weeks of differing load, so that heat and time are told apart
IT_KW = 600.0 + 200.0 * np.sin(HOURS / 97.0) + 100.0 * np.sin(HOURS / 11.0)
NO_SLOTS = np.array(["2030-01-01T00:00:00"], dtype="datetime64[s]")
SHOWN = frozenset(
    {
        "rack_supply_temp_c", "rack_return_temp_c", "facility_supply_temp_c", "facility_return_temp_c",
        "rack_flow_l_per_min", "facility_flow_l_per_min", "rack_pump_kw", "facility_pump_kw", "fan_kw", "cooling_kw",
    }
)  # fmt: skip


def telemetry(plant=PLANT, **changes):
    """Readings without any error, but for what is changed."""
    given = Inputs(IT_KW, DRY_C, DRY_C - 6.0, np.full(HOURS.shape, np.nan))
    readings = {"it_power_kw": IT_KW, "dry_bulb_c": DRY_C, "wet_bulb_c": DRY_C - 6.0}
    readings |= predict(plant, given, SHOWN, ALL)
    return Telemetry("readings.csv", TIME, readings | changes)


def found_for(readings, plant=PLANT, **planned):
    return measured(plant, readings, TIME[:24] if planned else NO_SLOTS, 1.0, planned)


def trend(found, name):
    return next(t for t in found.trends if t.name == name)


def alarm(found, name):
    return next(a for a in measured_alarms(found) if a.name == name)


def test_a_sound_plant_shows_no_trend_and_balances():
    dice = np.random.default_rng(1)
    clean = telemetry()
    noisy = {name: clean[name] + 0.1 * dice.normal(size=HOURS.size) for name in SHOWN if name.endswith("_temp_c")}
    found = found_for(telemetry(**noisy))
    for name in ("cdu_approach_k", "rack_rise_k", "facility_rise_k"):
        one = trend(found, name)
        assert abs(one.change.value) < 0.1
        assert one.latest.tag == "measured"
    assert trend(found, "rack_rise_k").latest.value == pytest.approx(
        np.mean((clean["rack_return_temp_c"] - clean["rack_supply_temp_c"])[-7 * 24 :]), abs=0.02
    )
    assert {b.loop for b in found.balances} == {"rack loop", "facility loop"}
    assert all(abs(b.residual_pct) < 1.0 for b in found.balances)
    assert {a.level for a in measured_alarms(found)} == {Level.GREEN}


def test_fouling_shows_as_an_approach_that_rises_at_equal_heat():
    """0.03 K a day are 0.9 K in 30 days, whatever the load does meanwhile."""
    dice = np.random.default_rng(2)
    grown = telemetry()["rack_supply_temp_c"] + 0.03 * HOURS / 24.0 + 0.1 * dice.normal(size=HOURS.size)
    found = found_for(telemetry(rack_supply_temp_c=grown))
    one = trend(found, "cdu_approach_k")
    assert one.change.value == pytest.approx(0.9, abs=0.1)
    assert abs(one.change.value - 0.9) <= 2.0 * one.give_or_take.value
    assert one.rises
    told = alarm(found, "Fouling of the CDUs")
    assert (told.level, told.owner) == (Level.AMBER, "facilities")
    assert f"{one.change.value:+.2f} K in 30 days" in told.told
    assert told.action


def test_a_load_that_rises_is_no_fouling():
    """The approach rises with heat: only what it does at equal heat counts."""
    rising = np.linspace(300.0, 900.0, HOURS.size) + 30.0 * np.sin(HOURS / 60.0)
    given = Inputs(rising, DRY_C, DRY_C - 6.0, np.full(HOURS.shape, np.nan))
    readings = {"it_power_kw": rising, "dry_bulb_c": DRY_C} | predict(PLANT, given, SHOWN, ALL)
    approach = readings["rack_supply_temp_c"] - readings["facility_supply_temp_c"]
    assert approach[-24:].mean() - approach[:24].mean() > 2.0
    assert abs(trend(found_for(Telemetry("r", TIME, readings)), "cdu_approach_k").change.value) < 0.1


def test_a_few_days_give_no_trend_but_their_mean():
    short = telemetry().at(TIME[9 * 24] > TIME)
    one = trend(found_for(short), "cdu_approach_k")
    assert one.change.value is None
    assert one.give_or_take.value is None
    assert not one.rises
    assert one.latest.value > 0.0
    assert "Fouling of the CDUs" not in {a.name for a in measured_alarms(found_for(short))}


def test_a_load_that_never_changes_tells_no_slope_apart_from_the_heat():
    flat = replace(telemetry(), readings=telemetry().readings | {"it_power_kw": np.full(HOURS.size, 500.0)})
    assert trend(found_for(flat), "cdu_approach_k").change.value is None


def test_flow_per_kw_is_the_flow_over_the_heat():
    readings = telemetry()
    last = slice(-7 * 24, None)
    heat_kw = 0.945 * IT_KW[last].sum()
    one = trend(found_for(readings), "flow_l_per_min_per_kw")
    assert one.latest.value == pytest.approx(readings["rack_flow_l_per_min"][last].sum() / heat_kw)


def test_a_balance_that_does_not_close_is_an_alarm_with_value_and_limit():
    low = 0.7 * telemetry()["rack_flow_l_per_min"]
    told = alarm(found_for(telemetry(rack_flow_l_per_min=low)), "Energy balance: rack loop")
    assert told.level is Level.AMBER
    assert "\u221230 %" in told.told or "-30 %" in told.told
    assert "flow meter" in told.action


def test_plan_against_meters_by_hand():
    """Over the 24 hours planned: 650 kW planned in every one; the meters' own mean; the hour furthest apart."""
    readings = telemetry()
    cooling_kw = readings["cooling_kw"]
    found = found_for(readings, it_kw=np.full(24, 650.0), cooling_kw=cooling_kw[:24] + 2.0)
    it, cooled = found.against_plan
    assert (it.name, it.hours_h, it.planned_kw) == ("it_kw", 24.0, 650.0)
    assert it.metered_kw == pytest.approx(IT_KW[:24].mean())
    furthest = np.argmax(np.abs(IT_KW[:24] - 650.0))
    assert it.largest_kw == pytest.approx(IT_KW[furthest] - 650.0)
    assert cooled.metered_kw - cooled.planned_kw == pytest.approx(-2.0)
    assert cooled.largest_kw == pytest.approx(-2.0)


def test_readings_before_and_after_the_slots_do_not_count():
    starts = TIME[5:8]
    found = measured(PLANT, telemetry(), starts, 1.0, {"it_kw": np.zeros(3)})
    (it,) = found.against_plan
    assert it.hours_h == 3.0
    assert it.metered_kw == pytest.approx(IT_KW[5:8].mean())
    assert found_for(telemetry()).against_plan == ()


def test_a_room_has_meters_but_no_loops():
    room = room_air(1_000.0)
    found = found_for(telemetry(room), room)
    assert found.trends == ()
    assert found.balances == ()
    assert {score.signal for score in found.scores} >= {"fan_kw", "cooling_kw"}
    assert measured_alarms(found) == ()
