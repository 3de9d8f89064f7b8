"""Write the bundled demo: four weeks of SYNTHETIC hourly grid and weather series for three made-up zones.

Run it as a script: ``python data/demo/make_demo.py [--out FOLDER]``. It reads ``zones.toml`` beside it and writes one
CSV per zone and ``demo.toml`` (units, span, seeds). The same zones.toml gives byte-identical files.
"""

from __future__ import annotations

import argparse
import math
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Hours = NDArray[np.float64]

# ISO weeks 2024-W19 to W22 with a day on either side, so that they are whole in every zone's own time.
SPAN_START = datetime(2024, 5, 5, tzinfo=UTC)
SPAN_END = datetime(2024, 6, 4, tzinfo=UTC)
N_HOURS = int((SPAN_END - SPAN_START) / timedelta(hours=1))

PRICE_FLOOR, PRICE_CAP = -500.0, 4000.0  # harmonised limits of the European day-ahead auction, per MWh
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
    """A made-up zone: place, climate, demand and plants (units in the names, meanings in zones.toml)."""

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


@dataclass(frozen=True)
class Weather:
    """Hourly weather, shape (N_HOURS,): at the site, and over the region that holds the zone's plants."""

    dry_bulb_c: Hours
    wet_bulb_c: Hours
    ghi_w_per_m2: Hours
    wind_speed_100m_m_per_s: Hours
    region_ghi_w_per_m2: Hours
    region_wind_m_per_s: Hours


