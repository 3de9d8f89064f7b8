"""The steady state in which a failure finds the loops."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.transient.inertia import LoopInertia


@dataclass(frozen=True)
class LoopOperation:
    """How the loops run before a failure; all arguments broadcast against each other, loads against ambients.

    Args:
        heat_kw: Heat of the chips into the liquid, kW, shape (...).
        rack_supply_c: Liquid to the cold plates, deg C, shape (...).
        rack_rate_kw_per_k: Heat capacity rate of the rack loop's flow, kW/K, shape (...).
        facility_rate_kw_per_k: Heat capacity rate of the facility loop's flow, kW/K, shape (...).
        rated_case_rise_k: Case above rack supply that rated heat would give at this flow, K, shape (...): the cold
            plate's resistance in K/W times the rated W of its chip.
        rated_cdu_approach_k: Rack supply above facility supply that rated heat would give at these flows, K, shape
            (...).
        ambient_c: Air around the heat rejection, deg C, shape (...).
        rack_pump_kw: Heat of the rack loop's pumps, between CDU and cold plates, kW, shape (...).
        facility_pump_kw: Heat of the facility loop's pumps, between heat rejection and CDU, kW, shape (...).
    """

    heat_kw: npt.ArrayLike
    rack_supply_c: npt.ArrayLike
    rack_rate_kw_per_k: npt.ArrayLike
    facility_rate_kw_per_k: npt.ArrayLike
    rated_case_rise_k: npt.ArrayLike
    rated_cdu_approach_k: npt.ArrayLike
    ambient_c: npt.ArrayLike
    rack_pump_kw: npt.ArrayLike = 0.0
    facility_pump_kw: npt.ArrayLike = 0.0


class SteadyLoop(NamedTuple):
    """The steady state, powers and rates per kW of rated heat; arrays of one shape.

    Args:
        heat: Heat of the chips.
        rack_pump: Heat of the rack loop's pumps.
        facility_pump: Heat of the facility loop's pumps.
        ambient_c: Air around the heat rejection, deg C.
        rack_rate: Heat capacity rate of the rack loop, 1/K.
        facility_rate: Heat capacity rate of the facility loop, 1/K.
        solid: Conductance from case to plate, 1/K.
        plate: Conductance from plate to the coolant as it comes in, 1/K.
        cdu: Conductance of the CDU from rack return to facility supply, 1/K.
        case_c: Chip cases, deg C.
        plate_c: Cold plates, deg C.
        rack_return_c: Coolant from the cold plates, deg C.
        cdu_c: Coolant out of the CDU, deg C.
        rack_supply_c: Coolant to the cold plates, deg C.
        facility_return_c: Facility water out of the CDU, deg C.
        cooler_c: Facility water out of the heat rejection, deg C.
        facility_supply_c: Facility water to the CDU, deg C.
    """

    heat: npt.NDArray[np.float64]
    rack_pump: npt.NDArray[np.float64]
    facility_pump: npt.NDArray[np.float64]
    ambient_c: npt.NDArray[np.float64]
    rack_rate: npt.NDArray[np.float64]
    facility_rate: npt.NDArray[np.float64]
    solid: npt.NDArray[np.float64]
    plate: npt.NDArray[np.float64]
    cdu: npt.NDArray[np.float64]
    case_c: npt.NDArray[np.float64]
    plate_c: npt.NDArray[np.float64]
    rack_return_c: npt.NDArray[np.float64]
    cdu_c: npt.NDArray[np.float64]
    rack_supply_c: npt.NDArray[np.float64]
    facility_return_c: npt.NDArray[np.float64]
    cooler_c: npt.NDArray[np.float64]
    facility_supply_c: npt.NDArray[np.float64]


def steady_loop(inertia: LoopInertia, operation: LoopOperation) -> SteadyLoop:
    """Return the steady state of an operation.

    The coolant's warming is a resistance of its own, 1 / rate: what `rated_case_rise_k` and `rated_cdu_approach_k`
    leave beside it is the resistance of solids and films, and has to be positive for heat to flow from warm to cold.

    Args:
        inertia: The loops.
        operation: How they run, arguments of shapes that broadcast to (...).

    Returns:
        The state, every array of shape (...).

    Raises:
        ValueError: A value is not finite or not in its range, or a stream would leave an exchanger warmer than the
            other came in.
    """
    given = {f.name: np.asarray(getattr(operation, f.name), dtype=np.float64) for f in fields(operation)}
    _check_ranges(given)
    shape = np.broadcast_shapes(*(v.shape for v in given.values()))
    given = {name: np.broadcast_to(value, shape) for name, value in given.items()}
    rated_kw = inertia.rated_heat_kw
    heat, rack_pump, facility_pump = (given[n] / rated_kw for n in ("heat_kw", "rack_pump_kw", "facility_pump_kw"))
    rack_rate, facility_rate = given["rack_rate_kw_per_k"] / rated_kw, given["facility_rate_kw_per_k"] / rated_kw
    rise_k, approach_k = given["rated_case_rise_k"], given["rated_cdu_approach_k"]
    _check_exchangers(inertia, rise_k, approach_k, 1.0 / rack_rate, 1.0 / facility_rate)
    film_k = rise_k - 1.0 / rack_rate
    solid = 1.0 / (inertia.solid_share * film_k)
    plate = 1.0 / (rise_k - inertia.solid_share * film_k)
    cdu = 1.0 / (approach_k + 1.0 / rack_rate)
    supply_c = given["rack_supply_c"]
    return_c = supply_c + heat / rack_rate
    facility_supply_c = return_c - (heat + rack_pump) / cdu
    return SteadyLoop(
        heat=heat,
        rack_pump=rack_pump,
        facility_pump=facility_pump,
        ambient_c=given["ambient_c"],
        rack_rate=rack_rate,
        facility_rate=facility_rate,
        solid=solid,
        plate=plate,
        cdu=cdu,
        case_c=supply_c + heat * rise_k,
        plate_c=supply_c + heat / plate,
        rack_return_c=return_c,
        cdu_c=supply_c - rack_pump / rack_rate,
        rack_supply_c=supply_c,
        facility_return_c=facility_supply_c + (heat + rack_pump) / facility_rate,
        cooler_c=facility_supply_c - facility_pump / facility_rate,
        facility_supply_c=facility_supply_c,
    )


def _check_ranges(given: dict[str, npt.NDArray[np.float64]]) -> None:
    for name, value in given.items():
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds a value that is not finite; give numbers only")
        if name.endswith("_rate_kw_per_k") and (value <= 0.0).any():
            raise ValueError(f"{name} is {value.min():g} kW/K; before a failure a loop has a flow above 0")
        if name.endswith("_kw") and (value < 0.0).any():
            raise ValueError(f"{name} is {value.min():g} kW; heat into the loop is 0 or more")


def _check_exchangers(
    inertia: LoopInertia,
    rise_k: npt.NDArray[np.float64],
    approach_k: npt.NDArray[np.float64],
    rack_warming_k: npt.NDArray[np.float64],
    facility_warming_k: npt.NDArray[np.float64],
) -> None:
    low = rise_k <= rack_warming_k
    if low.any():
        raise ValueError(
            f"rated_case_rise_k is {rise_k[low][0]:g} K, not above the {rack_warming_k[low][0]:g} K by which rated "
            "heat warms the coolant, which would leave warmer than the plates; raise the flow or the rise"
        )
    least_k = np.maximum(facility_warming_k - rack_warming_k, 0.0)
    low = approach_k < least_k
    if low.any():
        raise ValueError(
            f"rated_cdu_approach_k is {approach_k[low][0]:g} K, below {least_k[low][0]:g} K, where facility water "
            "leaves the CDU as warm as rack coolant comes in; raise the facility loop's flow or the approach"
        )
    plate_k = rise_k - inertia.solid_share * (rise_k - rack_warming_k)
    stagnant = inertia.stagnant_w_per_kw_per_k / 1000.0
    if (stagnant * plate_k > 1.0).any():
        raise ValueError(
            f"stagnant_w_per_kw_per_k is {inertia.stagnant_w_per_kw_per_k:g} W/K per kW, above the "
            f"{1000.0 / plate_k.max():g} W/K per kW of the flowing coolant; standing coolant takes less heat"
        )
