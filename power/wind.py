"""Power of wind turbines from weather, by their power curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

STANDARD_DENSITY_KG_PER_M3 = 1.225
DRY_AIR_J_PER_KG_K = 287.05
ZERO_C_K = 273.15

NREL_5MW = (
    (3.0, 40.5 / 5000),
    (4.0, 177.7 / 5000),
    (5.0, 403.9 / 5000),
    (6.0, 737.6 / 5000),
    (7.0, 1187.2 / 5000),
    (8.0, 1771.1 / 5000),
    (9.0, 2518.6 / 5000),
    (10.0, 3448.4 / 5000),
    (11.0, 4562.5 / 5000),
    (12.0, 1.0),
    (25.0, 1.0),
)
"""Power curve of the NREL 5 MW reference turbine as shares of its rated power (Jonkman et al. 2009)."""


@dataclass(frozen=True)
class WindTurbines:
    """Wind turbines of one kind, behind one block's meter or off site.

    Args:
        name: Such as "ridge".
        rated_kw: Rated power of all turbines, kW.
        hub_height_m: Height of the hub above ground, m.
        measured_height_m: Height above ground that the wind speed of the weather source is for, m.
        shear_exponent: Of the power law of wind speed over height; 1/7 over open land.
        elevation_m: Of the ground above the sea, m; thins the air.
        available_share: Energy left after outages, wakes and electrical losses, share.
        curve: (wind speed at hub height in m/s, share of rated power), by rising speed; nothing below the first speed
            or above the last.
    """

    name: str
    rated_kw: float
    hub_height_m: float
    measured_height_m: float = 100.0
    shear_exponent: float = 1.0 / 7.0
    elevation_m: float = 0.0
    available_share: float = 0.9
    curve: tuple[tuple[float, float], ...] = NREL_5MW


def wind_power_kw(
    turbines: WindTurbines, wind_speed_m_per_s: npt.NDArray[np.float64], dry_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the AC power that turbines could give, before curtailment.

    Args:
        turbines: The turbines.
        wind_speed_m_per_s: Wind speed per slot at `measured_height_m`, m/s, shape (T,).
        dry_bulb_c: Air temperature per slot, deg C, shape (T,).

    Returns:
        AC power in kW, shape (T,), between 0 and rated_kw.

    Source:
        Power law of wind over height; the curve is entered at the speed that has the same power in air of standard
        density (IEC 61400-12-1:2017, 9.1.5, for pitch-controlled turbines); air pressure by the standard atmosphere
        (ISO 2533:1975), 0 to 11 km. Hourly means hide gusts within the hour.
    """
    hub = wind_speed_m_per_s * (turbines.hub_height_m / turbines.measured_height_m) ** turbines.shear_exponent
    pressure_pa = 101_325.0 * (1.0 - 2.25577e-5 * turbines.elevation_m) ** 5.25588
    density = pressure_pa / (DRY_AIR_J_PER_KG_K * (dry_bulb_c + ZERO_C_K))
    speeds, shares = (np.array(column) for column in zip(*turbines.curve, strict=True))
    entered = hub * (density / STANDARD_DENSITY_KG_PER_M3) ** (1.0 / 3.0)
    share = np.interp(entered, speeds, shares, left=0.0)
    # turbines stop for the wind itself, however thin the air
    share = np.where((hub > speeds[-1]) | (entered > speeds[-1]), 0.0, share)
    return np.asarray(turbines.rated_kw * turbines.available_share * share, dtype=np.float64)
