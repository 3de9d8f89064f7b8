"""SYNTHETIC demand and merit order of a made-up zone; part of the script make_demo.py."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
from demo_weather import Hours, Noise, Weather
from demo_zone import N_HOURS, SPAN_START, Zone

PRICE_FLOOR, PRICE_CAP = -500.0, 4000.0  # harmonised limits of the European day-ahead auction, per MWh
EXPORT_FULL_PRICE = -50.0  # neighbours take all they can at this price, per MWh


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
        span = zone.export_bid_high_per_mwh - EXPORT_FULL_PRICE
        wanted = np.clip((zone.export_bid_high_per_mwh - price) / span, 0.0, 1.0)
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