class Noise:
    """Normal numbers from PCG64's raw words, a stream NumPy keeps fixed (its normal() may change between releases)."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def normal(self, n: int) -> Hours:
        """Return n standard normal numbers (Box and Muller, 1958)."""
        uniform = (np.asarray(self._words.random_raw(2 * n)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.sqrt(-2.0 * np.log1p(-uniform[:n])) * np.cos(2.0 * np.pi * uniform[n:])

    def persistent(self, memory_h: float) -> Hours:
        """Return a stationary AR(1) of unit variance whose autocorrelation falls to 1/e after memory_h hours."""
        keep = math.exp(-1.0 / memory_h)
        path = self.normal(N_HOURS)
        path[1:] *= math.sqrt(1.0 - keep**2)
        for hour in range(1, N_HOURS):
            path[hour] += keep * path[hour - 1]
        return path


def solar_hour(longitude: float, minutes: Hours) -> tuple[Hours, Hours]:
    """Return the true solar time (h) and the declination (rad) at minutes after SPAN_START.

    Source: Spencer (1971) Fourier series of declination and equation of time, good to 0.01 rad and 35 s.
    """
    days = (SPAN_START - datetime(SPAN_START.year, 1, 1, tzinfo=UTC)).days + minutes / 1440.0
    angle = 2.0 * np.pi * days / 366.0
    declination = (
        0.006918
        - 0.399912 * np.cos(angle)
        + 0.070257 * np.sin(angle)
        - 0.006758 * np.cos(2 * angle)
        + 0.000907 * np.sin(2 * angle)
        - 0.002697 * np.cos(3 * angle)
        + 0.00148 * np.sin(3 * angle)
    )
    equation_min = 229.18 * (
        0.000075
        + 0.001868 * np.cos(angle)
        - 0.032077 * np.sin(angle)
        - 0.014615 * np.cos(2 * angle)
        - 0.040849 * np.sin(2 * angle)
    )
    return ((minutes + equation_min) / 60.0 + longitude / 15.0) % 24.0, declination


def clear_sky_ghi(latitude: float, longitude: float) -> Hours:
    """Return each hour's mean global horizontal irradiance under a clear sky, W/m2, shape (N_HOURS,).

    Source: Haurwitz (1945), as given by Reno, Hansen and Stein (2012), SAND2012-2389.
    """
    steps = 12
    minutes = (np.arange(N_HOURS * steps) + 0.5) * 60.0 / steps
    hour, declination = solar_hour(longitude, minutes)
    phi = math.radians(latitude)
    cos_zenith = np.sin(phi) * np.sin(declination) + np.cos(phi) * np.cos(declination) * np.cos(
        np.pi * (hour - 12.0) / 12.0
    )
    up = np.maximum(cos_zenith, 1e-3)
    ghi = np.where(cos_zenith > 0.0, 1098.0 * up * np.exp(-0.059 / up), 0.0)
    return np.asarray(ghi.reshape(N_HOURS, steps).mean(axis=1))


def saturation_pressure_pa(temp_c: Hours) -> Hours:
    """Return the saturation pressure of water vapour over liquid water, Pa.

    Source: Hyland and Wexler (1983), as in ASHRAE Fundamentals; valid 0 to 200 degC.
    """
    kelvin = temp_c + 273.15
    return np.exp(
        -5.8002206e3 / kelvin
        + 1.3914993
        - 4.8640239e-2 * kelvin
        + 4.1764768e-5 * kelvin**2
        - 1.4452093e-8 * kelvin**3
        + 6.5459673 * np.log(kelvin)
    )


def humidity_ratio(vapour_pa: Hours, pressure_pa: float) -> Hours:
    """Return kg of vapour per kg of dry air."""
    return 0.621945 * vapour_pa / (pressure_pa - vapour_pa)


def wet_bulb_c(dry_bulb_c: Hours, dew_point_c: Hours, pressure_pa: float) -> Hours:
    """Return the thermodynamic wet bulb in degC, bisecting the psychrometric equation from dew point to dry bulb.

    Raises:
        ValueError: a dew point above its dry bulb, or below 0 degC, where the vapour curve over water ends.

    Source: ASHRAE Fundamentals (2017) chapter 1, equation 33, water not frozen.
    """
    if np.any(dew_point_c > dry_bulb_c) or np.any(dew_point_c < 0.0):
        raise ValueError(f"dew point from {dew_point_c.min():.2f} degC must lie between 0 degC and the dry bulb")
    actual = humidity_ratio(saturation_pressure_pa(dew_point_c), pressure_pa)
    low, high = dew_point_c.copy(), dry_bulb_c.copy()
    for _ in range(40):
        middle = 0.5 * (low + high)
        saturated = humidity_ratio(saturation_pressure_pa(middle), pressure_pa)
        implied = ((2501.0 - 2.326 * middle) * saturated - 1.006 * (dry_bulb_c - middle)) / (
            2501.0 + 1.86 * dry_bulb_c - 4.186 * middle
        )
        too_wet = implied > actual
        low, high = np.where(too_wet, low, middle), np.where(too_wet, middle, high)
    return 0.5 * (low + high)


def make_weather(zone: Zone, noise: Noise) -> Weather:
    """Return the weather of a zone: cloud, wind and fronts as persistent noise on the cycles of the sun."""
    minutes = np.arange(30.0, N_HOURS * 60.0, 60.0)
    hour, _ = solar_hour(zone.longitude, minutes)
    share, own = math.sqrt(zone.site_share), math.sqrt(1.0 - zone.site_share)

    clear = clear_sky_ghi(zone.latitude, zone.longitude)
    odds = math.log(zone.cloud_median / (1.0 - zone.cloud_median))
    region_cloud = noise.persistent(zone.cloud_memory_h)
    site_cloud = share * region_cloud + own * noise.persistent(zone.cloud_memory_h / 4.0)
    # Kasten and Czeplak (1980): cloud cover n passes 1 - 0.75 n^3.4 of the clear-sky irradiance.
    passed = [
        1.0 - 0.75 * (1.0 / (1.0 + np.exp(-odds - zone.cloud_spread * path))) ** 3.4
        for path in (region_cloud, site_cloud)
    ]

    evening = zone.wind_evening_log * np.cos(2.0 * np.pi * (hour - 20.0) / 24.0)
    region_wind = noise.persistent(zone.wind_memory_h)
    site_wind = share * region_wind + own * noise.persistent(zone.wind_memory_h / 8.0)
    speeds = [zone.wind_median_m_per_s * np.exp(zone.wind_log_sd * path + evening) for path in (region_wind, site_wind)]

    day_of_year = (SPAN_START - datetime(SPAN_START.year, 1, 1, tzinfo=UTC)).days + minutes / 1440.0
    season = zone.year_mean_c + zone.year_swing_c * np.cos(2.0 * np.pi * (day_of_year - 200.0) / 366.0)
    # Cloud damps the daily swing; the air is warmest about three hours after solar noon.
    swing = zone.day_swing_c * (0.4 + 0.6 * passed[1])
    front = zone.front_sd_c * noise.persistent(zone.front_memory_h)
    dry = season + front + swing * np.cos(2.0 * np.pi * (hour - 15.0) / 24.0)
    dew = season + front - zone.dew_depression_c + zone.dew_sd_c * noise.persistent(zone.front_memory_h)
    dew = np.clip(dew, 0.0, dry)
    pressure_pa = 101325.0 * (1.0 - 2.25577e-5 * zone.altitude_m) ** 5.2559
    return Weather(
        dry_bulb_c=dry,
        wet_bulb_c=wet_bulb_c(dry, dew, pressure_pa),
        ghi_w_per_m2=clear * passed[1],
        wind_speed_100m_m_per_s=speeds[1],
        region_ghi_w_per_m2=clear * passed[0],
        region_wind_m_per_s=speeds[0],
    )


def wind_capacity_factor(speed_m_per_s: Hours) -> Hours:
    """Return the output of a wind fleet per unit of capacity, shape (N_HOURS,).

    One turbine's curve (3 m/s cut-in, cubic to 12.5 m/s, 25 m/s cut-out) averaged over the spread of speeds across a
    fleet (log standard deviation 0.25), by Gauss-Hermite nodes; 0.93 for wakes and availability.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    speed = speed_m_per_s[:, None] * np.exp(0.25 * nodes)
    cubic = np.clip((speed**3 - 3.0**3) / (12.5**3 - 3.0**3), 0.0, 1.0)
    return np.asarray(0.93 * np.where(speed < 25.0, cubic, 0.0) @ (weights / weights.sum()))


