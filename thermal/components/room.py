"""The air-cooled room: room fans, direct-expansion compressors and an economiser.

It cools a whole small room, or the part of the heat that liquid does not reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.facts import number, switch

if TYPE_CHECKING:
    import numpy.typing as npt

KELVIN = 273.15
RATING_C = 35.0  # outdoor air at which compressor capacity is stated
CAPACITY_LOSS_PER_K = 0.01  # compressor capacity per kelvin of outdoor air above the rating point (K)
CAPACITY_SPAN = (0.3, 1.2)  # capacity stays within this share of the rated one (K)
CAPACITY_GAIN_PER_SUPPLY_K = 0.03  # compressor capacity per kelvin of warmer supply air (K)
LINEAR_PART_LOAD = 0.7  # power over load: 0.7 p + 0.3 p^2, a common chiller curve without its share at no load (K)


@dataclass(frozen=True)
class RoomAir:
    """Air cooling, sized by the IT heat it carries at rated IT power.

    Args:
        air_supply_setpoint_c: Air to the racks, deg C.
        air_supply_limit_c: Highest air temperature to the racks, deg C; 27 is the upper end of the range that ASHRAE
            TC 9.9 recommends.
        air_rise_k: Return minus supply air at rated IT power without fan heat, K.
        room_fan_w_per_kw: Room fans at full speed, W per kW of IT heat; 25 to 50.
        room_fan_floor: Lowest fan speed and air flow, share of full.
        outdoor_fan_w_per_kw: Condenser and economiser fans at rated heat, W per kW of IT heat.
        carnot_share: Compressor efficiency over that of Carnot between evaporating and condensing temperature.
        evaporator_approach_k: Supply air minus evaporating temperature, K.
        condenser_approach_k: Condensing temperature minus outdoor air, K.
        min_lift_k: Smallest lift that head-pressure control keeps, K.
        dx_capacity_share: Compressor capacity at 35 C over rated heat, room fans included.
        dx_count: Number of compressor units, alike, each with its economiser coil.
        economiser: Whether outdoor air cools without compressor while it is colder than the supply setpoint.
        economiser_itd_k: Return air minus outdoor air at which the economiser alone carries the rated heat, K; at
            least air_rise_k / room_fan_floor, or it would gain more than each further kW of load brings.
    """

    air_supply_setpoint_c: float = number(24.0, "C", 10.0, 40.0, "middle of the range of ASHRAE TC 9.9")
    air_supply_limit_c: float = number(27.0, "C", 10.0, 50.0, "upper end recommended by ASHRAE TC 9.9")
    air_rise_k: float = number(12.0, "K", 3.0, 30.0, "air-cooled racks")
    room_fan_w_per_kw: float = number(40.0, "W/kW", 0.0, 300.0, "25 to 50 for fan walls and computer-room units")
    room_fan_floor: float = number(0.5, "", 0.1, 1.0, "air distribution keeps at least half the flow")
    outdoor_fan_w_per_kw: float = number(20.0, "W/kW", 0.0, 300.0, "condenser fans")
    carnot_share: float = number(0.45, "", 0.1, 0.9, "direct-expansion units")
    evaporator_approach_k: float = number(10.0, "K", 0.0, 30.0, "direct-expansion coils")
    condenser_approach_k: float = number(12.0, "K", 0.0, 30.0, "air-cooled condensers")
    min_lift_k: float = number(15.0, "K", 5.0, 60.0, "head-pressure control")
    dx_capacity_share: float = number(1.2, "", 0.1, 10.0, "sized with a reserve of a fifth")
    dx_count: int = number(2, "", 1, 10_000, "one may fail")
    economiser: bool = switch(default=True, source="free cooling is usual where winters are cold")
    economiser_itd_k: float = number(25.0, "K", 3.0, 300.0, "economiser coils")

    @property
    def design_heat_share(self) -> float:
        """Heat of racks and room fans at full load over rated air heat."""
        return 1.0 + self.room_fan_w_per_kw / 1000.0


class RoomState(NamedTuple):
    """The room per kW of rated air heat; arrays of one shape.

    Args:
        room_fan: Power of the room fans; its heat stays in the room.
        outdoor_fan: Power of condenser and economiser fans, behind the coils.
        compressor: Power of the compressors.
        heat: Heat given to the outdoor air: racks, room fans and compressors.
        supply_c: Air to the racks, deg C.
    """

    room_fan: npt.NDArray[np.float64]
    outdoor_fan: npt.NDArray[np.float64]
    compressor: npt.NDArray[np.float64]
    heat: npt.NDArray[np.float64]
    supply_c: npt.NDArray[np.float64]


def cop(room: RoomAir, dry_bulb_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return heat moved over compressor power at full load, shape of `dry_bulb_c` (deg C).

    Source:
        Carnot's efficiency over the lift between refrigerant temperatures, times a fixed share.
    """
    evaporating_c = room.air_supply_setpoint_c - room.evaporator_approach_k
    lift_k = np.maximum(dry_bulb_c + room.condenser_approach_k - evaporating_c, room.min_lift_k)
    return room.carnot_share * (evaporating_c + KELVIN) / lift_k


