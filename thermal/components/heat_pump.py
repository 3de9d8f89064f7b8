"""Heat reuse: a heat pump that lifts heat of the facility loop's return to a supply temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

KELVIN = 273.15


@dataclass(frozen=True)
class HeatPump:
    """All heat pumps.

    Args:
        capacity_share: Heat taken from the loop at most, over rated heat; 0: there is none.
        supply_c: Temperature of the heat sold, deg C.
        carnot_share: Heat over power, over that of Carnot between the loop's return and the heat sold.
        min_lift_k: Smallest lift that counts, K.
    """

    capacity_share: float = number(0.0, "", 0.0, 1.0, "0: no heat pump")
    supply_c: float = number(85.0, "C", 30.0, 120.0, "Kajaani: 30 to 85 C", "datasheet")
    carnot_share: float = number(0.668, "", 0.1, 0.9, "Kajaani: 4.35 heat over power from 30 to 85 C", "datasheet")
    min_lift_k: float = number(10.0, "K", 1.0, 60.0, "smallest pressure ratio of compressors")


def cop(pump: HeatPump, source_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return heat sold over electrical power, above 1.

    Args:
        pump: The heat pumps.
        source_c: Loop water into the heat pump, deg C, shape (...).

    Returns:
        Ratio, shape (...).

    Source:
        Carnot's efficiency times a fixed share (Kajaani, 25.8 MW of cooling and 33.5 MW of heat).
    """
    lift_k = np.maximum(pump.supply_c - source_c, pump.min_lift_k)
    return np.asarray(np.maximum(pump.carnot_share * (pump.supply_c + KELVIN) / lift_k, 1.0 + 1e-9))


def taken_per_sold(cop_heat: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return heat taken from the loop per heat sold, from 0 to 1, shape of `cop_heat`; the rest is electrical power."""
    return np.asarray(1.0 - 1.0 / cop_heat)
