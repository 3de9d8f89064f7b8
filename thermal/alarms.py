"""What facility staff should look at in the coming days: each check with its level, its action and its owner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from thermal.components.dry_cooler import DryCooler
from thermal.quantity import ASSUMED, MODELLED
from thermal.transient import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.hours import CoolingHours
    from thermal.margins import Margin
    from thermal.reach import Reach

AMBER_MARGIN_K = 2.0  # sensors, and the model, are good to a kelvin or two
RESTART_S = 300.0  # drives and chillers are back within five minutes of a dip in the supply (K)
TOLD_S = 60.0  # training is throttled within a minute of an alarm (K)
SELF_THROTTLE_S = 10.0  # GPUs slow down by themselves 5 to 10 s after they lose their flow (S)
BALANCE_SHARE = 1e-6  # of rated IT power: what the model may leave unaccounted for
ROUNDING_SHARE = 1e-9  # of rated IT power

FACILITIES, PLANNING = "facilities", "planning"
_UNITS = {"cdu": "coolant distribution unit", "chiller": "chiller", "room": "room cooling unit"}


class Level(StrEnum):
    """GREEN: nothing to do. AMBER: look at it before it comes. RED: a limit is passed unless somebody acts."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


@dataclass(frozen=True)
class Alarm:
    """One check.

    Args:
        name: What is checked.
        level: How it stands.
        told: One sentence with the value and its limit.
        action: What to do; "" where nothing is.
        owner: Who does it: "facilities" or "planning".
        slot: The first slot that it speaks of, or None for the whole horizon.
        hours_h: Hours that it speaks of, h; 0 for a moment or the whole horizon.
        tag: How its value is known: "measured", "modelled" or "assumed".
    """

    name: str
    level: Level
    told: str
    action: str
    owner: str
    slot: int | None = None
    hours_h: float = 0.0
    tag: str = MODELLED


def alarms(
    plant: CoolingPlant,
    hours: CoolingHours,
    margins: Sequence[Margin],
    reaches: Sequence[Reach],
    dry_bulb_c: npt.NDArray[np.float64],
    slot_h: float,
    restart_s: float | None = None,
) -> tuple[Alarm, ...]:
    """Return every check, worst first.

    Args:
        plant: The plant.
        hours: Its slots.
        margins: Temperatures against their limits.
        reaches: Seconds to a limit per failure.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        slot_h: Length of a slot, h.
        restart_s: Time in which the site says that heat rejection is back, s; where None, five minutes are assumed.
    """
    found = [
        _capacity(plant, hours, slot_h),
        _derating(plant, hours, slot_h),
        _reserve(plant, hours, slot_h),
        *(_margin(margin) for margin in margins),
        *_failures(reaches, restart_s),
        *_cdus(plant, hours, slot_h),
        *_frost(plant, hours, dry_bulb_c, slot_h),
        _balance(plant, hours),
    ]
    return worst_first(found)


