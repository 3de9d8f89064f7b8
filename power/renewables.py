"""Power of solar arrays from weather."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from power.later import LATER
from power.sun import Plane, plane_irradiance_w_per_m2

if TYPE_CHECKING:
    import numpy.typing as npt

STC_IRRADIANCE_W_PER_M2 = 1000.0
STC_CELL_TEMP_C = 25.0
NOCT_RISE_K_PER_W_M2 = 25.0 / 800.0  # cell above ambient for a nominal operating cell temperature of 45 C


@dataclass(frozen=True)
class SolarArray:
    """A photovoltaic array, behind one block's meter or off site.

    Args:
        name: Such as "roof".
        peak_kw: DC power at standard test conditions, kW.
        inverter_kw: Largest AC power, kW.
        system_efficiency: AC over DC energy apart from temperature (wiring, soiling, inverter), in (0, 1].
        temp_coefficient_per_k: Change of power per kelvin of cell temperature, negative, 1/K.
        plane: How its modules stand; None where they lie flat, on which all global irradiance falls as it is.
    """

    name: str
    peak_kw: float
    inverter_kw: float
    system_efficiency: float
    temp_coefficient_per_k: float
    plane: Plane | None = field(default=None, metadata=LATER)


def solar_power_kw(
    array: SolarArray,
    start: datetime,
    slot_minutes: int,
    ghi_w_per_m2: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the AC power an array could give, before curtailment.

    Args:
        array: The array.
        start: Start of the first slot, UTC.
        slot_minutes: Length of a slot, min.
        ghi_w_per_m2: Global horizontal irradiance, slot mean, W/m2, shape (T,), 0 to about 1,400.
        dry_bulb_c: Air temperature per slot, deg C, shape (T,).

    Returns:
        AC power in kW, shape (T,), between 0 and inverter_kw.

    Source:
        PVWatts version 5 (Dobos 2014, NREL/TP-6A20-62641) for the power and its temperature term; cell temperature by
        the nominal-operating-cell-temperature rule (Ross 1976); the inverter's efficiency is part of system_efficiency.
    """
    on_plane = ghi_w_per_m2
    if array.plane is not None:
        on_plane = plane_irradiance_w_per_m2(array.plane, start, slot_minutes, ghi_w_per_m2)
    cell_c = dry_bulb_c + NOCT_RISE_K_PER_W_M2 * on_plane
    dc_kw = (
        array.peak_kw
        * on_plane
        / STC_IRRADIANCE_W_PER_M2
        * (1.0 + array.temp_coefficient_per_k * (cell_c - STC_CELL_TEMP_C))
    )
    return np.clip(dc_kw * array.system_efficiency, 0.0, array.inverter_kw)
