"""The cold plate: how much warmer a chip's case is than the coolant that reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

GLYCOL_FIT = (17.7, 6.5)  # K/kW: with 25 % propylene glycol (OCP OAI 2023, figure 7; largest error 2.6 %)
WATER_FIT = (14.15, 7.3)  # K/kW: with water, through the same figure's three points
EXPONENT = -1.26
LEAST_FIT_L_PER_MIN = 0.4  # where the figure begins; below it, the coolant's own warming governs, as 1 / V
STILL_K_PER_KW = 700.0  # natural convection alone, no flow (K)


@dataclass(frozen=True)
class ColdPlate:
    """The plates of all chips, alike.

    Args:
        module_kw: Heat of one chip module into its plate at rated IT power, kW.
        case_limit_c: Highest temperature of a chip's case, deg C. What throttles a GPU is read from its own margin at
            run time; this limit is what the plan keeps to.
    """

    module_kw: float = number(1.0, "kW", 0.05, 5.0, "module of OCP OAI 2023, figure 7", "datasheet")
    case_limit_c: float = number(75.0, "C", 40.0, 110.0, "8 to 15 K below the 83 to 90 C at which an H100 throttles")


def resistance_k_per_kw(coolant: str, flow_l_per_min: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return case minus inlet temperature per kW of a module.

    Args:
        coolant: Name of the coolant; water has a fit of its own, glycol mixtures share that of 25 % propylene glycol.
        flow_l_per_min: Flow through one module's plate, 0 or more, L/min, shape (...).

    Returns:
        K/kW, shape (...); never above the resistance of a plate without flow.

    Source:
        OCP OAI 2023, figure 7, for a module of 1 kW: a + b V^-1.26, 0.4 to 2.4 L/min with glycol, 2 to 5 with water.
    """
    conduction, film = WATER_FIT if coolant == "water" else GLYCOL_FIT
    flow = np.maximum(flow_l_per_min, 1e-6)
    fitted = np.maximum(flow, LEAST_FIT_L_PER_MIN)
    forced = conduction + film * fitted**EXPONENT * (fitted / flow)
    return np.asarray(np.minimum(forced, STILL_K_PER_KW))


def case_c(
    plate: ColdPlate,
    coolant: str,
    supply_c: npt.NDArray[np.float64],
    load: npt.NDArray[np.float64],
    flow_l_per_min: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the temperature of the chips' cases, deg C.

    Args:
        plate: The plates.
        coolant: Name of the coolant.
        supply_c: Coolant to the racks, deg C, shape (...).
        load: IT power over rated IT power, shape (...).
        flow_l_per_min: Flow through one module's plate, L/min, shape (...).

    Returns:
        deg C, shape (...).
    """
    return np.asarray(supply_c + load * plate.module_kw * resistance_k_per_kw(coolant, flow_l_per_min))
