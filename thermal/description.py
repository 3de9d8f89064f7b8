"""A cooling plant as data: frozen, made of plain numbers, words and switches, checked once when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thermal.components.dry_cooler import DryCooler
from thermal.components.room import RoomAir, check_room
from thermal.facts import GRADES, check_facts
from thermal.loop import LiquidLoop, check_loop, rejection_prefix

KINDS = ("dry_cooler", "tower_chiller", "room_air")


@dataclass(frozen=True)
class Provenance:
    """Where the value of one setting comes from.

    Args:
        setting: The setting's name in a site file.
        grade: "measured", "datasheet" or "assumed".
        source: The measurement, the sheet or the reason.
    """

    setting: str
    grade: str
    source: str


@dataclass(frozen=True)
class CoolingPlant:
    """The cooling of one block.

    Args:
        kind: "dry_cooler" (warm-water loop with dry coolers), "tower_chiller" (loop with wet towers), each with a small
            room for the heat that liquid does not reach, or "room_air" (all heat to air).
        rated_it_kw: Largest IT power that the plant is built for, kW.
        loop: The liquid loops, or None for "room_air".
        room: The room's air cooling.
        provenance: Where values come from that are not the defaults'.
    """

    kind: str
    rated_it_kw: float
    loop: LiquidLoop | None
    room: RoomAir
    provenance: tuple[Provenance, ...] = ()

    def __post_init__(self) -> None:
        _check_kind(self.kind, self.loop)
        if not (math.isfinite(self.rated_it_kw) and self.rated_it_kw > 0.0):
            raise ValueError(f"rated_it_kw is {self.rated_it_kw:g} kW; a cooling plant needs a finite value above 0 kW")
        for prefix, part in parts(self):
            check_facts(part, prefix)
        check_room(self.room)
        if self.loop is not None:
            check_loop(self.loop)
        for entry in self.provenance:
            if entry.grade not in GRADES:
                raise ValueError(f"the grade of {entry.setting} is {entry.grade!r}; it is one of {', '.join(GRADES)}")

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


def parts(plant: CoolingPlant) -> tuple[tuple[str, object], ...]:
    """Return the plant's parts that have settings, each with what stands before their names in a site file."""
    room: tuple[tuple[str, object], ...] = (("", plant.room),)
    return room if plant.loop is None else (*loop_parts(plant.loop), *room)


def loop_parts(loop: LiquidLoop) -> tuple[tuple[str, object], ...]:
    """Return a loop's parts, each with what stands before their settings' names; pads belong to dry coolers."""
    pad = (("pad_", loop.pad),) if isinstance(loop.rejection, DryCooler) else ()
    return (
        ("", loop),
        ("cold_plate_", loop.cold_plate),
        ("rack_pump_", loop.rack_pump),
        ("facility_pump_", loop.facility_pump),
        ("cdu_", loop.cdu),
        (rejection_prefix(loop), loop.rejection),
        *pad,
        ("chiller_", loop.chiller),
        ("heat_pump_", loop.heat_pump),
        ("store_", loop.store),
    )


def _check_kind(kind: str, loop: LiquidLoop | None) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; a cooling plant is one of {', '.join(KINDS)}")
    if (kind == "room_air") != (loop is None):
        raise ValueError(f"a {kind} plant {'has no' if kind == 'room_air' else 'needs a'} loop")
    if loop is not None and (kind == "dry_cooler") != isinstance(loop.rejection, DryCooler):
        raise ValueError(f"a {kind} plant has {'dry coolers' if kind == 'dry_cooler' else 'towers'}")
