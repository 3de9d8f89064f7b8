"""Cooling plants: what it takes to carry the heat of a block's IT power to the outdoor air."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from thermal.checks import check_kind, check_loop, check_rated, check_room
from thermal.loop import LiquidLoop, air_in_c, full_fan_supply_c, held_supply_c, loop_state
from thermal.room import RoomAir, room_state

if TYPE_CHECKING:
    import numpy.typing as npt

BISECTIONS = 50  # halves the span of 0 to rated IT power to rounding error


@dataclass(frozen=True)
class CoolingPlant:
    """The cooling of one block.

    Args:
        kind: "dry_cooler" (warm-water loop with dry coolers; a small room carries the heat liquid does not reach) or
            "room_air" (all heat to air).
        rated_it_kw: Largest IT power that the plant is built for, kW.
        loop: The warm-water loop, or None for "room_air".
        room: The room's air cooling.
    """

    kind: str
    rated_it_kw: float
    loop: LiquidLoop | None
    room: RoomAir

    def __post_init__(self) -> None:
        check_kind(self.kind, self.loop)
        check_rated(self.rated_it_kw)
        check_room(self.room)
        if self.loop is not None:
            check_loop(self.loop)

    @property
    def liquid_heat_share(self) -> float:
        """Share of IT heat that leaves by liquid."""
        return 0.0 if self.loop is None else self.loop.liquid_heat_share

    @property
    def supply_setpoint_c(self) -> float:
        """Design supply temperature, deg C: liquid, or air where there is no liquid."""
        return self.room.air_supply_setpoint_c if self.loop is None else self.loop.supply_setpoint_c

    @property
    def supply_limit_c(self) -> float:
        """Highest supply temperature for the racks, deg C: liquid, or air where there is no liquid."""
        return self.room.air_supply_limit_c if self.loop is None else self.loop.supply_limit_c


@dataclass(frozen=True)
class CoolingState:
    """A plant's steady state; arrays of one shape (...).

    Energy closes: heat_rejected_kw = IT power + pump_kw + room_fan_kw + compressor_kw. Fans that stand behind the
    coils outdoors warm outdoor air only and are not part of it.

    Args:
        cooling_kw: All electric power of cooling: fan_kw + pump_kw + compressor_kw, kW.
        fan_kw: Outdoor and room fans, kW.
        room_fan_kw: Room fans alone, kW.
        pump_kw: Pumps, kW.
        compressor_kw: Compressors, kW.
        supply_temp_c: What the racks get, deg C: liquid, or air where there is no liquid.
        air_supply_temp_c: Air to the racks, deg C.
        return_temp_c: Facility water into the dry coolers, deg C; not a number where there is no liquid.
        fan_speed: Speed of the dry coolers' fans, share of full; 0 where there is no liquid.
        water_l_per_h: Water that an adiabatic pad takes, L/h; 0 without a pad.
        heat_rejected_kw: Heat given to the outdoor air, kW.
    """

    cooling_kw: npt.NDArray[np.float64]
    fan_kw: npt.NDArray[np.float64]
    room_fan_kw: npt.NDArray[np.float64]
    pump_kw: npt.NDArray[np.float64]
    compressor_kw: npt.NDArray[np.float64]
    supply_temp_c: npt.NDArray[np.float64]
    air_supply_temp_c: npt.NDArray[np.float64]
    return_temp_c: npt.NDArray[np.float64]
    fan_speed: npt.NDArray[np.float64]
    water_l_per_h: npt.NDArray[np.float64]
    heat_rejected_kw: npt.NDArray[np.float64]


def settings(kind: str) -> tuple[str, ...]:
    """Return the names that the factory of a kind ("dry_cooler" or "room_air") takes as changes of its defaults."""
    room = tuple(f.name for f in fields(RoomAir))
    return room if kind == "room_air" else tuple(f.name for f in fields(LiquidLoop)) + room


def dry_cooler(rated_it_kw: float, **changes: Any) -> CoolingPlant:
    """Return a warm-water plant with dry coolers and no chiller.

    The heat that liquid does not reach (5.5 % by default) is carried by room air. By default the racks get liquid of
    40 C up to 30 C outdoors, and warmer up to 35 C outdoors, where the limit of 45 C is reached at rated IT power and
    full fans; above that the plant carries less. Sources and grades of the defaults stand in `LiquidLoop` and
    `RoomAir`.

    Args:
        rated_it_kw: Largest IT power that the plant is built for, kW.
        **changes: Fields of `LiquidLoop` and `RoomAir` that differ from their defaults.

    Returns:
        The plant.

    Raises:
        TypeError: A change names no such field.
        ValueError: A value is out of its range.
    """
    _refuse_unknown("dry_cooler", changes)
    of_room = {f.name for f in fields(RoomAir)}
    loop = LiquidLoop(**{k: v for k, v in changes.items() if k not in of_room})
    room = RoomAir(**{k: v for k, v in changes.items() if k in of_room})
    return CoolingPlant("dry_cooler", rated_it_kw, loop, room)


def room_air(rated_it_kw: float, **changes: Any) -> CoolingPlant:
    """Return an air-cooled room: room fans, direct-expansion compressors and an economiser.

    Sources and grades of the defaults stand in `RoomAir`.

    Args:
        rated_it_kw: Largest IT power that the plant is built for, kW.
        **changes: Fields of `RoomAir` that differ from their defaults.

    Returns:
        The plant.

    Raises:
        TypeError: A change names no such field.
        ValueError: A value is out of its range.
    """
    _refuse_unknown("room_air", changes)
    return CoolingPlant("room_air", rated_it_kw, None, RoomAir(**changes))


def _refuse_unknown(kind: str, changes: dict[str, Any]) -> None:
    known = settings(kind)
    for name in changes:
        if name not in known:
            raise TypeError(f"{name} is no setting of a {kind} plant; it has {', '.join(known)}")


def cooling(
    plant: CoolingPlant,
    it_kw: npt.ArrayLike,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
) -> CoolingState:
    """Return the plant's steady state; arguments broadcast against each other.

    Args:
        plant: The plant.
        it_kw: IT power, kW, 0 to 110 % of rated, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, -40 to 55, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...); only a pad (`pad_effectiveness` above 0) depends on it.

    Returns:
        The state, every array of the broadcast shape.
    """
    it, dry, wet = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (it_kw, dry_bulb_c, wet_bulb_c)))
    load = it / plant.rated_it_kw
    air_kw = plant.rated_it_kw * (1.0 - plant.liquid_heat_share)
    room = room_state(plant.room, load, dry)
    room_fan_kw = air_kw * room.room_fan
    fan_kw = room_fan_kw + air_kw * room.outdoor_fan
    compressor_kw = air_kw * room.compressor
    heat_kw = air_kw * room.heat
    pump_kw, fan_speed, water_l_per_h = np.zeros_like(load), np.zeros_like(load), np.zeros_like(load)
    supply_c, return_c = room.supply_c, np.full_like(load, np.nan)
    if plant.loop is not None:
        liquid_kw = plant.rated_it_kw * plant.liquid_heat_share
        loop = loop_state(plant.loop, load, dry, wet)
        pump_kw = liquid_kw * loop.pump
        fan_kw = fan_kw + liquid_kw * loop.fan
        heat_kw = heat_kw + liquid_kw * loop.heat
        supply_c, return_c, fan_speed = loop.supply_c, loop.return_c, loop.fan_speed
        water_l_per_h = liquid_kw * loop.evaporated_l_per_h
    return CoolingState(
        cooling_kw=fan_kw + pump_kw + compressor_kw,
        fan_kw=fan_kw,
        room_fan_kw=room_fan_kw,
        pump_kw=pump_kw,
        compressor_kw=compressor_kw,
        supply_temp_c=supply_c,
        air_supply_temp_c=room.supply_c,
        return_temp_c=return_c,
        fan_speed=fan_speed,
        water_l_per_h=water_l_per_h,
        heat_rejected_kw=heat_kw,
    )


def w_max_kw(plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the largest IT power that keeps liquid and air to the racks within their limits.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).

    Returns:
        IT power in kW, shape (...), from 0 (no power is safe) to rated_it_kw.
    """
    dry, wet = np.broadcast_arrays(np.asarray(dry_bulb_c, np.float64), np.asarray(wet_bulb_c, np.float64))
    low, high = np.zeros_like(dry), np.ones_like(dry)
    for _ in range(BISECTIONS):
        mid = 0.5 * (low + high)
        safe = _within_limits(plant, mid, dry, wet)
        low, high = np.where(safe, mid, low), np.where(safe, high, mid)
    at_rated = _within_limits(plant, np.ones_like(dry), dry, wet)
    return plant.rated_it_kw * np.where(at_rated, 1.0, low)


def _within_limits(
    plant: CoolingPlant,
    load: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.bool_]:
    safe: npt.NDArray[np.bool_] = room_state(plant.room, load, dry_bulb_c).supply_c <= plant.room.air_supply_limit_c
    if plant.loop is not None:
        air_c = air_in_c(plant.loop, dry_bulb_c, wet_bulb_c)
        safe &= full_fan_supply_c(plant.loop, load, air_c) <= plant.loop.supply_limit_c
    return safe


def setpoint_c(plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the supply temperature to request per slot: what the plant holds from zero to rated IT power.

    A room's is constant; a loop's follows the weather (`thermal.loop.held_supply_c`). It is a request: the building's
    controls keep authority.

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
    return held_supply_c(plant.loop, air_in_c(plant.loop, dry, wet))
