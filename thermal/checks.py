"""Ranges of a plant's values, checked once when a plant is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thermal.loop import LiquidLoop
    from thermal.room import RoomAir

MARGIN = 1.02  # over the approach that takes an endless exchanger
# name: (lowest, highest, unit); a value outside is refused, the ends are allowed
LOOP_RANGES = {
    "liquid_heat_share": (0.05, 1.0, ""),
    "supply_setpoint_c": (10.0, 60.0, "C"),
    "supply_limit_c": (10.0, 70.0, "C"),
    "loop_rise_k": (2.0, 30.0, "K"),
    "pump_flow_floor": (0.05, 1.0, ""),
    "pump_head_kpa": (10.0, 2000.0, "kPa"),
    "pump_efficiency": (0.1, 1.0, ""),
    "pump_static_share": (0.0, 1.0, ""),
    "cdu_approach_k": (0.0, 15.0, "K"),
    "cooler_approach_k": (1.0, 30.0, "K"),
    "cooler_air_ratio": (0.3, 3.0, ""),
    "cooler_water_resistance_share": (0.0, 0.9, ""),
    "cooler_fan_w_per_kw": (0.0, 200.0, "W/kW"),
    "natural_draught_share": (0.01, 0.5, ""),
    "pad_effectiveness": (0.0, 1.0, ""),
    "pad_from_c": (0.0, 50.0, "C"),
    "pad_fan_share": (0.0, 1.0, ""),
    "pad_cycles_of_concentration": (1.1, 20.0, ""),
}
ROOM_RANGES = {
    "air_supply_setpoint_c": (10.0, 40.0, "C"),
    "air_supply_limit_c": (10.0, 50.0, "C"),
    "air_rise_k": (3.0, 30.0, "K"),
    "room_fan_w_per_kw": (0.0, 300.0, "W/kW"),
    "room_fan_floor": (0.1, 1.0, ""),
    "outdoor_fan_w_per_kw": (0.0, 300.0, "W/kW"),
    "carnot_share": (0.1, 0.9, ""),
    "evaporator_approach_k": (0.0, 30.0, "K"),
    "condenser_approach_k": (0.0, 30.0, "K"),
    "min_lift_k": (5.0, 60.0, "K"),
    "dx_capacity_share": (0.1, 10.0, ""),
    "economiser_itd_k": (3.0, 300.0, "K"),
}


def check_kind(kind: str, loop: LiquidLoop | None) -> None:
    """Refuse a kind that is unknown or does not fit the plant's parts (ValueError)."""
    has_loop = {"dry_cooler": True, "room_air": False}
    if kind not in has_loop:
        raise ValueError(f"kind is {kind!r}; a cooling plant is one of {', '.join(has_loop)}")
    if has_loop[kind] != (loop is not None):
        raise ValueError(f"a {kind} plant {'needs a' if has_loop[kind] else 'has no'} loop")


def check_rated(rated_it_kw: float) -> None:
    """Refuse a plant without a positive, finite rated IT power (ValueError)."""
    if not (math.isfinite(rated_it_kw) and rated_it_kw > 0.0):
        raise ValueError(f"rated_it_kw is {rated_it_kw:g} kW; a cooling plant needs a finite value above 0 kW")


def check_loop(loop: LiquidLoop) -> None:
    """Refuse values of a loop that are out of range or contradict each other (ValueError)."""
    _check_ranges(loop, LOOP_RANGES)
    if loop.supply_setpoint_c > loop.supply_limit_c:
        raise ValueError(
            f"supply_setpoint_c is {loop.supply_setpoint_c:g} C, above supply_limit_c of {loop.supply_limit_c:g} C; "
            "lower the setpoint or raise the limit"
        )
    # air with a smaller capacity rate than the water warms too much to bring the water this near to it
    least_k = loop.design_heat_share * loop.loop_rise_k * (1.0 / loop.cooler_air_ratio - 1.0)
    if loop.cooler_approach_k < MARGIN * least_k:
        raise ValueError(
            f"cooler_approach_k is {loop.cooler_approach_k:g} K, but air at cooler_air_ratio "
            f"{loop.cooler_air_ratio:g} reaches no less than {least_k:.3g} K; raise the ratio or the approach"
        )


def check_room(room: RoomAir) -> None:
    """Refuse values of a room that are out of range or contradict each other (ValueError)."""
    _check_ranges(room, ROOM_RANGES)
    if room.air_supply_setpoint_c > room.air_supply_limit_c:
        raise ValueError(
            f"air_supply_setpoint_c is {room.air_supply_setpoint_c:g} C, above air_supply_limit_c of "
            f"{room.air_supply_limit_c:g} C; lower the setpoint or raise the limit"
        )
    if not isinstance(room.economiser, bool):
        raise ValueError(f"economiser is {room.economiser!r}; write true or false")  # noqa: TRY004 - a value of a file
    least_itd_k = room.design_heat_share * room.air_rise_k / room.room_fan_floor
    if room.economiser and room.economiser_itd_k < least_itd_k:
        raise ValueError(
            f"economiser_itd_k is {room.economiser_itd_k:g} K, below {least_itd_k:g} K, the rise of the air at the "
            "slowest fan speed; raise it, or set economiser to false"
        )


def _check_ranges(part: LiquidLoop | RoomAir, ranges: dict[str, tuple[float, float, str]]) -> None:
    for name, (lowest, highest, unit) in ranges.items():
        value = getattr(part, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} is {value!r}; a number{f' of {unit}' if unit else ''} is wanted")  # noqa: TRY004 - a value of a file
        if not lowest <= value <= highest:
            suffix = f" {unit}" if unit else ""
            raise ValueError(
                f"{name} is {value:g}{suffix}, outside {lowest:g} to {highest:g}{suffix}; give a value within them"
            )
