"""Coolant distribution units: the heat exchangers between rack loop and facility loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.exchanger import cold_end_k
from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

FILM_EXPONENT = 0.8  # turbulent film over flow, both sides (Dittus and Boelter 1930)
LEAST_FLOW = 1e-3  # natural circulation, over design flow: a stopped stream carries next to nothing, not nothing


@dataclass(frozen=True)
class Cdu:
    """All coolant distribution units, alike and in parallel.

    Args:
        approach_k: Rack supply minus facility supply at design heat and flows, K; 3 to 4.
        count: Number of units.
    """

    approach_k: float = number(4.0, "K", 0.5, 15.0, "XDU1350 datasheet", "datasheet")
    count: int = number(8, "", 1, 10_000, "units of about 2 MW in a 20 MW block")


def approach_k(
    ua_per_k: float,
    rates_per_k: tuple[float, float],
    heat: npt.NDArray[np.float64],
    rack_flow: npt.NDArray[np.float64],
    facility_flow: npt.NDArray[np.float64],
    running: float = 1.0,
) -> npt.NDArray[np.float64]:
    """Return rack supply minus facility supply, K.

    Args:
        ua_per_k: Conductance of all units at design flows, per kW of rated heat.
        rates_per_k: Capacity rates of rack and facility loop at design flow, per kW of rated heat.
        heat: Heat carried over rated heat, shape (...).
        rack_flow: Flow of the rack loop over its design flow, shape (...).
        facility_flow: Flow of the facility loop over its design flow, shape (...).
        running: Share of the units that run and carry all flow.

    Returns:
        K, shape (...).

    Source:
        Counter flow; two like film resistances at design, walls neglected.
    """
    hot, cold = (np.maximum(f / running, LEAST_FLOW) for f in (rack_flow, facility_flow))
    ua = 2.0 * ua_per_k / (hot**-FILM_EXPONENT + cold**-FILM_EXPONENT)
    return cold_end_k(heat / running, ua, hot * rates_per_k[0], cold * rates_per_k[1])
