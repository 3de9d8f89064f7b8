"""The linear model: x' = A x + B u over eight temperatures, per event."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from thermal.transient.operation import SteadyLoop

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.transient.inertia import LoopInertia

NODES = (
    "case_c",
    "plate_c",
    "rack_return_c",
    "cdu_c",
    "rack_supply_c",
    "facility_return_c",
    "cooler_c",
    "facility_supply_c",
)
CASE, PLATE, RACK_RETURN, CDU, RACK_SUPPLY, FACILITY_RETURN, COOLER, FACILITY_SUPPLY = range(len(NODES))
HEAT_OUT = len(NODES)  # heat given off since the event, kJ per kW of rated heat
HEAT, RACK_PUMP, FACILITY_PUMP, AMBIENT = range(HEAT_OUT + 1, HEAT_OUT + 5)  # inputs stand in the state and stay
SIZE = HEAT_OUT + 5
RATES = ("rack_rate", "facility_rate", "solid", "plate", "cdu")  # all of an operation that the matrix depends on


class Event(StrEnum):
    """What fails, at time 0 and wholly.

    PUMP_LOSS: the rack loop's pumps; its coolant stands still. CDU_LOSS: the CDU's facility side is shut; rack coolant
    goes on circulating, uncooled. REJECTION_LOSS: heat rejection; both loops go on circulating. In the first two, heat
    rejection goes on holding its outlet at the temperature it had.
    """

    PUMP_LOSS = "pump_loss"
    CDU_LOSS = "cdu_loss"
    REJECTION_LOSS = "rejection_loss"


def capacities_kj_per_k(inertia: LoopInertia) -> npt.NDArray[np.float64]:
    """Return the heat capacities of `NODES`, kJ/K per kW of rated heat, shape (8,)."""
    rack_kj, facility_kj = inertia.rack_coolant_kj_per_m3_per_k, inertia.facility_coolant_kj_per_m3_per_k
    per_j = (
        inertia.case_j_per_kw_per_k,
        inertia.plate_j_per_kw_per_k,
        inertia.rack_return_l_per_kw * rack_kj,
        inertia.cdu_j_per_kw_per_k,
        inertia.rack_supply_l_per_kw * rack_kj,
        inertia.facility_return_l_per_kw * facility_kj,
        inertia.cooler_j_per_kw_per_k,
        inertia.facility_supply_l_per_kw * facility_kj,
    )
    return np.array(per_j) / 1000.0


def start(steady: SteadyLoop) -> npt.NDArray[np.float64]:
    """Return the state at time 0, shape (..., SIZE): temperatures, no heat given off yet, and the inputs.

    Temperatures, the ambient's too, are in K above the rack supply before the event: differences lose no digits to a
    level that has no part in any flow of heat.
    """
    above_k = [getattr(steady, name) - steady.rack_supply_c for name in NODES]
    powers = [steady.heat, steady.rack_pump, steady.facility_pump]
    return np.stack([*above_k, np.zeros_like(steady.heat), *powers, steady.ambient_c - steady.rack_supply_c], axis=-1)


def rates(steady: SteadyLoop) -> npt.NDArray[np.float64]:
    """Return `RATES`, 1/K per kW of rated heat, shape (..., 5)."""
    return np.stack([getattr(steady, name) for name in RATES], axis=-1)


def generator(event: Event, inertia: LoopInertia, rate: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the matrix G of z' = G z after an event, 1/s, where z holds temperatures, heat given off and inputs.

    Among the temperatures no entry off the diagonal is negative and each row adds up to 0 or less, as heat only flows
    from warm to cold. So where every temperature that the case depends on starts by rising, or every one by falling,
    it goes on so for ever. Each of the events is such a start: it takes a sink of heat away from one node and changes
    nothing else that the case can see. Hence the case crosses a limit at most once.

    Args:
        event: What fails.
        inertia: The loops.
        rate: The `RATES` before the event, 1/K per kW of rated heat, shape (5,).

    Returns:
        The matrix, shape (SIZE, SIZE).

    Source:
        M-matrices: Berman and Plemmons 1994, Nonnegative Matrices in the Mathematical Sciences, chapter 6.
    """
    rack, facility, solid, plate, cdu = rate
    stagnant = 0.0
    if event is Event.PUMP_LOSS:
        rack = plate = cdu = 0.0
        stagnant = inertia.stagnant_w_per_kw_per_k / 1000.0
    elif event is Event.CDU_LOSS:
        cdu = 0.0
    g = np.zeros((SIZE, SIZE))
    _flow(g, rack, RACK_SUPPLY, RACK_RETURN)
    _flow(g, rack, RACK_RETURN, CDU)
    _flow(g, rack, CDU, RACK_SUPPLY)
    _flow(g, facility, FACILITY_SUPPLY, FACILITY_RETURN)
    _flow(g, facility, COOLER, FACILITY_SUPPLY)
    _exchange(g, solid, (CASE, PLATE), CASE, PLATE)
    _exchange(g, stagnant, (PLATE, RACK_RETURN), PLATE, RACK_RETURN)
    _exchange(g, plate, (PLATE, RACK_SUPPLY), PLATE, RACK_RETURN)
    _exchange(g, cdu, (RACK_RETURN, FACILITY_SUPPLY), CDU, FACILITY_RETURN)
    g[CASE, HEAT] = 1.0
    g[FACILITY_SUPPLY, FACILITY_PUMP] = 1.0
    if event is not Event.PUMP_LOSS:
        g[RACK_SUPPLY, RACK_PUMP] = 1.0
    if event is Event.REJECTION_LOSS:
        passive = inertia.passive_w_per_kw_per_k / 1000.0
        _flow(g, facility, FACILITY_RETURN, COOLER)
        g[COOLER, COOLER] -= passive
        g[COOLER, AMBIENT] += passive
        g[HEAT_OUT, COOLER], g[HEAT_OUT, AMBIENT] = passive, -passive
    else:
        g[HEAT_OUT, FACILITY_RETURN], g[HEAT_OUT, COOLER] = facility, -facility
    g[: len(NODES)] /= capacities_kj_per_k(inertia)[:, None]
    return g


def _flow(g: npt.NDArray[np.float64], rate: float, source: int, into: int) -> None:
    """Add a stream that enters `into` as it left `source`."""
    g[into, source] += rate
    g[into, into] -= rate


def _exchange(
    g: npt.NDArray[np.float64], conductance: float, warm_cold: tuple[int, int], leaves: int, enters: int
) -> None:
    """Add heat conductance * (T_warm - T_cold) that leaves one node and enters another; streams carry it further."""
    warm, cold = warm_cold
    for node, sign in ((leaves, -1.0), (enters, 1.0)):
        g[node, warm] += sign * conductance
        g[node, cold] -= sign * conductance
