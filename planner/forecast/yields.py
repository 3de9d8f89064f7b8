"""What a kilowatt of sun or wind will yield: the joint weather paths put through the physics of the plant.

A path of the yield comes from the same path of sunshine, wind and temperature, so that it errs together with the path
of carbon intensity and price of the same number. Quantiles are those of the paths: each hour's weather has its
conformal distribution over them, and the physics bends it as it bends the weather.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.forecast.spread import LEVELS
from planner.forecast.zone import SignalForecast
from power.renewables import SolarArray, solar_power_kw
from power.sun import Plane, lit
from power.wind import WindTurbines, wind_power_kw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy.typing as npt

SOLAR_YIELD = "solar_yield"
WIND_YIELD = "wind_yield"
UNIT = "kW/kW"
"""AC power over installed power: DC at standard test conditions of solar arrays, rated power of turbines."""


def installed_kw(plant: SolarArray | WindTurbines) -> float:
    """Return the installed power of a plant, kW."""
    return plant.peak_kw if isinstance(plant, SolarArray) else plant.rated_kw


def needs(plant: SolarArray | WindTurbines, wind: str = "wind_speed_100m") -> tuple[str, str]:
    """Return the weather that a plant's power comes from, the temperature last; `wind` names the wind signal."""
    return ("ghi" if isinstance(plant, SolarArray) else wind, "dry_bulb")


def yields(
    plant: SolarArray | WindTurbines,
    place: tuple[float, float],
    start: datetime,
    slot_minutes: int,
    driver: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the AC power on offer per kW installed.

    Args:
        plant: Solar array or wind turbines.
        place: Latitude and longitude, degrees: where the sun is down, no sunshine yields anything.
        start: Start of the first slot, UTC.
        slot_minutes: Length of a slot, min.
        driver: Global horizontal irradiance in W/m2, or wind speed in m/s at the height that the turbines name, shape
            (N, T).
        dry_bulb_c: Air temperature, deg C, shape (N, T).

    Returns:
        kW/kW, shape (N, T), 0 or more, at most what inverter or rated power allow.
    """
    if isinstance(plant, WindTurbines):
        made_kw = [wind_power_kw(plant, *path) for path in zip(driver, dry_bulb_c, strict=True)]
    else:
        up = lit(Plane(*place, tilt_deg=0.0, azimuth_deg=0.0), start, slot_minutes, driver.shape[1])
        made_kw = [
            np.where(up, solar_power_kw(plant, start, slot_minutes, *path), 0.0)
            for path in zip(driver, dry_bulb_c, strict=True)
        ]
    return np.array(made_kw) / installed_kw(plant)


def yield_forecast(
    plant: SolarArray | WindTurbines,
    place: tuple[float, float],
    start: datetime,
    slot_minutes: int,
    ahead: Mapping[str, SignalForecast],
    wind: str = "wind_speed_100m",
) -> SignalForecast:
    """Return the forecast of a plant's yield from that of its weather, made for the same hours and paths.

    Its point is the mean of the paths: calm and wind in turn yield more than the wind between them. Where there are
    none, it is what the expected weather yields.

    Args:
        plant: Solar array or wind turbines.
        place: Latitude and longitude, degrees.
        start: First slot ahead, UTC.
        slot_minutes: Length of a slot, min.
        ahead: Forecasts of the weather that it `needs`.
        wind: Which wind signal drives turbines.
    """
    driver, warmth = (ahead[name] for name in needs(plant, wind))
    model = f"{driver.model} through {'PVWatts' if isinstance(plant, SolarArray) else 'the power curve'}"
    if driver.paths is None or warmth.paths is None:
        (point,) = yields(plant, place, start, slot_minutes, driver.point[None], warmth.point[None])
        return SignalForecast(model, point, None, None)
    paths = yields(plant, place, start, slot_minutes, driver.paths, warmth.paths)
    return SignalForecast(model, paths.mean(axis=0), path_quantiles(paths), paths)


def path_quantiles(paths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the quantiles at LEVELS over paths, shape (levels, T), of paths of shape (N, T).

    A path stands in the middle of its share, as the paths of the weather were drawn (Hazen 1914).
    """
    return np.asarray(np.quantile(paths, LEVELS, axis=0, method="hazen"))
