"""What building systems call the points of the cooling: NVIDIA DSX Exchange's point types and Redfish's properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thermal.components.dry_cooler import DryCooler

if TYPE_CHECKING:
    from thermal.plant import CoolingPlant

_CDU = "/redfish/v1/ThermalEquipment/CDUs/{cdu}"
_PRIMARY = f"{_CDU}/PrimaryCoolantConnectors/{{connector}}#/"
_SECONDARY = f"{_CDU}/SecondaryCoolantConnectors/{{connector}}#/"


@dataclass(frozen=True)
class Point:
    """One point.

    Args:
        series: Its series in the thermal report's file, "" where only a sensor knows it.
        object_type: DSX object type, such as "CDU".
        point_type: DSX point type, such as "LiquidTemperature".
        eng_unit: Unit there.
        process_area: What tells it from others of its type on the same object.
        redfish: Property in Redfish's ThermalEquipment, "" where there is none.
    """

    series: str
    object_type: str
    point_type: str
    eng_unit: str
    process_area: str
    redfish: str


_LIQUID = (
    Point("it_kw", "Rack", "RackPower", "kW", "all racks of the block", ""),
    Point(
        "supply_temp_c",
        "Rack",
        "RackLiquidSupplyTemperature",
        "C",
        "Secondary Supply",
        f"{_SECONDARY}SupplyTemperatureCelsius",
    ),
    Point(
        "rack_return_temp_c",
        "Rack",
        "RackLiquidReturnTemperature",
        "C",
        "Secondary Return",
        f"{_SECONDARY}ReturnTemperatureCelsius",
    ),
    Point(
        "setpoint_temp_c",
        "CDU",
        "LiquidTemperatureSpRequest",
        "C",
        "Secondary Supply",
        f"{_SECONDARY}SupplyTemperatureControlCelsius",
    ),
    Point("flow_l_per_min", "CDU", "LiquidFlow", "LPM", "Secondary", f"{_SECONDARY}FlowLitersPerMinute"),
    Point("head_kpa", "CDU", "LiquidDifferentialPressure", "kPa", "Secondary", f"{_SECONDARY}DeltaPressurekPa"),
    Point(
        "facility_supply_temp_c",
        "CDU",
        "LiquidTemperature",
        "C",
        "Primary Supply",
        f"{_PRIMARY}SupplyTemperatureCelsius",
    ),
    Point(
        "facility_return_temp_c",
        "CDU",
        "LiquidTemperature",
        "C",
        "Primary Return",
        f"{_PRIMARY}ReturnTemperatureCelsius",
    ),
    Point("", "CDU", "LeakDetect", "", "", f"{_CDU}/LeakDetection"),
)
_FANS = {
    True: Point("fan_speed", "GenericObject", "FanSpeed", "%", "Dry cooler", ""),
    False: Point("fan_speed", "CoolingTower", "FanSpeed", "%", "", ""),
}
_ROOM = Point("air_supply_temp_c", "CRAH", "AirTemperature", "C", "Supply", "")


def points(plant: CoolingPlant) -> tuple[Point, ...]:
    """Return the points of a plant, as far as the thermal report speaks of them."""
    if plant.loop is None:
        return (_LIQUID[0], _ROOM)
    air = (_ROOM,) if plant.liquid_heat_share < 1.0 else ()
    return (*_LIQUID, _FANS[isinstance(plant.loop.rejection, DryCooler)], *air)
