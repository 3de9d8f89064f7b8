"""The gate: telemetry whose heat and power disagree is refused, with the place, the span and the amount."""

from __future__ import annotations

import numpy as np
import pytest

from tests.plant_telemetry import made_up
from thermal.calibrate import EnergyBalanceError, Telemetry, balances, calibrate, check_balance
from thermal.fluids import volume_heat_kj_per_m3_k
from thermal.plant import dry_cooler, room_air

PLANT = dry_cooler(10_000.0)
CLEAN = made_up(PLANT, days=6)


def with_changed(name: str, factor: float, first: str, last: str) -> Telemetry:
    where = (np.datetime64(first) <= CLEAN.time) & (CLEAN.time < np.datetime64(last))
    readings = {n: v.copy() for n, v in CLEAN.readings.items()}
    readings[name][where] *= factor
    return Telemetry(CLEAN.source, CLEAN.time, readings)


def test_a_balance_worked_by_hand():
    volume_heat = float(volume_heat_kj_per_m3_k("pg25", 40.0))
    flow = 60_000.0 * 9_450.0 / (volume_heat * 10.0)  # carries 9,450 kW, the liquid's share of 10 MW, over 10 K
    readings = {
        "it_power_kw": [10_000.0],
        "dry_bulb_c": [20.0],
        "rack_supply_temp_c": [35.0],
        "rack_return_temp_c": [45.0],
        "rack_flow_l_per_min": [flow],
        "rack_pump_kw": [50.0],
    }
    telemetry = Telemetry(
        "hand", np.array(["2024-05-01"], "datetime64[s]"), {n: np.array(v) for n, v in readings.items()}
    )
    (found,) = balances(PLANT, telemetry)
    assert found.loop == "rack loop"
    assert found.heat_kw == pytest.approx(9_450.0)
    assert found.power_kw == pytest.approx(9_500.0)
    assert found.residual_pct == pytest.approx(100.0 * (9_450.0 / 9_500.0 - 1.0))
    # twice the quadrature of 2 % flow, twice 0.3 K of 10 K, 1 % power
    assert found.tolerance_pct == pytest.approx(200.0 * np.sqrt(0.02**2 + 2.0 * 0.03**2 + 0.01**2))
    assert found.closing_share == pytest.approx(0.94)


def test_sound_telemetry_passes_and_both_loops_are_told():
    assert [b.loop for b in check_balance(PLANT, CLEAN)] == ["rack loop", "facility loop"]


@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize("loop", ["rack", "facility"])
def test_30_percent_off_is_refused_with_loop_and_days(factor, loop):
    broken = with_changed(f"{loop}_flow_l_per_min", factor, "2024-05-03", "2024-05-05")
    with pytest.raises(EnergyBalanceError) as told:
        calibrate(PLANT, broken)
    (fault,) = told.value.faults
    assert (fault.loop, fault.first, fault.last) == (f"{loop} loop", "2024-05-03T00:00", "2024-05-05T00:00")
    assert fault.residual_pct == pytest.approx(100.0 * (factor - 1.0), abs=8.0)
    assert f"{loop} loop, 2024-05-03T00:00 to 2024-05-05T00:00: flow and temperatures carry" in str(told.value)


def test_a_wrong_it_meter_shows_in_both_loops():
    with pytest.raises(EnergyBalanceError) as told:
        check_balance(PLANT, with_changed("it_power_kw", 1.4, "2024-05-01", "2024-05-07"))
    assert {f.loop for f in told.value.faults} == {"rack loop", "facility loop"}


def test_a_few_hours_out_of_balance_are_found_within_a_sound_day():
    broken = with_changed("rack_flow_l_per_min", 1.5, "2024-05-02T10:00", "2024-05-02T14:00")
    with pytest.raises(EnergyBalanceError) as told:
        check_balance(PLANT, broken)
    (fault,) = told.value.faults
    assert (fault.first, fault.last) == ("2024-05-02T10:00", "2024-05-02T14:00")


def test_one_hour_out_of_balance_is_water_that_warms():
    check_balance(PLANT, with_changed("rack_flow_l_per_min", 1.5, "2024-05-02T10:00", "2024-05-02T11:00"))


def test_without_flow_there_is_nothing_to_balance():
    silent = made_up(PLANT, days=2, signals=("it_power_kw", "dry_bulb_c", "fan_kw", "pump_kw"))
    assert check_balance(PLANT, silent) == ()
    assert check_balance(room_air(10_000.0), CLEAN) == ()


def test_telemetry_refuses_what_it_cannot_be():
    time = CLEAN.time
    with pytest.raises(ValueError, match="oops is no signal"):
        Telemetry("x", time, {**CLEAN.readings, "oops": CLEAN["fan_kw"]})
    with pytest.raises(ValueError, match=r"fan_kw has shape \(3,\)"):
        Telemetry("x", time, {**CLEAN.readings, "fan_kw": np.ones(3)})
    with pytest.raises(ValueError, match="not after the one before it"):
        Telemetry("x", time[::-1], CLEAN.readings)
    with pytest.raises(ValueError, match="dry_bulb_c has no reading"):
        Telemetry("x", time, {"it_power_kw": CLEAN["it_power_kw"]})
