"""Write the bundled demo: four weeks of SYNTHETIC hourly grid and weather series for three made-up zones.

Run it as a script: ``python data/demo/make_demo.py [--out FOLDER]``. It reads ``zones.toml`` beside it and writes one
CSV per zone and ``demo.toml`` (units, span, seeds). The same zones.toml gives byte-identical files.
"""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path

import numpy as np
from demo_market import clear_market, make_demand_gw, solar_capacity_factor, wind_capacity_factor
from demo_weather import Hours, Noise, make_weather
from demo_zone import N_HOURS, SPAN_START, Emission, Zone, read_zones

LICENCE = "Apache-2.0"
COLUMNS = {  # name -> (unit, decimals written); a price's unit gets the zone's currency
    "ci_direct_g_per_kwh": ("gCO2e/kWh", 1),
    "ci_lifecycle_g_per_kwh": ("gCO2e/kWh", 1),
    "price_per_mwh": ("{currency}/MWh", 2),
    "dry_bulb_c": ("degC", 2),
    "wet_bulb_c": ("degC", 2),
    "ghi_w_per_m2": ("W/m2", 1),
    "wind_speed_100m_m_per_s": ("m/s", 2),
}


def intensity(g_per_kwh: dict[str, float], made_gw: dict[str, Hours]) -> Hours:
    """Return the generation-weighted mean emission, g/kWh, shape (N_HOURS,)."""
    emitted = sum((g_per_kwh[fuel] * gw for fuel, gw in made_gw.items()), np.zeros(N_HOURS))
    return emitted / sum(made_gw.values(), np.zeros(N_HOURS))


def make_series(zone: Zone, emissions: dict[str, Emission]) -> dict[str, Hours]:
    """Return every column of a zone's CSV, each of shape (N_HOURS,)."""
    noise = Noise(zone.seed)
    weather = make_weather(zone, noise)
    demand = make_demand_gw(zone, weather, noise)
    thermal_share = np.clip(0.92 + zone.thermal_outage_sd * noise.persistent(48.0), 0.6, 1.0)
    factor = {
        "wind": wind_capacity_factor(weather.region_wind_m_per_s),
        "solar": solar_capacity_factor(weather.region_ghi_w_per_m2, weather.dry_bulb_c),
        "coal": thermal_share,
        "gas": thermal_share,
    }
    available = {fleet.fuel: fleet.capacity_gw * factor.get(fleet.fuel, np.ones(N_HOURS)) for fleet in zone.fleets}
    price, made = clear_market(zone, demand, available)
    return {
        "ci_direct_g_per_kwh": intensity({fuel: emissions[fuel].direct for fuel in made}, made),
        "ci_lifecycle_g_per_kwh": intensity({fuel: emissions[fuel].lifecycle for fuel in made}, made),
        "price_per_mwh": price + zone.price_noise_sd * noise.persistent(6.0),
        "dry_bulb_c": weather.dry_bulb_c,
        "wet_bulb_c": weather.wet_bulb_c,
        "ghi_w_per_m2": weather.ghi_w_per_m2,
        "wind_speed_100m_m_per_s": weather.wind_speed_100m_m_per_s,
    }


def stamp(hour: int) -> str:
    """Return the start of the hour-th hour as ISO 8601 in UTC."""
    return (SPAN_START + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")


def csv_text(zone: Zone, series: dict[str, Hours]) -> str:
    """Return a zone's CSV; lines starting with # are comments and say that the series are synthetic."""
    lines = [
        f"# SYNTHETIC series of the made-up zone {zone.name}: computed by make_demo.py, not measured anywhere.",
        f"# Hour-starting UTC stamps; units in demo.toml; prices in {zone.currency}/MWh.",
        ",".join(["t_start", *series]),
    ]
    for hour in range(N_HOURS):
        # Adding zero turns a rounded -0.0 into 0.0.
        cells = (f"{round(float(values[hour]), COLUMNS[name][1]) + 0.0:g}" for name, values in series.items())
        lines.append(",".join([stamp(hour), *cells]))
    return "\n".join(lines) + "\n"


def toml_text(zones: tuple[Zone, ...]) -> str:
    """Return demo.toml: what the CSVs hold and where their zones are."""
    lines = [
        "# Written by make_demo.py; do not edit. The series are SYNTHETIC: three made-up zones, nothing measured.",
        "synthetic = true",
        'source = "data/demo/make_demo.py with data/demo/zones.toml"',
        f'licence = "{LICENCE}"',
        f"span_start = {stamp(0)}",
        f"span_end = {stamp(N_HOURS)}",
        "step_minutes = 60",
        'stamp = "start of the hour, UTC"',
        'comment_prefix = "#"',
    ]
    for zone in zones:
        lines += ["", "[[zone]]", "synthetic = true"]
        for name in ("name", "like", "time_zone", "latitude", "longitude", "altitude_m", "currency", "seed"):
            value = getattr(zone, name)
            lines.append(f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}")
        lines += [f'file = "{zone.name}.csv"', "[zone.units]", 't_start = "ISO 8601, UTC"']
        lines += [f'{name} = "{unit.format(currency=zone.currency)}"' for name, (unit, _) in COLUMNS.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the demo files into --out (default: this script's own folder)."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Write the synthetic demo series.")
    parser.add_argument("--out", type=Path, default=here, help="folder to write to")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    zones, emissions = read_zones(here / "zones.toml")
    for zone in zones:
        (out / f"{zone.name}.csv").write_text(
            csv_text(zone, make_series(zone, emissions)), encoding="utf-8", newline="\n"
        )
    (out / "demo.toml").write_text(toml_text(zones), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
