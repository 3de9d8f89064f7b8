"""What a tank beside the facility loop and heat taken for reuse leave to be rejected.

The tank's water flows beside the coolant distribution units: filling brings warm water of the tank to the heat
rejection together with their return, drawing lets a part of their return into the tank and spares the rejection its
flow and its heat. The racks' own side, flows and approaches, knows nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.circuit import Circuit
    from thermal.loop import LiquidLoop

LEAST_FLOW = 1e-3  # of design flow: where the tank takes all of the return, nothing is left to be cooled


class Rejected(NamedTuple):
    """What goes to the heat rejection, per kW of rated liquid heat; arrays of one shape.

    Args:
        flow: Flow through the heat rejection over the facility loop's design flow.
        heat: Heat to be rejected.
        taken: Heat taken for reuse, at most what there is.
        tank: Heat rejected to fill the tank with cold; below 0 heat that goes into it, at most what there is.
        pump: Power of the tank's pumps.
    """

    flow: npt.NDArray[np.float64]
    heat: npt.NDArray[np.float64]
    taken: npt.NDArray[np.float64]
    tank: npt.NDArray[np.float64]
    pump: npt.NDArray[np.float64]


def rejected(
    loop: LiquidLoop, closed: Circuit, taken: npt.NDArray[np.float64], tank: npt.NDArray[np.float64]
) -> Rejected:
    """Return what goes to the heat rejection; arguments broadcast against each other.

    Args:
        loop: The loop.
        closed: The closed side of its loops.
        taken: Heat taken from the facility return for reuse, over rated liquid heat, 0 or more, shape (...).
        tank: Heat rejected to fill the tank with cold, below 0 heat that goes into it, over rated liquid heat,
            shape (...).

    Returns:
        Flow, heats and power, each of the broadcast shape.
    """
    filled, drawn = np.maximum(tank, 0.0), np.minimum(np.maximum(-tank, 0.0), closed.heat)
    pump = loop.store.pump_w_per_kw / 1000.0 * (filled + drawn)
    whole = closed.heat + pump
    reused = np.minimum(taken, whole - drawn)
    warm_k = closed.heat / (closed.facility_flow * loop.facility_rate_per_k)
    into = filled / (loop.facility_rate_per_k * loop.store.rise_k)
    # water that returns warmer than the tank's usual rise takes its heat into the tank with less flow
    beside = drawn / (loop.facility_rate_per_k * np.maximum(loop.store.rise_k, warm_k))
    return Rejected(
        flow=np.maximum(closed.facility_flow + into - beside, LEAST_FLOW),
        heat=whole + filled - drawn - reused,
        taken=reused,
        tank=filled - drawn,
        pump=pump,
    )
