"""The made-up zones of the demo and the hours it spans; part of the script make_demo.py."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# ISO weeks 2024-W19 to W22 with a day on either side, so that they are whole in every zone's own time.
SPAN_START = datetime(2024, 5, 5, tzinfo=UTC)
SPAN_END = datetime(2024, 6, 4, tzinfo=UTC)
N_HOURS = int((SPAN_END - SPAN_START) / timedelta(hours=1))


@dataclass(frozen=True)
class Emission:
    """What one fuel emits, gCO2e per kWh of electricity."""

    direct: float
    lifecycle: float


@dataclass(frozen=True)
class Fleet:
    """All plants of one fuel in a zone; between its cheapest and dearest bid it comes on line linearly."""

    fuel: str
    capacity_gw: float
    must_run_gw: float
    bid_low_per_mwh: float
    bid_high_per_mwh: float


@dataclass(frozen=True)
class Zone:
    """A made-up zone: place, climate, demand and plants (units in the names, meanings at the head of zones.toml)."""

    name: str
    like: str
    time_zone: str
    latitude: float
    longitude: float
    altitude_m: float
    currency: str
    seed: int
    year_mean_c: float
    year_swing_c: float
    day_swing_c: float
    front_sd_c: float
    front_memory_h: float
    dew_depression_c: float
    dew_sd_c: float
    cloud_median: float
    cloud_spread: float
    cloud_memory_h: float
    wind_median_m_per_s: float
    wind_log_sd: float
    wind_memory_h: float
    wind_evening_log: float
    site_share: float
    demand_mean_gw: float
    demand_evening_gw: float
    demand_morning_gw: float
    demand_night_gw: float
    demand_noise_gw: float
    weekend_factor: float
    heating_gw_per_k: float
    cooling_gw_per_k: float
    export_gw: float
    export_bid_high_per_mwh: float
    thermal_outage_sd: float
    price_noise_sd: float
    carbon_price_per_t: float
    fleets: tuple[Fleet, ...]


def read_fleet(table: dict[str, Any], carbon_price_per_t: float) -> Fleet:
    """Return a fleet; plants that burn bought fuel bid fuel and carbon over their best and worst efficiency."""
    if "efficiency" in table:
        burn = table["fuel_price_per_mwh_th"] + carbon_price_per_t * table["carbon_t_per_mwh_th"]
        best, worst = table["efficiency"]
        bids = (burn / best, burn / worst)
    else:
        bids = tuple(table["bid_per_mwh"])
    return Fleet(table["fuel"], table["capacity_gw"], table["must_run_gw"], *bids)


def read_zones(path: Path) -> tuple[tuple[Zone, ...], dict[str, Emission]]:
    """Return the zones and the emission factors of zones.toml."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    emissions = {fuel: Emission(**factors) for fuel, factors in raw["emission_g_per_kwh"].items()}
    zones = []
    for table in raw["zone"]:
        fleets = tuple(read_fleet(fleet, table["carbon_price_per_t"]) for fleet in table.pop("fleet"))
        zones.append(Zone(fleets=fleets, **table))
    return tuple(zones), emissions
