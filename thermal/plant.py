"""Cooling plants: what it takes to carry the heat of a block's IT power to the outdoor air."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.catalogue import settings
from thermal.chain import loop_state, safe_at_limit
from thermal.components.room import room_state
from thermal.description import CoolingPlant
from thermal.halving import halved
from thermal.outdoors import outdoors
from thermal.ready import dry_cooler, room_air, tower_chiller
from thermal.reuse import lift
from thermal.setpoint import held_supply_c, leakage_share
from thermal.units_out import ALL, Running

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "CoolingPlant",
    "CoolingState",
    "cooling",
    "dry_cooler",
    "outages",
    "room_air",
    "setpoint_c",
    "settings",
    "tower_chiller",
    "w_max_kw",
    "w_max_n1_kw",
]

SCAN_STEPS = 20  # loads at which limits are looked at first, over rated IT power
BISECTIONS = 46  # halves the span between two of them to rounding error


@dataclass(frozen=True)
class CoolingState:
    """A plant's steady state; arrays of one shape (...).

    Energy closes: heat_rejected_kw = IT power + pump_kw + room_fan_kw + compressor_kw + tank_kw - heat_taken_kw, and
    heat_sold_kw + heat taken without a heat pump = heat_taken_kw + heat_pump_kw. Fans that stand behind the coils
    outdoors warm outdoor air only and are not part of it. Fields of liquid are not a number where there is no liquid.

    Args:
        cooling_kw: All electric power of cooling: fan_kw + pump_kw + compressor_kw, kW; not that of heat pumps.
        fan_kw: Outdoor and room fans, kW.
        room_fan_kw: Room fans alone, kW.
        pump_kw: Pumps of both loops and of the tank, kW.
        rack_pump_kw: Pumps of the rack loop alone, kW.
        compressor_kw: Compressors of chillers and room, kW.
        chiller_kw: Compressors of the chillers alone, kW.
        chiller_heat_kw: Heat that went through the chillers, kW.
        supply_temp_c: What the racks get, deg C: liquid, or air where there is no liquid.
        air_supply_temp_c: Air to the racks, deg C.
        rack_return_temp_c: Liquid from the racks, deg C.
        case_temp_c: Cases of the chips, deg C.
        facility_supply_temp_c: Facility water to the CDUs, deg C.
        return_temp_c: Facility water into the heat rejection, deg C.
        fan_speed: Speed of the coolers' or towers' fans, share of full; 0 where there is no liquid.
        water_l_per_h: Water that pads, towers and wet condensers take, L/h.
        heat_rejected_kw: Heat given to the outdoor air, kW.
        heat_taken_kw: Heat taken from the facility return for reuse, kW.
        heat_sold_kw: Heat that heat pumps give at their supply temperature, kW.
        heat_pump_kw: Power of the heat pumps, kW.
        tank_kw: Heat rejected to fill the tank with cold, below 0 the racks' heat that goes into it, kW.
        leakage_kw: Part of the IT power that chips warmer than at the design setpoint take, kW; it is in the IT power,
            not beside it, and below 0 for cooler chips.
    """

    cooling_kw: npt.NDArray[np.float64]
    fan_kw: npt.NDArray[np.float64]
    room_fan_kw: npt.NDArray[np.float64]
    pump_kw: npt.NDArray[np.float64]
    rack_pump_kw: npt.NDArray[np.float64]
    compressor_kw: npt.NDArray[np.float64]
    chiller_kw: npt.NDArray[np.float64]
    chiller_heat_kw: npt.NDArray[np.float64]
    supply_temp_c: npt.NDArray[np.float64]
    air_supply_temp_c: npt.NDArray[np.float64]
    rack_return_temp_c: npt.NDArray[np.float64]
    case_temp_c: npt.NDArray[np.float64]
    facility_supply_temp_c: npt.NDArray[np.float64]
    return_temp_c: npt.NDArray[np.float64]
    fan_speed: npt.NDArray[np.float64]
    water_l_per_h: npt.NDArray[np.float64]
    heat_rejected_kw: npt.NDArray[np.float64]
    heat_taken_kw: npt.NDArray[np.float64]
    heat_sold_kw: npt.NDArray[np.float64]
    heat_pump_kw: npt.NDArray[np.float64]
    tank_kw: npt.NDArray[np.float64]
    leakage_kw: npt.NDArray[np.float64]


def cooling(
    plant: CoolingPlant,
    it_kw: npt.ArrayLike,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    *,
    supply_c: npt.ArrayLike | None = None,
    heat_taken_kw: npt.ArrayLike = 0.0,
    heat_sold_kw: npt.ArrayLike = 0.0,
    tank_kw: npt.ArrayLike = 0.0,
    running: Running = ALL,
) -> CoolingState:
    """Return the plant's steady state; arguments broadcast against each other.

    Args:
        plant: The plant.
        it_kw: IT power, kW, 0 to 110 % of rated, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, -40 to 55, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...); pads and towers depend on it.
        supply_c: Liquid supply that is held, deg C, shape (...); by default the plant's own (`setpoint_c`).
        heat_taken_kw: Heat taken from the facility return for reuse without a heat pump, kW, shape (...).
        heat_sold_kw: Heat that the heat pumps are to give, kW, shape (...).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (...).
        running: Units that run.

    Returns:
        The state, every array of the broadcast shape. Where more heat is asked for than there is, the tank comes
        first; where there is no liquid, there is neither tank nor heat pump.
    """
    asked = (it_kw, dry_bulb_c, wet_bulb_c, heat_taken_kw, heat_sold_kw, tank_kw)
    it, dry, wet, taken_kw, sold_kw, into_tank_kw = (np.asarray(v, dtype=np.float64) for v in asked)
    load = np.atleast_1d(it / plant.rated_it_kw)
    air_kw = plant.rated_it_kw * (1.0 - plant.liquid_heat_share)
    room = room_state(plant.room, load, dry, running.room)
    none, unknown = np.zeros(()), np.full((), np.nan)
    liquid_kw = plant.rated_it_kw * plant.liquid_heat_share
    loop = None
    if plant.loop is not None:
        air = outdoors(plant.loop, *np.broadcast_arrays(dry, wet))
        held_c = held_supply_c(plant.loop, air) if supply_c is None else np.asarray(supply_c, dtype=np.float64)
        lifted_by = lift(plant.loop, load, held_c, running, sold_kw)
        wanted_kw = taken_kw + lifted_by.taken_kw
        loop = loop_state(plant.loop, load, air, held_c, running, wanted_kw / liquid_kw, into_tank_kw / liquid_kw)
    room_fan_kw = air_kw * room.room_fan
    state = {
        "fan_kw": room_fan_kw + air_kw * room.outdoor_fan,
        "room_fan_kw": room_fan_kw,
        "pump_kw": none,
        "rack_pump_kw": none,
        "compressor_kw": air_kw * room.compressor,
        "chiller_kw": none,
        "chiller_heat_kw": none,
        "supply_temp_c": room.supply_c,
        "air_supply_temp_c": room.supply_c,
        "rack_return_temp_c": unknown,
        "case_temp_c": unknown,
        "facility_supply_temp_c": unknown,
        "return_temp_c": unknown,
        "fan_speed": none,
        "water_l_per_h": none,
        "heat_rejected_kw": air_kw * room.heat,
        "heat_taken_kw": none,
        "heat_sold_kw": none,
        "heat_pump_kw": none,
        "tank_kw": none,
        "leakage_kw": none,
    }
    if plant.loop is not None and loop is not None:
        taken = liquid_kw * loop.taken
        wanted_kw = np.maximum(wanted_kw, taken)
        given = np.divide(taken, wanted_kw, out=np.ones_like(wanted_kw), where=wanted_kw > 0.0)
        state |= {
            "fan_kw": state["fan_kw"] + liquid_kw * loop.fan,
            "pump_kw": liquid_kw * (loop.rack_pump + loop.facility_pump),
            "rack_pump_kw": liquid_kw * loop.rack_pump,
            "compressor_kw": state["compressor_kw"] + liquid_kw * loop.compressor,
            "chiller_kw": liquid_kw * loop.compressor,
            "chiller_heat_kw": liquid_kw * loop.cooled,
            "supply_temp_c": loop.supply_c,
            "rack_return_temp_c": loop.rack_return_c,
            "case_temp_c": loop.case_c,
            "facility_supply_temp_c": loop.facility_supply_c,
            "return_temp_c": loop.facility_return_c,
            "fan_speed": loop.fan_speed,
            "water_l_per_h": liquid_kw * loop.water_l_per_h,
            "heat_rejected_kw": state["heat_rejected_kw"] + liquid_kw * loop.heat,
            "heat_taken_kw": liquid_kw * loop.taken,
            "heat_sold_kw": given * sold_kw,
            "heat_pump_kw": given * lifted_by.power_kw,
            "tank_kw": liquid_kw * loop.tank,
            "leakage_kw": it * leakage_share(plant.loop, loop.supply_c),
        }
    state["cooling_kw"] = state["fan_kw"] + state["pump_kw"] + state["compressor_kw"]
    held_shape = () if supply_c is None else np.shape(supply_c)
    flows = (taken_kw.shape, sold_kw.shape, into_tank_kw.shape)
    shape = np.broadcast_shapes(it.shape, dry.shape, wet.shape, *flows, held_shape)
    lifted = np.broadcast_shapes(shape, (1,))
    return CoolingState(**{name: np.broadcast_to(v, lifted).reshape(shape) for name, v in state.items()})


def w_max_kw(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    *,
    tank_kw: npt.ArrayLike = 0.0,
    running: Running = ALL,
) -> npt.NDArray[np.float64]:
    """Return the largest IT power up to which liquid, chip cases and air stay within their limits.

    Heat taken for reuse does not raise it: who takes it may stop.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (...).
        running: Units that run.

    Returns:
        IT power in kW, shape (...), from 0 (no power is safe) to rated_it_kw.
    """
    dry, wet, into_tank_kw = np.broadcast_arrays(
        *(np.asarray(v, np.float64) for v in (dry_bulb_c, wet_bulb_c, tank_kw))
    )
    loads = np.linspace(0.0, 1.0, SCAN_STEPS + 1)
    safe = _within_limits(plant, loads, dry[..., None], wet[..., None], into_tank_kw[..., None], running)
    all_safe = safe.all(axis=-1)
    # the first load that is not safe: facility pumps that slow down more than rack pumps can make little load the worse
    first = np.argmin(safe, axis=-1)
    low, high = loads[np.maximum(first - 1, 0)], loads[first]
    if not all_safe.all():

        def fits(load: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
            return _within_limits(plant, load, dry, wet, into_tank_kw, running)

        low, _ = halved(fits, low, high, BISECTIONS)
    return np.asarray(plant.rated_it_kw * np.where(all_safe, 1.0, low))


def w_max_n1_kw(
    plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike, *, tank_kw: npt.ArrayLike = 0.0
) -> npt.NDArray[np.float64]:
    """Return the largest IT power with the worst single unit out, kW; arguments as for `w_max_kw`."""
    one_out = [
        w_max_kw(plant, dry_bulb_c, wet_bulb_c, tank_kw=tank_kw, running=running) for running in outages(plant).values()
    ]
    return np.asarray(np.minimum.reduce(one_out))


def outages(plant: CoolingPlant) -> dict[str, Running]:
    """Return, for each kind of unit that the plant has, what runs when one of that kind is out."""
    counts = {"room": plant.room.dx_count} if plant.liquid_heat_share < 1.0 else {}
    if plant.loop is not None:
        counts |= {"rejection": plant.loop.rejection.count, "cdu": plant.loop.cdu.count}
        if plant.loop.has_chiller:
            counts["chiller"] = plant.loop.chiller.count
    return {kind: ALL._replace(**{kind: 1.0 - 1.0 / count}) for kind, count in counts.items()}


def _within_limits(
    plant: CoolingPlant,
    load: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    tank_kw: npt.NDArray[np.float64],
    running: Running,
) -> npt.NDArray[np.bool_]:
    if min(running.rejection, running.cdu, running.room) <= 0.0:
        return np.zeros(np.broadcast_shapes(load.shape, dry_bulb_c.shape), dtype=np.bool_)
    safe = room_state(plant.room, load, dry_bulb_c, running.room).supply_c <= plant.room.air_supply_limit_c
    if plant.loop is not None:
        tank = tank_kw / (plant.rated_it_kw * plant.liquid_heat_share)
        safe = safe & safe_at_limit(plant.loop, load, outdoors(plant.loop, dry_bulb_c, wet_bulb_c), running, tank)
    return np.asarray(safe)


def setpoint_c(plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the supply temperature to request per slot: what the plant holds from zero to rated IT power.

    A room's is constant; a loop's follows the weather (`thermal.setpoint`). It is a request: the building's controls
    keep authority.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).

    Returns:
        Liquid supply, or air supply where there is no liquid, deg C, shape (...).
    """
    dry, wet = np.broadcast_arrays(np.asarray(dry_bulb_c, np.float64), np.asarray(wet_bulb_c, np.float64))
    if plant.loop is None:
        return np.full_like(dry, plant.room.air_supply_setpoint_c)
    return held_supply_c(plant.loop, outdoors(plant.loop, dry, wet))
