"""Trim chillers in series behind the free cooling: part load, lift and staging."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

KELVIN = 273.15
PART_LOAD = (0.033, 0.685, 0.282)  # power over full power: a + b p + c p^2 of part load p; they add up to 1 (K)


@dataclass(frozen=True)
class Chiller:
    """All chillers, alike, each with a condenser of its own outdoors.

    Args:
        capacity_share: Cooling of all chillers over rated heat; 0: there is none.
        count: Number of chillers.
        carnot_share: Efficiency at full load over that of Carnot between evaporating and condensing temperature.
        evaporator_approach_k: Water out of the chiller minus evaporating temperature, K.
        condenser_approach_k: Condensing temperature minus outdoor air (wet bulb beside a tower), K.
        min_lift_k: Smallest lift that head-pressure control keeps, K.
        min_part_load_share: Load of one chiller below which its power falls no further.
        condenser_fan_w_per_kw: Condenser fans and pumps, W per kW of heat given to the outdoor air.
    """

    capacity_share: float = number(0.0, "", 0.0, 2.0, "0: no chiller")
    count: int = number(2, "", 1, 16, "one may fail")
    carnot_share: float = number(0.55, "", 0.1, 0.9, "screw and centrifugal chillers")
    evaporator_approach_k: float = number(3.0, "K", 0.0, 15.0, "flooded evaporators")
    condenser_approach_k: float = number(12.0, "K", 0.0, 30.0, "air-cooled condensers; about 8 beside a tower")
    min_lift_k: float = number(15.0, "K", 3.0, 60.0, "head-pressure control")
    min_part_load_share: float = number(0.10, "", 0.0, 0.5, "turn-down of centrifugal chillers")
    condenser_fan_w_per_kw: float = number(15.0, "W/kW", 0.0, 100.0, "condenser fans")


def cop(
    chiller: Chiller, leaving_c: npt.NDArray[np.float64], sink_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return heat moved over compressor power at full load.

    Args:
        chiller: The chillers.
        leaving_c: Water out of the chiller, deg C, shape (...).
        sink_c: Outdoor air at the condenser, deg C: dry bulb, or wet bulb beside a tower, shape (...).

    Returns:
        Ratio, shape (...).

    Source:
        Carnot's efficiency over the lift between refrigerant temperatures, times a fixed share.
    """
    evaporating_c = leaving_c - chiller.evaporator_approach_k
    lift_k = np.maximum(sink_c + chiller.condenser_approach_k - evaporating_c, chiller.min_lift_k)
    return np.asarray(chiller.carnot_share * (evaporating_c + KELVIN) / lift_k)


def power(
    chiller: Chiller, cooled: npt.NDArray[np.float64], cop_full: npt.NDArray[np.float64], running: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return compressor power with as many chillers on as take the least: the lower envelope over all numbers.

    Args:
        chiller: The chillers; `capacity_share` is above 0.
        cooled: Heat taken from the water over rated heat, at most what the running ones can carry, shape (...).
        cop_full: Heat over power at full load, shape (...).
        running: Share of the chillers that may run.

    Returns:
        Power over rated heat, shape (...); 0 where nothing is cooled.
    """
    each = chiller.capacity_share / chiller.count
    # at this part load a chiller's power per heat is least
    best = max(math.sqrt(PART_LOAD[0] / PART_LOAD[2]), chiller.min_part_load_share)
    fewest = np.maximum(np.ceil(cooled / each * (1.0 - 1e-12)), 1.0)
    most = np.maximum(chiller.count * running, fewest)
    wished = cooled / (each * best)
    fewer, more = (np.clip(n, fewest, most) for n in (np.floor(wished), np.ceil(wished)))
    return np.minimum(power_of(chiller, cooled, cop_full, fewer), power_of(chiller, cooled, cop_full, more))


def power_of(
    chiller: Chiller,
    cooled: npt.NDArray[np.float64],
    cop_full: npt.NDArray[np.float64],
    number_on: npt.NDArray[np.float64] | int,
) -> npt.NDArray[np.float64]:
    """Return compressor power with a given number of chillers on, each alike loaded; arguments as for `power`."""
    on = number_on * chiller.capacity_share / chiller.count
    part = np.maximum(cooled / on, chiller.min_part_load_share)
    full_share = PART_LOAD[0] + part * (PART_LOAD[1] + part * PART_LOAD[2])
    return np.where(cooled > 0.0, on * full_share / cop_full, 0.0)