def room_state(
    room: RoomAir, load: npt.NDArray[np.float64], dry_bulb_c: npt.NDArray[np.float64], running: float = 1.0
) -> RoomState:
    """Return the steady state of the room.

    The economiser is locked out while outdoor air is warmer than the supply setpoint, and takes heat in proportion to
    return minus outdoor air below it; compressors take the rest. Where they are asked for more than their capacity,
    the supply air warms until their capacity is enough.

    Args:
        room: The room.
        load: IT power over rated IT power, 0 or more, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        running: Share of the units that run; the room fans of one that is out are made up for by the others.

    Returns:
        Powers per kW of rated air heat and temperatures, each of shape (...).
    """
    flow = np.maximum(load, room.room_fan_floor)
    room_fan = room.room_fan_w_per_kw / 1000.0 * flow**3
    heat = load + room_fan
    return_c = room.air_supply_setpoint_c + heat * room.air_rise_k / flow
    open_ = room.economiser & (dry_bulb_c < room.air_supply_setpoint_c)
    free_per_k = running * room.design_heat_share / room.economiser_itd_k
    free = np.where(open_, np.maximum(return_c - dry_bulb_c, 0.0) * free_per_k, 0.0)
    moved = np.maximum(heat - free, 0.0)
    capacity = (
        running
        * room.dx_capacity_share
        * room.design_heat_share
        * np.clip(1.0 - CAPACITY_LOSS_PER_K * (dry_bulb_c - RATING_C), *CAPACITY_SPAN)
    )
    part = moved / capacity
    compressor = moved / cop(room, dry_bulb_c) * (LINEAR_PART_LOAD + (1.0 - LINEAR_PART_LOAD) * part)
    return RoomState(
        room_fan=room_fan,
        outdoor_fan=room.outdoor_fan_w_per_kw / 1000.0 * (heat / room.design_heat_share) ** 3,
        compressor=compressor,
        heat=heat + compressor,
        supply_c=room.air_supply_setpoint_c + np.maximum(part - 1.0, 0.0) / CAPACITY_GAIN_PER_SUPPLY_K,
    )


def check_room(room: RoomAir) -> None:
    """Refuse values of a room that contradict each other (ValueError)."""
    if room.air_supply_setpoint_c > room.air_supply_limit_c:
        raise ValueError(
            f"air_supply_setpoint_c is {room.air_supply_setpoint_c:g} C, above air_supply_limit_c of "
            f"{room.air_supply_limit_c:g} C; lower the setpoint or raise the limit"
        )
    least_itd_k = room.design_heat_share * room.air_rise_k / room.room_fan_floor
    if room.economiser and room.economiser_itd_k < least_itd_k:
        raise ValueError(
            f"economiser_itd_k is {room.economiser_itd_k:g} K, below {least_itd_k:g} K, the rise of the air at the "
            "slowest fan speed; raise it, or set economiser to false"
        )
