"""Solar and wind yield from the weather: power over rated power of plants such as are built today."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from power.renewables import SolarArray, array_power_kw

_PLANT = SolarArray("one kilowatt", 1.0, 1.0, 0.86, -0.0035)  # PVWatts: 14 % losses; -0.35 %/K of a standard module
_CUT_IN_M_PER_S = 3.0
_RATED_M_PER_S = 12.0
_CUT_OUT_M_PER_S = 25.0


def solar_yield_share(
    ghi_w_per_m2: npt.NDArray[np.float64], dry_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return solar AC power over peak DC power, of the shape of the weather.

    Args:
        ghi_w_per_m2: Global horizontal irradiance, W/m2, any shape.
        dry_bulb_c: Air temperature, deg C, of the same shape.

    Source:
        `power.renewables.array_power_kw` of a horizontal array with PVWatts' losses of 14 % (Dobos 2014).
    """
    return array_power_kw(_PLANT, ghi_w_per_m2, dry_bulb_c)


def wind_yield_share(wind_speed_m_per_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return wind power over rated power, of the shape of the wind.

    Args:
        wind_speed_m_per_s: Wind speed at hub height, m/s, any shape.

    Source:
        Cubic curve between cut-in at 3 m/s and rated power at 12 m/s, cut-out at 25 m/s (Carrillo et al. 2013).
    """
    cubes = (wind_speed_m_per_s**3 - _CUT_IN_M_PER_S**3) / (_RATED_M_PER_S**3 - _CUT_IN_M_PER_S**3)
    return np.where(wind_speed_m_per_s > _CUT_OUT_M_PER_S, 0.0, np.clip(cubes, 0.0, 1.0))
