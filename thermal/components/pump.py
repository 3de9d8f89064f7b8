"""The pumps of one loop: a flow that follows the load down to a floor, a static head, affinity laws for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

OVERSPEED = 1.1  # highest flow of a pump over its design flow (K)


@dataclass(frozen=True)
class Pump:
    """The pumps of one loop.

    Args:
        flow_floor: Lowest flow, over design flow. Frontier's day asks for 0.9 to 1; a loop whose pumps follow the load
            may go to 0.3 to 0.5. Fit this first.
        head_kpa: Head at design flow, kPa.
        efficiency: Hydraulic over electrical power.
        static_share: Share of the head that does not fall with flow.
    """

    flow_floor: float = number(0.9, "", 0.05, 1.0, "Frontier 2024-04-07: 0.9 to 1 gives its PUE")
    head_kpa: float = number(250.0, "kPa", 10.0, 1000.0, "plates and heat exchangers, 50 to 100 kPa each, and pipes")
    efficiency: float = number(0.65, "", 0.1, 1.0, "pump, motor and drive of this size")
    static_share: float = number(0.2, "", 0.0, 1.0, "differential pressure kept at the racks")


def flow(pump: Pump, load: npt.NDArray[np.float64], running: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the flow over design flow.

    Args:
        pump: The pumps.
        load: IT power over rated IT power, shape (...).
        running: Share of the pumps that run.

    Returns:
        The load or the floor, whichever is larger; with pumps out at most what the others reach; shape (...).
    """
    wanted = np.maximum(load, pump.flow_floor)
    return np.asarray(wanted if running >= 1.0 else np.minimum(wanted, OVERSPEED * running))


def design_power(pump: Pump, volume_heat_kj_per_m3_k: float, rise_k: float) -> float:
    """Return power at design flow, over rated heat, for a coolant's heat per volume and the loop's design rise."""
    return pump.head_kpa / (volume_heat_kj_per_m3_k * rise_k * pump.efficiency)


def power(
    pump: Pump, design: float, flow_ratio: npt.NDArray[np.float64], running: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return pump power; all of it ends as heat in the loop.

    Args:
        pump: The pumps.
        design: Power at design flow, over rated heat.
        flow_ratio: Flow of the whole loop over design flow, 0 or more, shape (...).
        running: Share of the pumps that run and carry the flow.

    Returns:
        Power over rated heat, shape (...); 0 without flow.

    Source:
        Affinity laws: the dynamic head goes as the square of each pump's flow, the static head stays.
    """
    each = flow_ratio / running
    return np.asarray(running * design * (pump.static_share * each + (1.0 - pump.static_share) * each**3))
