"""Write made-up telemetry of a site's cooling plant as CSV: its own physics with other settings, noise, worn sensors.

Usage: python docs/examples/make_telemetry.py SITE > telemetry.csv
"""

import csv
import sys

import numpy as np

from planner.config import load_site
from thermal.calibrate import SIGNALS, changed
from thermal.calibrate.prediction import Inputs, predict
from thermal.units_out import ALL

DAYS, MINUTES = 8, 10
HIDDEN = {"facility_pump_flow_floor": 0.5, "facility_pump_head_kpa": 300.0, "cooler_approach_k": 7.5}
WORN = {"rack_supply_temp_c": 0.25, "facility_return_temp_c": -0.2, "dry_bulb_c": 0.4}  # K


def main(site: str) -> None:
    """Print the readings of the site's first block."""
    plant = changed(load_site(site).blocks[0].plant, HIDDEN)
    dice, each_h = np.random.default_rng(1), MINUTES / 60.0
    hours = each_h * np.arange(round(24 * DAYS / each_h))
    jobs = np.cumsum(dice.normal(0.0, 0.2 * each_h**0.5, len(hours)))
    it_kw = plant.rated_it_kw * np.clip(0.65 + 0.35 * np.sin(jobs), 0.0, 1.0)
    dry_c = 18.0 + 10.0 * np.sin((hours - 9) / 24.0 * 2.0 * np.pi) + 4.0 * np.sin(hours / 40.0)
    held_c = np.full(len(hours), plant.supply_setpoint_c)
    given = Inputs(it_kw, dry_c, dry_c - 5.0, held_c)
    truth = {"it_power_kw": it_kw, "dry_bulb_c": dry_c, "supply_setpoint_c": held_c}
    truth |= predict(plant, given, frozenset(SIGNALS) - {"pump_kw"}, ALL)
    time = np.datetime64("2024-05-01T00:00:00") + np.arange(len(hours)) * np.timedelta64(MINUTES, "m")
    shown = {"time": [f"{t}Z" for t in time]}
    for name, values in truth.items():
        signal = SIGNALS[name]
        noise = signal.noise_share * values if signal.noise_share else signal.noise
        read = values + WORN.get(name, 0.0) + (name != "supply_setpoint_c") * noise * dice.normal(size=len(hours))
        shown[name] = [f"{value:.5g}" for value in np.maximum(read, 0.0 if signal.unit != "C" else -60.0)]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(shown)
    out.writerows(zip(*shown.values(), strict=True))


if __name__ == "__main__":
    main(sys.argv[1])
