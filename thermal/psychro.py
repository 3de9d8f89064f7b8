"""Humid air: the wet bulb from what weather services do offer, and what saturated air holds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from thermal.halving import halved

if TYPE_CHECKING:
    import numpy.typing as npt

_SEA_LEVEL_PA = 101325.0
_MASS_RATIO = 0.621945  # molar mass of water over that of dry air
_KELVIN = 273.15
_WIDEST_DEPRESSION_K = 60.0  # bone-dry air of 60 deg C has a wet bulb some 40 K lower
_HALVINGS = 50
_INVERSION_STEP_K = 0.1  # between entries of the inverted enthalpy: 1e-4 K of error


def pressure_pa(altitude_m: float) -> float:
    """Return the standard air pressure at an altitude, Pa.

    Args:
        altitude_m: Height above sea level, m, -500 to 11,000.

    Source:
        ASHRAE Handbook Fundamentals 2017, chapter 1, equation 3.
    """
    return float(_SEA_LEVEL_PA * (1.0 - 2.25577e-5 * altitude_m) ** 5.2559)


def wet_bulb_c(
    dry_bulb_c: npt.NDArray[np.float64], relative_humidity_pct: npt.NDArray[np.float64], air_pressure_pa: float
) -> npt.NDArray[np.float64]:
    """Return the thermodynamic wet-bulb temperature by inverting the psychrometric equation.

    Args:
        dry_bulb_c: Air temperature, deg C, shape (n,), -60 to 60.
        relative_humidity_pct: Relative humidity over water (over ice below freezing), %, shape (n,); clipped to 0..100.
        air_pressure_pa: Air pressure, Pa.

    Returns:
        Wet bulb, deg C, shape (n,), at most dry_bulb_c, NaN where an argument is; bisected to far below 1e-6 K.

    Source:
        ASHRAE Handbook Fundamentals 2017, chapter 1, equations 33 and 35 (wet bulb over water and ice) with the vapour
        pressure of Hyland and Wexler 1983, valid -100 to 200 deg C.
    """
    share = np.clip(relative_humidity_pct, 0.0, 100.0) / 100.0
    ratio = _humidity_ratio(share * _saturation_pa(dry_bulb_c), air_pressure_pa)
    low, high = dry_bulb_c - _WIDEST_DEPRESSION_K, np.array(dry_bulb_c, dtype=float)

    def no_wetter(bulb_c: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return ~(_ratio_at(dry_bulb_c, bulb_c, air_pressure_pa) > ratio)

    _, found_c = halved(no_wetter, low, high, _HALVINGS)
    return np.where(np.isnan(ratio), np.nan, found_c)


def saturated_ratio(temp_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return kg of vapour per kg of dry air in saturated air at sea level, for deg C below 95, shape (...)."""
    return _humidity_ratio(_saturation_pa(temp_c), _SEA_LEVEL_PA)


def saturated_enthalpy_kj_per_kg(temp_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the enthalpy of saturated air at sea level, kJ per kg of dry air.

    Args:
        temp_c: Temperature, deg C, -100 to 95, shape (...).

    Returns:
        kJ/kg, 0 for dry air of 0 deg C, shape (...).

    Source:
        ASHRAE Handbook Fundamentals 2017, chapter 1, equation 30.
    """
    return np.asarray(1.006 * temp_c + saturated_ratio(temp_c) * (2501.0 + 1.86 * temp_c))


def saturated_temp_c(enthalpy_kj_per_kg: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the temperature of saturated air at sea level from its enthalpy, the inverse of the above.

    Args:
        enthalpy_kj_per_kg: kJ per kg of dry air, shape (...); beyond -60 and 90 deg C the nearer end holds.

    Returns:
        deg C within 1e-3 K, shape (...).
    """
    temps_c, enthalpies = _inversion()
    return np.asarray(np.interp(enthalpy_kj_per_kg, enthalpies, temps_c))


@cache
def _inversion() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    temps_c = np.arange(-60.0, 90.0 + _INVERSION_STEP_K, _INVERSION_STEP_K)
    return temps_c, saturated_enthalpy_kj_per_kg(temps_c)


def humidity_ratio(dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return kg of vapour per kg of dry air at sea level, for deg C, shape (...).

    A wet bulb above the dry bulb is read as saturated air, one below that of bone-dry air as bone-dry.
    """
    return np.asarray(np.maximum(_ratio_at(dry_bulb_c, np.minimum(wet_bulb_c, dry_bulb_c), _SEA_LEVEL_PA), 0.0))


def _saturation_pa(temp_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    t = np.maximum(temp_c, -100.0) + _KELVIN
    ice = (
        -5674.5359 / t
        + 6.3925247
        - 9.677843e-3 * t
        + 6.2215701e-7 * t**2
        + 2.0747825e-9 * t**3
        - 9.484024e-13 * t**4
        + 4.1635019 * np.log(t)
    )
    water = (
        -5800.2206 / t
        + 1.3914993
        - 4.8640239e-2 * t
        + 4.1764768e-5 * t**2
        - 1.4452093e-8 * t**3
        + 6.5459673 * np.log(t)
    )
    return np.asarray(np.exp(np.where(temp_c >= 0.0, water, ice)), dtype=float)


def _humidity_ratio(vapour_pa: npt.NDArray[np.float64], air_pressure_pa: float) -> npt.NDArray[np.float64]:
    return _MASS_RATIO * vapour_pa / (air_pressure_pa - vapour_pa)


def _ratio_at(
    dry_c: npt.NDArray[np.float64], wet_c: npt.NDArray[np.float64], air_pressure_pa: float
) -> npt.NDArray[np.float64]:
    saturated = _humidity_ratio(_saturation_pa(wet_c), air_pressure_pa)
    over_water = ((2501.0 - 2.326 * wet_c) * saturated - 1.006 * (dry_c - wet_c)) / (
        2501.0 + 1.86 * dry_c - 4.186 * wet_c
    )
    over_ice = ((2830.0 - 0.24 * wet_c) * saturated - 1.006 * (dry_c - wet_c)) / (2830.0 + 1.86 * dry_c - 2.1 * wet_c)
    return np.where(wet_c >= 0.0, over_water, over_ice)
