"""Ready plants: factories that take changes of their defaults by the names that stand in a site file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thermal.catalogue import DEFAULTS, LOOP_PARTS, settings
from thermal.components.room import RoomAir
from thermal.description import CoolingPlant
from thermal.facts import facts
from thermal.loop import LiquidLoop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thermal.description import Provenance


def dry_cooler(rated_it_kw: float, *, provenance: Iterable[Provenance] = (), **changes: Any) -> CoolingPlant:
    """Return a warm-water plant with dry coolers; by default without pad and chiller.

    The heat that liquid does not reach (5.5 % by default) is carried by room air. By default the racks get liquid of
    40 C up to 30 C outdoors, and warmer up to 35 C outdoors, where the limit of 45 C is reached at rated IT power and
    full fans; above that the plant carries less.

    Args:
        rated_it_kw: Largest IT power that the plant is built for, kW.
        provenance: Where changed values come from; a change without it counts as assumed.
        **changes: Settings that differ from their defaults (`catalogue`).

    Returns:
        The plant.

    Raises:
        TypeError: A change names no such setting.
        ValueError: A value is out of its range.
    """
    return _liquid("dry_cooler", rated_it_kw, provenance, changes)


def tower_chiller(rated_it_kw: float, *, provenance: Iterable[Provenance] = (), **changes: Any) -> CoolingPlant:
    """Return a plant with wet towers and trim chillers in series; arguments as for `dry_cooler`.

    By default the racks get liquid of 28 C, at most 32 C; the towers alone reach 28 C at rated IT power up to a wet
    bulb of about 17 C, and the chillers add up to six tenths of the rated heat above that.
    """
    return _liquid("tower_chiller", rated_it_kw, provenance, changes)


def room_air(rated_it_kw: float, *, provenance: Iterable[Provenance] = (), **changes: Any) -> CoolingPlant:
    """Return an air-cooled room with direct-expansion compressors and an economiser; arguments as `dry_cooler`."""
    _refuse_unknown("room_air", changes)
    return CoolingPlant("room_air", rated_it_kw, None, RoomAir(**(DEFAULTS["room_air"] | changes)), tuple(provenance))


def _liquid(kind: str, rated_it_kw: float, provenance: Iterable[Provenance], changes: dict[str, Any]) -> CoolingPlant:
    _refuse_unknown(kind, changes)
    values = DEFAULTS[kind] | changes
    built = {field: made(**_own(values, prefix, made)) for field, (prefix, made) in LOOP_PARTS[kind].items()}
    loop = LiquidLoop(**_own(values, "", LiquidLoop), **built)
    return CoolingPlant(kind, rated_it_kw, loop, RoomAir(**_own(values, "", RoomAir)), tuple(provenance))


def _own(values: dict[str, Any], prefix: str, part: type) -> dict[str, Any]:
    return {name: values[prefix + name] for name in facts(part) if prefix + name in values}


def _refuse_unknown(kind: str, changes: dict[str, Any]) -> None:
    known = settings(kind)
    for name in changes:
        if name not in known:
            raise TypeError(f"{name} is no setting of a {kind} plant; it has {', '.join(known)}")
