"""What heat pumps do with heat of the facility return: heat sold, power, heat taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.circuit import circuit
from thermal.components import heat_pump

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.loop import LiquidLoop
    from thermal.units_out import Running


class HeatFlows(NamedTuple):
    """Heat that leaves or enters a facility loop beside racks and rejection, kW, shape (T,) or one number for all.

    Args:
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it.
        sold_kw: Heat that the heat pumps give.
    """

    tank_kw: npt.NDArray[np.float64]
    sold_kw: npt.NDArray[np.float64]


NO_FLOWS = HeatFlows(np.zeros(()), np.zeros(()))


class Lift(NamedTuple):
    """The heat pumps' side, kW, arrays of one shape: heat sold = taken_kw + power_kw.

    Args:
        taken_kw: Heat taken from the loop.
        power_kw: Electrical power.
    """

    taken_kw: npt.NDArray[np.float64]
    power_kw: npt.NDArray[np.float64]


def source_c(
    loop: LiquidLoop, load: npt.NDArray[np.float64], held_c: npt.NDArray[np.float64], running: Running
) -> npt.NDArray[np.float64]:
    """Return the loop water into the heat pumps at the supply that is held, deg C.

    Where nothing can hold the supply the water is warmer and the heat pumps take a little less power than told.

    Args:
        loop: The loop.
        load: IT power over rated IT power, shape (...).
        held_c: Rack supply that the controls hold, deg C, shape (...).
        running: Units that run.
    """
    closed = circuit(loop, load, running)
    return np.asarray(held_c - closed.cdu_k + closed.heat / (closed.facility_flow * loop.facility_rate_per_k))


def lift(
    loop: LiquidLoop,
    load: npt.NDArray[np.float64],
    held_c: npt.NDArray[np.float64],
    running: Running,
    sold_kw: npt.NDArray[np.float64],
) -> Lift:
    """Return what heat pumps take for heat sold, kW, shape (...); other arguments as for `source_c`."""
    if not sold_kw.any():
        return Lift(np.zeros(()), np.zeros(()))
    power_kw = sold_kw / heat_pump.cop(loop.heat_pump, source_c(loop, load, held_c, running))
    return Lift(np.asarray(sold_kw - power_kw), power_kw)
