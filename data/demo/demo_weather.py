"""SYNTHETIC weather of a made-up zone; part of the script make_demo.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from demo_zone import N_HOURS, SPAN_START, Zone
from numpy.typing import NDArray

Hours = NDArray[np.float64]


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