def solar_capacity_factor(ghi_w_per_m2: Hours, dry_bulb_c: Hours) -> Hours:
    """Return a solar fleet's output per unit of capacity: 0.86, less 0.4 % per kelvin of cell above 25 degC."""
    cell_c = dry_bulb_c + 0.03 * ghi_w_per_m2
    return 0.86 * ghi_w_per_m2 / 1000.0 * (1.0 - 0.004 * (cell_c - 25.0))


def make_demand_gw(zone: Zone, weather: Weather, noise: Noise) -> Hours:
    """Return hourly demand in GW: a day's two peaks and night trough, the weekend, heating and cooling."""
    local = [(SPAN_START + timedelta(hours=i)).astimezone(ZoneInfo(zone.time_zone)) for i in range(N_HOURS)]
    hour = np.array([t.hour + 0.5 for t in local])
    weekend = np.array([t.weekday() >= 5 for t in local])

    def bump(centre_h: float, width_h: float) -> Hours:
        away = (hour - centre_h + 12.0) % 24.0 - 12.0
        return np.asarray(np.exp(-0.5 * (away / width_h) ** 2))

    morning = zone.demand_morning_gw * bump(9.0, 2.5) * np.where(weekend, 0.5, 1.0)
    shape = morning + zone.demand_evening_gw * bump(19.5, 2.5) - zone.demand_night_gw * bump(3.0, 3.0)
    base = zone.demand_mean_gw * np.where(weekend, zone.weekend_factor, 1.0)
    heat = zone.heating_gw_per_k * np.maximum(15.0 - weather.dry_bulb_c, 0.0)
    cool = zone.cooling_gw_per_k * np.maximum(weather.dry_bulb_c - 21.0, 0.0)
    return base + shape + heat + cool + zone.demand_noise_gw * noise.persistent(12.0)


def clear_market(zone: Zone, demand_gw: Hours, available_gw: dict[str, Hours]) -> tuple[Hours, dict[str, Hours]]:
    """Return the price at which supply meets demand plus exports in every hour, and what each fuel then generates (GW).

    Raises:
        ValueError: an hour in which all plants together cannot meet demand, or must-run plants exceed what can be used.
    """

    def generation(price: Hours) -> dict[str, Hours]:
        made = {}
        for fleet in zone.fleets:
            free = available_gw[fleet.fuel] - fleet.must_run_gw
            on = (price - fleet.bid_low_per_mwh) / (fleet.bid_high_per_mwh - fleet.bid_low_per_mwh)
            made[fleet.fuel] = fleet.must_run_gw + free * np.clip(on, 0.0, 1.0)
        return made

    def surplus(price: Hours) -> Hours:
        wanted = np.clip((zone.export_bid_high_per_mwh - price) / (zone.export_bid_high_per_mwh + 50.0), 0.0, 1.0)
        return sum(generation(price).values(), np.zeros(N_HOURS)) - demand_gw - zone.export_gw * wanted

    low, high = np.full(N_HOURS, PRICE_FLOOR), np.full(N_HOURS, PRICE_CAP)
    if np.any(surplus(low) > 0.0) or np.any(surplus(high) < 0.0):
        raise ValueError(f"{zone.name}: no price between {PRICE_FLOOR:g} and {PRICE_CAP:g} clears every hour")
    for _ in range(60):
        middle = 0.5 * (low + high)
        long_hours = surplus(middle) > 0.0
        low, high = np.where(long_hours, low, middle), np.where(long_hours, middle, high)
    price = 0.5 * (low + high)
    return price, generation(price)


def make_series(zone: Zone, emissions: dict[str, Emission]) -> dict[str, Hours]:
    """Return every column of a zone's CSV, each of shape (N_HOURS,)."""
    noise = Noise(zone.seed)
    weather = make_weather(zone, noise)
    demand = make_demand_gw(zone, weather, noise)
    outage = np.clip(1.0 - 0.08 + zone.thermal_outage_sd * noise.persistent(48.0), 0.6, 1.0)
    factor = {
        "wind": wind_capacity_factor(weather.region_wind_m_per_s),
        "solar": solar_capacity_factor(weather.region_ghi_w_per_m2, weather.dry_bulb_c),
        "coal": outage,
        "gas": outage,
    }
    available = {fleet.fuel: fleet.capacity_gw * factor.get(fleet.fuel, np.ones(N_HOURS)) for fleet in zone.fleets}
    price, made = clear_market(zone, demand, available)
    total = sum(made.values(), np.zeros(N_HOURS))
    return {
        "ci_direct_g_per_kwh": sum((emissions[f].direct * gw for f, gw in made.items()), np.zeros(N_HOURS)) / total,
        "ci_lifecycle_g_per_kwh": sum((emissions[f].lifecycle * gw for f, gw in made.items()), np.zeros(N_HOURS))
        / total,
        "price_per_mwh": price + zone.price_noise_sd * noise.persistent(6.0),
        "dry_bulb_c": weather.dry_bulb_c,
        "wet_bulb_c": weather.wet_bulb_c,
        "ghi_w_per_m2": weather.ghi_w_per_m2,
        "wind_speed_100m_m_per_s": weather.wind_speed_100m_m_per_s,
    }


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
