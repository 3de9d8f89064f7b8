"""Telemetry of a made-up site: the full physics with hidden settings, noise, and instruments that err."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate import SIGNALS, Telemetry
from thermal.calibrate.prediction import Inputs, predict
from thermal.psychro import pressure_pa, wet_bulb_c
from thermal.units_out import ALL

if TYPE_CHECKING:
    from thermal.description import CoolingPlant

WEAR = {  # instruments' own errors: shares of meters, kelvin of temperatures
    "it_power_kw": 0.004,
    "rack_pump_kw": -0.008,
    "facility_pump_kw": 0.010,
    "fan_kw": 0.006,
    "chiller_kw": -0.010,
    "cooling_kw": 0.005,
    "rack_flow_l_per_min": 0.015,
    "facility_flow_l_per_min": -0.020,
    "rack_supply_temp_c": 0.25,
    "rack_return_temp_c": -0.20,
    "facility_supply_temp_c": -0.15,
    "facility_return_temp_c": 0.30,
    "dry_bulb_c": 0.40,
    "wet_bulb_c": -0.30,
}
ALL_SIGNALS = tuple(name for name in SIGNALS if name not in {"pump_kw", "chip_work"})


def made_up(
    plant: CoolingPlant,
    *,
    days: int = 28,
    minutes: int = 60,
    seed: int = 7,
    warmest_c: float = 30.0,
    loads: tuple[float, float] = (0.25, 1.0),
    leakage_pct_per_k: float = 0.0,
    signals: tuple[str, ...] = ALL_SIGNALS,
    wear: dict[str, float] | None = None,
    noise: float = 1.0,
) -> Telemetry:
    """Return readings, one every so many minutes, of a plant whose settings are hidden from whoever gets them.

    The setpoint moves by a few kelvin from day to day, as on a site that tries what is best; with a leakage above 0
    `chip_work` is among the readings.
    """
    dice = np.random.default_rng(seed)
    each_h = minutes / 60.0
    hours = each_h * np.arange(round(24 * days / each_h))
    low, high = loads
    jobs = np.clip(np.cumsum(dice.normal(0.0, 0.12 * each_h**0.5, len(hours))), -1e9, 1e9)
    work = low + (high - low) * (0.5 + 0.5 * np.sin(jobs + hours / 17.0))
    dry = warmest_c - 13.0 + 9.0 * np.sin((hours - 9) / 24.0 * 2.0 * np.pi) + 4.0 * np.sin(hours / 80.0)
    wet = wet_bulb_c(dry, np.clip(62.0 - 1.4 * (dry - 15.0), 15.0, 95.0), pressure_pa(200.0))
    moved = np.zeros(len(hours))
    held = np.full(len(hours), np.nan)
    if plant.loop is not None:
        moved = dice.integers(-4, 5, days).astype(np.float64)[(hours // 24).astype(int)]
        held = plant.loop.supply_setpoint_c + moved
    it_kw = plant.rated_it_kw * work * (1.0 + leakage_pct_per_k / 100.0 * moved)
    truth = {"it_power_kw": it_kw, "dry_bulb_c": dry, "wet_bulb_c": wet, "supply_setpoint_c": held}
    truth |= predict(plant, Inputs(it_kw, dry, wet, held), frozenset(SIGNALS), ALL)
    if leakage_pct_per_k:
        truth["chip_work"] = work
    wanted = (*signals, "chip_work") if leakage_pct_per_k else signals
    errors = WEAR if wear is None else wear
    readings = {}
    for name in wanted:
        if name not in truth:
            continue
        signal, values, error = SIGNALS[name], truth[name], errors.get(name, 0.0)
        values = values + error if signal.unit == "C" else values * (1.0 + error)
        floor = signal.noise * np.nanmax(np.abs(values)) if signal.noise_share else signal.noise
        if name != "supply_setpoint_c":  # a setpoint is what was typed in
            values = values + noise * np.hypot(signal.noise_share * values, floor) * dice.normal(size=len(values))
        readings[name] = values
    time = np.datetime64("2024-05-01T00:00:00", "s") + np.arange(len(hours)) * np.timedelta64(60 * minutes, "s")
    return Telemetry("made-up readings", time, readings)
