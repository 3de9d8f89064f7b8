"""The exact course of all temperatures after a failure, with its energy account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.transient.operation import steady_loop
from thermal.transient.state_space import HEAT_OUT, NODES, Event, capacities_kj_per_k, generator, rates, start
from thermal.transient.step import increments

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.transient.inertia import LoopInertia
    from thermal.transient.operation import LoopOperation


@dataclass(frozen=True)
class LoopCourse:
    """Temperatures and heat after a failure; arrays of shape (..., T) for an operation of shape (...) and T times.

    Energy closes: heat_in_kj = stored_kj + heat_out_kj.

    Args:
        case_c: Chip cases, deg C.
        plate_c: Cold plates, deg C.
        rack_return_c: Coolant from the cold plates, deg C.
        cdu_c: Coolant out of the CDU, deg C.
        rack_supply_c: Coolant to the cold plates, deg C.
        facility_return_c: Facility water to heat rejection, deg C.
        cooler_c: Facility water out of heat rejection, deg C.
        facility_supply_c: Facility water to the CDU, deg C.
        heat_in_kj: Heat of chips and running pumps since the failure, kJ.
        heat_out_kj: Heat given to the ambient since the failure, kJ.
        stored_kj: Heat that chips, plates, coolant and metal took up since the failure, kJ.
    """

    case_c: npt.NDArray[np.float64]
    plate_c: npt.NDArray[np.float64]
    rack_return_c: npt.NDArray[np.float64]
    cdu_c: npt.NDArray[np.float64]
    rack_supply_c: npt.NDArray[np.float64]
    facility_return_c: npt.NDArray[np.float64]
    cooler_c: npt.NDArray[np.float64]
    facility_supply_c: npt.NDArray[np.float64]
    heat_in_kj: npt.NDArray[np.float64]
    heat_out_kj: npt.NDArray[np.float64]
    stored_kj: npt.NDArray[np.float64]


def course(event: Event, inertia: LoopInertia, operation: LoopOperation, time_s: npt.ArrayLike) -> LoopCourse:
    """Return the state of the loops at given times after a failure, exact whatever lies between the times.

    Args:
        event: What fails.
        inertia: The loops.
        operation: How they run before; its arguments broadcast to (...).
        time_s: Seconds after the failure, in any order, shape (T,).

    Returns:
        The course, every array of shape (..., T).

    Raises:
        ValueError: The operation is not possible (`LoopOperation`), or time_s is negative or not finite.
    """
    times = np.atleast_1d(np.asarray(time_s, dtype=np.float64))
    if not (np.isfinite(times).all() and (times >= 0.0).all()):
        raise ValueError("time_s holds a value that is negative or not finite; times count from the failure")
    steady = steady_loop(inertia, operation)
    first, rate = start(steady), rates(steady)
    alike, of_state = np.unique(rate.reshape(-1, rate.shape[-1]), axis=0, return_inverse=True)
    flat = first.reshape(-1, first.shape[-1])
    gain = np.empty((flat.shape[0], times.size, first.shape[-1]))
    for index, one in enumerate(alike):
        members = of_state == index
        gain[members] = np.einsum("tij,nj->nti", increments(generator(event, inertia, one), times), flat[members])
    gain = gain.reshape(*steady.heat.shape, *gain.shape[1:])
    power = steady.heat + steady.facility_pump + (0.0 if event is Event.PUMP_LOSS else steady.rack_pump)
    before_c = steady.rack_supply_c[..., None, None] + first[..., None, :]
    rated_kw = inertia.rated_heat_kw
    return LoopCourse(
        **{name: before_c[..., index] + gain[..., index] for index, name in enumerate(NODES)},
        heat_in_kj=rated_kw * power[..., None] * times,
        heat_out_kj=rated_kw * gain[..., HEAT_OUT],
        stored_kj=rated_kw * gain[..., : len(NODES)] @ capacities_kj_per_k(inertia),
    )
