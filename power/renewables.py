"""Power of on-site solar from weather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

STC_IRRADIANCE_W_PER_M2 = 1000.0
STC_CELL_TEMP_C = 25.0
NOCT_RISE_K_PER_W_M2 = 25.0 / 800.0  # cell above ambient for a nominal operating cell temperature of 45 C


@dataclass(frozen=True)
class SolarArray:
    """A horizontal photovoltaic array behind one block's meter.

    Args:
        name: Such as "roof".
        peak_kw: DC power at standard test conditions, kW.
        inverter_kw: Largest AC power, kW.
        system_efficiency: AC over DC energy apart from temperature (wiring, soiling, inverter), in (0, 1].
        temp_coefficient_per_k: Change of power per kelvin of cell temperature, negative, 1/K.
    """

    name: str
    peak_kw: float
    inverter_kw: float
    system_efficiency: float
    temp_coefficient_per_k: float


def solar_power_kw(
    array: SolarArray, ghi_w_per_m2: npt.NDArray[np.float64], dry_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the AC power an array could give, before curtailment.

    Args:
        array: The array.
        ghi_w_per_m2: Global horizontal irradiance per slot, W/m2, shape (T,), 0 to about 1,400.
        dry_bulb_c: Air temperature per slot, deg C, shape (T,).

    Returns:
        AC power in kW, shape (T,), between 0 and inverter_kw.

    Source:
        PVWatts version 5 (Dobos 2014, NREL/TP-6A20-62641) for the power and its temperature term; cell temperature by
        the nominal-operating-cell-temperature rule (Ross 1976).
    """
    cell_c = dry_bulb_c + NOCT_RISE_K_PER_W_M2 * ghi_w_per_m2
    dc_kw = (
        array.peak_kw
        * ghi_w_per_m2
        / STC_IRRADIANCE_W_PER_M2
        * (1.0 + array.temp_coefficient_per_k * (cell_c - STC_CELL_TEMP_C))
    )
    return np.clip(dc_kw * array.system_efficiency, 0.0, array.inverter_kw)
