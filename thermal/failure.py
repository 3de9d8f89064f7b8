"""Failures in a plant's liquid loops: the plant as the transient model takes it, and the seconds to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.circuit import circuit
from thermal.coil import coil
from thermal.components import cdu, cold_plate
from thermal.components.dry_cooler import DryCooler
from thermal.plant import cooling
from thermal.transient import LoopInertia, LoopOperation, time_to_limit_s
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.loop import LiquidLoop
    from thermal.transient import Event

FILM_SHARE = 0.02  # of the coolant's warming: the least by which cases stay above the coolant that leaves their plates


def inertia(plant: CoolingPlant) -> LoopInertia:
    """Return the loops of a plant as heat stores.

    Volumes and heat capacities are those of a usual plant, none of them measured. Where dry coolers lose their fans,
    the draught that the plant's own description names goes on; towers are counted on for nothing.

    Args:
        plant: The plant; it has a liquid loop.

    Raises:
        ValueError: The plant has no liquid loop.
    """
    loop = _liquid(plant)
    return LoopInertia(
        rated_heat_kw=plant.rated_it_kw * plant.liquid_heat_share,
        passive_w_per_kw_per_k=_draught_w_per_kw_per_k(loop),
        rack_coolant_kj_per_m3_per_k=loop.rack_volume_kj_per_m3_k,
        facility_coolant_kj_per_m3_per_k=loop.facility_volume_kj_per_m3_k,
    )


def operation(
    plant: CoolingPlant,
    it_kw: npt.ArrayLike,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    supply_c: npt.ArrayLike | None = None,
) -> LoopOperation:
    """Return how a plant runs as a failure finds it.

    Args:
        plant: The plant; it has a liquid loop.
        it_kw: IT power, kW, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).
        supply_c: Liquid supply that is held, deg C, shape (...); by default the plant's own.

    Returns:
        The operation, of the arguments' shape.

    Raises:
        ValueError: The plant has no liquid loop.
    """
    loop, rated_kw = _liquid(plant), plant.rated_it_kw * plant.liquid_heat_share
    it, dry, wet = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (it_kw, dry_bulb_c, wet_bulb_c)))
    closed = circuit(loop, it / plant.rated_it_kw, ALL)
    rack_per_k, facility_per_k = (
        closed.rack_flow * loop.rack_rate_per_k,
        closed.facility_flow * loop.facility_rate_per_k,
    )
    plate_flow = loop.module_flow_l_per_min * closed.rack_flow
    rise_k = loop.cold_plate.module_kw * cold_plate.resistance_k_per_kw(loop.rack_coolant, plate_flow)
    approach_k = cdu.approach_k(
        loop.cdu_ua_per_k,
        (loop.rack_rate_per_k, loop.facility_rate_per_k),
        np.ones_like(it),
        closed.rack_flow,
        closed.facility_flow,
    )
    return LoopOperation(
        heat_kw=it * plant.liquid_heat_share,
        rack_supply_c=cooling(plant, it, dry, wet, supply_c=supply_c).supply_temp_c,
        rack_rate_kw_per_k=rated_kw * rack_per_k,
        facility_rate_kw_per_k=rated_kw * facility_per_k,
        # fits of plates, read far below their flows, could have the coolant leave warmer than the chips
        rated_case_rise_k=np.maximum(rise_k, (1.0 + FILM_SHARE) / rack_per_k),
        rated_cdu_approach_k=np.maximum(approach_k, 1.0 / facility_per_k - 1.0 / rack_per_k),
        ambient_c=dry,
        rack_pump_kw=rated_kw * closed.rack_pump,
        facility_pump_kw=rated_kw * closed.facility_pump,
    )


def seconds_to_limit(
    plant: CoolingPlant,
    event: Event,
    it_kw: npt.ArrayLike,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    limit_c: npt.ArrayLike,
) -> npt.NDArray[np.float64]:
    """Return the time from a failure until the chips' cases reach a limit.

    Args:
        plant: The plant; it has a liquid loop.
        event: What fails.
        it_kw: IT power before and after, kW, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).
        limit_c: Highest case temperature, deg C; broadcasts against the others.

    Returns:
        Seconds, shape (...); 0 where the limit is reached already, inf where it never is.

    Raises:
        ValueError: The plant has no liquid loop.
    """
    return time_to_limit_s(event, inertia(plant), operation(plant, it_kw, dry_bulb_c, wet_bulb_c), limit_c)


def _liquid(plant: CoolingPlant) -> LiquidLoop:
    if plant.loop is None:
        raise ValueError(f"a {plant.kind} plant has no liquid loop whose failure could be followed")
    return plant.loop


def _draught_w_per_kw_per_k(loop: LiquidLoop) -> float:
    if not isinstance(loop.rejection, DryCooler):
        return 0.0
    still = coil(loop, np.ones(()), np.ones(()), np.zeros(()), ALL.rejection)
    return 1000.0 / float(still.resistance_k(loop.rejection.natural_draught_share))