def worst_first(found: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Return checks in the order of their levels, those of one level as they come."""
    order = [Level.RED, Level.AMBER, Level.GREEN]
    return tuple(sorted(found, key=lambda alarm: order.index(alarm.level)))


def unit_name(plant: CoolingPlant, kind: str) -> str:
    """Return how a unit of a kind of `thermal.plant.outages` is called in a plant."""
    if kind == "rejection":
        return "dry cooler" if plant.loop is not None and isinstance(plant.loop.rejection, DryCooler) else "tower cell"
    return _UNITS[kind]


def told_kw(kw: float) -> str:
    """Return a power for people."""
    return f"{kw:,.0f} kW" if kw >= 100.0 else f"{kw:.3g} kW"


def _where(mask: npt.NDArray[np.bool_], slot_h: float) -> tuple[int | None, float]:
    return (int(np.argmax(mask)), float(mask.sum()) * slot_h) if mask.any() else (None, 0.0)


def _capacity(plant: CoolingPlant, hours: CoolingHours, slot_h: float) -> Alarm:
    over = hours.powered & (hours.it_kw > hours.w_max_kw + ROUNDING_SHARE * plant.rated_it_kw)
    slot, spell_h = _where(over, slot_h)
    if slot is None:
        spare_kw = float(np.where(hours.powered, hours.w_max_kw - hours.it_kw, np.inf).min(initial=np.inf))
        told = f"The IT power stays within what the cooling carries; {told_kw(spare_kw)} are left at the tightest hour."
        if not hours.powered.any():
            told = "The plant is not powered."
        return Alarm("Capacity", Level.GREEN, told, "", PLANNING)
    worst = int(np.argmax(np.where(over, hours.it_kw - hours.w_max_kw, -np.inf)))
    return Alarm(
        "Capacity",
        Level.RED,
        f"The IT power of {told_kw(hours.it_kw[worst])} is above the {told_kw(hours.w_max_kw[worst])} that the cooling "
        f"carries; the {hours.cause[worst]} passes its limit.",
        f"Plan these hours at or below what the cooling carries, {told_kw(hours.w_max_kw[over].min())} at the least.",
        PLANNING,
        slot,
        spell_h,
    )


def _derating(plant: CoolingPlant, hours: CoolingHours, slot_h: float) -> Alarm:
    slot, spell_h = _where(hours.cause != "", slot_h)
    if slot is None:
        return Alarm(
            "Derating", Level.GREEN, f"The cooling carries its rated {told_kw(plant.rated_it_kw)}.", "", FACILITIES
        )
    least = int(np.argmin(np.where(hours.cause != "", hours.w_max_kw, np.inf)))
    cleaned = "filters and condensers" if plant.loop is None else "coils, and test pads,"
    return Alarm(
        "Derating",
        Level.AMBER,
        f"The cooling carries {told_kw(hours.w_max_kw[least])} of its rated {told_kw(plant.rated_it_kw)}; the limit of "
        f"the {hours.cause[least]} is reached first.",
        f"Clean {cleaned} before then, and keep every unit in service.",
        FACILITIES,
        slot,
        spell_h,
    )


def _reserve(plant: CoolingPlant, hours: CoolingHours, slot_h: float) -> Alarm:
    short = hours.powered & (hours.it_kw > hours.w_max_n1_kw + ROUNDING_SHARE * plant.rated_it_kw)
    slot, spell_h = _where(short, slot_h)
    if slot is None:
        return Alarm(
            "Reserve (N+1)", Level.GREEN, "Any one unit may fail without a limit being passed.", "", FACILITIES
        )
    worst = int(np.argmax(np.where(short, hours.it_kw - hours.w_max_n1_kw, -np.inf)))
    unit = unit_name(plant, str(hours.worst_unit[worst]))
    return Alarm(
        "Reserve (N+1)",
        Level.AMBER,
        f"With one {unit} out the cooling carries {told_kw(hours.w_max_n1_kw[worst])}, below the IT power of "
        f"{told_kw(hours.it_kw[worst])}.",
        f"Keep maintenance of a {unit} out of these hours; if one fails, bring the IT power below "
        f"{told_kw(hours.w_max_n1_kw[short].min())}.",
        FACILITIES,
        slot,
        spell_h,
    )


def _margin(margin: Margin) -> Alarm:
    told = f"The {margin.name} reaches {margin.highest_c:.1f} \u00b0C; its limit is {margin.limit_c:.1f} \u00b0C."
    name = f"Temperature: {margin.name}"
    if margin.margin_k < -1e-6:
        return Alarm(name, Level.RED, told, "Lower the IT power in these hours.", PLANNING, margin.slot)
    if margin.margin_k < AMBER_MARGIN_K:
        action = f"Check its sensors: less than {AMBER_MARGIN_K:g} K are left."
        return Alarm(name, Level.AMBER, told, action, FACILITIES, margin.slot)
    return Alarm(name, Level.GREEN, told, "", FACILITIES, margin.slot)


_FAILURES = {
    Event.PUMP_LOSS: (
        "Rack pumps lost",
        SELF_THROTTLE_S,
        "GPUs slow down by themselves only after some {least_s:.0f} s",
        "Keep the rack pumps on a UPS and test the hardware trip: no plan protects against this.",
    ),
    Event.CDU_LOSS: (
        "CDUs shut off",
        TOLD_S,
        "training is throttled within {least_s:.0f} s of an alarm",
        "Test that the CDUs' alarm reaches the training, and the changeover of their valves.",
    ),
    Event.REJECTION_LOSS: (
        "Heat rejection lost",
        RESTART_S,
        "drives and chillers are back within {least_s:.0f} s",
        "Test the restart after a dip in the supply, and that training is throttled until cooling is back.",
    ),
}


def _failures(reaches: Sequence[Reach], restart_s: float | None) -> list[Alarm]:
    found = []
    for event, (name, assumed_s, other, action) in _FAILURES.items():
        least_s, basis = assumed_s, "as is assumed"
        if event is Event.REJECTION_LOSS and restart_s is not None:
            least_s, basis = restart_s, "as the site file says"
        times = [reach for reach in reaches if reach.event is event]
        known = [reach for reach in times if np.isfinite(reach.time_s).any()]
        if not known:
            if times:
                told = "The chips' cases never reach their limit."
                found.append(Alarm(name, Level.GREEN, told, "", FACILITIES, tag=ASSUMED))
            continue
        first = min(known, key=lambda reach: reach.limit_c)
        slot = int(np.nanargmin(first.time_s))
        time_s = float(first.time_s[slot])
        told = (
            f"The chips' cases reach {first.limit_c:.0f} \u00b0C after {time_s:,.0f} s at the worst hour; "
            f"{other.format(least_s=least_s)}, {basis}."
        )
        level = Level.AMBER if time_s < least_s else Level.GREEN
        done = action if level is Level.AMBER else ""
        found.append(Alarm(name, level, told, done, FACILITIES, slot, tag=ASSUMED))
    return found


def _cdus(plant: CoolingPlant, hours: CoolingHours, slot_h: float) -> list[Alarm]:
    if plant.loop is None or not hours.powered.any():
        return []
    share = np.where(hours.powered, hours.cdu_load_share, 0.0)
    worst, count = int(np.argmax(share)), plant.loop.cdu.count
    one_out = share * count / (count - 1) if count > 1 else np.full_like(share, np.inf)
    slot, spell_h = _where(one_out > 1.0, slot_h)
    told = f"The CDUs carry up to {100 * share[worst]:.0f} % of their rated heat"
    if slot is None:
        left = f"{100 * one_out[worst]:.0f} % with one of {count} out"
        return [Alarm("CDU load", Level.GREEN, f"{told}, {left}.", "", FACILITIES, worst)]
    left = f"{100 * one_out[worst]:.0f} % with one of {count} out" if count > 1 else "and there is only one"
    action = "Take no CDU out of service in these hours."
    return [Alarm("CDU load", Level.AMBER, f"{told}, {left}.", action, FACILITIES, slot, spell_h)]


def _frost(plant: CoolingPlant, hours: CoolingHours, dry_bulb_c: npt.NDArray[np.float64], slot_h: float) -> list[Alarm]:
    if plant.loop is None or not hours.powered.any():
        return []
    rejected_in = "coolers" if isinstance(plant.loop.rejection, DryCooler) else "towers"
    coldest = int(np.argmin(dry_bulb_c))
    told = (
        f"The outdoor air falls to {dry_bulb_c[coldest]:.1f} \u00b0C; ice forms in the facility loop's "
        f"{plant.loop.facility_coolant} at {plant.loop.frost_c:.1f} \u00b0C."
    )
    slot, spell_h = _where(dry_bulb_c < plant.loop.frost_c, slot_h)
    if slot is None:
        return [Alarm("Frost", Level.GREEN, told, "", FACILITIES, coldest)]
    action = f"Keep a flow in all {rejected_in}, those out of service too, or drain them."
    return [Alarm("Frost", Level.AMBER, told, action, FACILITIES, slot, spell_h)]


def _balance(plant: CoolingPlant, hours: CoolingHours) -> Alarm:
    residual_kw = float(np.abs(hours.residual_kw).max())
    told = f"The model leaves {residual_kw:.2g} kW of heat unaccounted for, at most."
    if residual_kw > BALANCE_SHARE * plant.rated_it_kw:
        action = "Do not use this report; tell the makers of the model."
        return Alarm("Energy balance of the model", Level.RED, told, action, PLANNING)
    return Alarm("Energy balance of the model", Level.GREEN, told, "", PLANNING)
