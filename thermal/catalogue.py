"""Every setting of every kind of plant: name, default, unit, span, source, grade; and a plant told value by value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from thermal.components.cdu import Cdu
from thermal.components.chiller import Chiller
from thermal.components.cold_plate import ColdPlate
from thermal.components.dry_cooler import DryCooler, Pad
from thermal.components.heat_pump import HeatPump
from thermal.components.pump import Pump
from thermal.components.room import RoomAir
from thermal.components.store import Store
from thermal.components.tower import Tower
from thermal.description import parts
from thermal.facts import Fact, facts
from thermal.loop import LiquidLoop

if TYPE_CHECKING:
    from thermal.description import CoolingPlant

# field of the loop: (what stands before its settings' names, its class)
_SHARED = {
    "cold_plate": ("cold_plate_", ColdPlate),
    "rack_pump": ("rack_pump_", Pump),
    "facility_pump": ("facility_pump_", Pump),
    "cdu": ("cdu_", Cdu),
    "chiller": ("chiller_", Chiller),
    "heat_pump": ("heat_pump_", HeatPump),
    "store": ("store_", Store),
}
LOOP_PARTS: dict[str, dict[str, tuple[str, type]]] = {
    "dry_cooler": _SHARED | {"rejection": ("cooler_", DryCooler), "pad": ("pad_", Pad)},
    "tower_chiller": _SHARED | {"rejection": ("tower_", Tower)},
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "dry_cooler": {"dx_count": 8},
    "tower_chiller": {
        "supply_setpoint_c": 28.0,
        "supply_limit_c": 32.0,
        "facility_coolant": "water",
        "chiller_capacity_share": 0.6,
        "chiller_condenser_approach_k": 8.0,
        "dx_count": 8,
    },
    "room_air": {},
}


@dataclass(frozen=True)
class Setting:
    """A setting of a kind of plant.

    Args:
        name: Its name in a site file.
        default: Its default there.
        fact: Unit, span, source and grade of the default.
    """

    name: str
    default: Any
    fact: Fact


@dataclass(frozen=True)
class Described:
    """A value of a plant.

    Args:
        name: The setting's name in a site file.
        value: Its value.
        unit: Its unit; "" for a plain number, a word or a switch.
        grade: "measured", "datasheet" or "assumed".
        source: Where it comes from.
    """

    name: str
    value: Any
    unit: str
    grade: str
    source: str


def settings(kind: str) -> tuple[str, ...]:
    """Return the names that the factory of a kind takes as changes of its defaults."""
    return tuple(s.name for s in catalogue(kind))


@cache
def catalogue(kind: str) -> tuple[Setting, ...]:
    """Return every setting of a kind of plant with its default and what is known of it."""
    shown = DEFAULTS[kind]
    found = []
    for prefix, part in _kind_parts(kind):
        of_class = {f.name: f.default for f in fields(part)}
        for own_name, fact in facts(part).items():
            name = prefix + own_name
            found.append(Setting(name, shown.get(name, of_class[own_name]), fact))
    return tuple(found)


def describe(plant: CoolingPlant) -> tuple[Described, ...]:
    """Return every value of a plant with unit, grade and source.

    A value that differs from its kind's default and has no provenance counts as assumed.
    """
    told = {entry.setting: entry for entry in plant.provenance}
    usual = {s.name: s.default for s in catalogue(plant.kind)}
    found = []
    for prefix, part in parts(plant):
        for own_name, fact in facts(part).items():
            name, value = prefix + own_name, getattr(part, own_name)
            if name in told:
                grade, source = told[name].grade, told[name].source
            elif value != usual[name]:
                grade, source = "assumed", "set for this plant, no source given"
            elif name in DEFAULTS[plant.kind]:
                grade, source = "assumed", f"usual for a {plant.kind} plant"
            else:
                grade, source = fact.grade, fact.source
            found.append(Described(name, value, fact.unit, grade, source))
    return tuple(found)


def _kind_parts(kind: str) -> list[tuple[str, type]]:
    loop = [("", LiquidLoop), *LOOP_PARTS[kind].values()] if kind in LOOP_PARTS else []
    return [*loop, ("", RoomAir)]
