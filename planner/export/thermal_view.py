"""What the thermal report's page says, as words and rows: the page itself only lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export import view, wording
from planner.export.points import points
from planner.export.view import Card
from planner.timegrid import week_name
from thermal.alarms import Level, unit_name
from thermal.catalogue import describe
from thermal.quantity import ASSUMED, MEASURED
from thermal.transient import Event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from planner.thermal_outlook import BlockOutlook, ThermalOutlook
    from thermal.alarms import Alarm
    from thermal.derating import Derate
    from thermal.quantity import Quantity

NONE = "\u2013"
KINDS = {
    "dry_cooler": "warm-water loop with dry coolers",
    "tower_chiller": "liquid loop with wet towers and trim chillers",
    "room_air": "air-cooled room",
}
"""How each kind of plant is told."""

SIGNALS = ("dry_bulb_c", "wet_bulb_c", "ci_gco2_per_kwh")
"""The signals that the report stands on; prices and sunshine play no part in it."""

SIGNS = {Level.RED: "\u2715", Level.AMBER: "\u25b2", Level.GREEN: "\u2713"}
"""A sign per level, so that none is told by its colour alone."""

EVENTS = {
    Event.PUMP_LOSS: "Rack pumps stop",
    Event.CDU_LOSS: "CDUs shut off from the facility loop",
    Event.REJECTION_LOSS: "Heat rejection stops, loops go on",
}
"""How each failure is told."""

FIGURES = {
    "it_kw": "IT power",
    "w_max_kw": "Cooling carries",
    "w_max_n1_kw": "Carries with one unit out",
    "limit_kw": "A plan may take",
    "cooling_kw": "Power of cooling",
    "setpoint_c": "Supply to request",
    "rack_supply_c": "Liquid to the racks",
    "rack_return_c": "Liquid from the racks",
    "rack_rise_k": "Temperature rise (dT), rack loop",
    "case_c": "Chip cases",
    "facility_supply_c": "Facility water to the CDUs",
    "facility_return_c": "Facility water from the CDUs",
    "facility_rise_k": "Temperature rise (dT), facility loop",
    "cdu_approach_k": "Approach of the CDUs",
    "rejection_approach_k": "Facility supply above what free cooling can reach",
    "flow_l_per_min": "Flow of the rack loop",
    "flow_l_per_min_per_kw": "Flow per kW of liquid heat",
    "rack_pump_head_kpa": "Differential pressure, rack loop",
    "cdu_load_share": "CDU load",
    "cdu_load_one_out_share": "CDU load with one out",
    "fan_speed": "Fan speed",
    "air_supply_c": "Air to the racks",
    "heat_sold_kw": "Heat sold",
    "tank_kw": "Heat rejected for the tank; below zero it takes up heat",
}
"""How each figure of the loops is told."""

MODES = {
    "free cooling": "Free cooling alone",
    "pad": "Free cooling with wetted pads",
    "chiller": "Chillers on",
    "compressor": "Compressors on",
    "off": "Not powered",
}
"""How each mode of cooling is told."""


def title(outlook: ThermalOutlook) -> str:
    """Return the title, such as "lab-8gpu: cooling, week 2024-W20"."""
    return f"{outlook.site}: cooling, week {week_name(outlook.grid.start, outlook.tz)}"


def span(outlook: ThermalOutlook) -> str:
    """Return the span in site time with the zone's name."""
    first, last = (wording.local(t, outlook.tz) for t in (outlook.grid.start, outlook.grid.end))
    return f"{first} to {last}, {outlook.timezone}; made {wording.local(outlook.issued_at, outlook.tz)}"


def moment(outlook: ThermalOutlook, slot: int) -> str:
    """Return the start of a slot in site time."""
    return wording.local(outlook.grid.starts[slot], outlook.tz)


def provenance_rows(outlook: ThermalOutlook) -> tuple[tuple[str, ...], ...]:
    """Return one row per signal that this report stands on: the weather, and carbon for CUE."""
    return view.provenance_rows([entry for entry in outlook.provenance if entry.signal in SIGNALS])


def now_told(outlook: ThermalOutlook, block: BlockOutlook) -> str:
    """Return which hour the report calls "now"."""
    present = outlook.grid.start <= outlook.issued_at < outlook.grid.end
    return moment(outlook, block.report.now) + ("" if present else ", the week's first hour")


def cards(outlook: ThermalOutlook) -> tuple[Card, ...]:
    """Return the headline: alarms, capacity, the tightest temperature, PUE."""
    return (_alarm_card(outlook), _capacity_card(outlook), _margin_card(outlook), _pue_card(outlook))


def _alarm_card(outlook: ThermalOutlook) -> Card:
    levels = [alarm.level for block in outlook.blocks for alarm in block.report.alarms]
    red, amber, green = (levels.count(level) for level in (Level.RED, Level.AMBER, Level.GREEN))
    told = "a limit is passed unless somebody acts" if red else "nothing passes a limit"
    return Card("Alarms", f"{red} red, {amber} amber", (told, f"{green} checks are green"), bad=red > 0)


def _capacity_card(outlook: ThermalOutlook) -> Card:
    derated_h = [block.report.totals["derate_h"].value or 0.0 for block in outlook.blocks]
    worst = outlook.blocks[int(np.argmax(derated_h))]
    held = _held_back(outlook)
    if not max(derated_h):
        return Card("Cooling carries", "its rated power", ("no hour is derated, with all units in service", *held))
    least_kw = worst.report.totals["w_max_least_kw"].value or 0.0
    told = f"{worst.name} carries {wording.power(least_kw)} of {wording.power(worst.plant.rated_it_kw)} at the least"
    return Card(
        "Derated",
        wording.hours(max(derated_h)),
        (told, *held),
        bad=any(block.report.totals["over_capacity_h"].value for block in outlook.blocks),
    )


def _held_back(outlook: ThermalOutlook) -> tuple[str, ...]:
    """Return where a plan may take less than the plant carries, in the block where the share is the least."""
    limited = [b for b in outlook.blocks if (b.report.limit.it_kw < b.report.hours.w_max_kw).any()]
    if not limited:
        return ()
    block = min(limited, key=lambda b: float(b.report.limit.it_kw.min()) / b.plant.rated_it_kw)
    limit = block.report.limit
    least = int(np.argmin(limit.it_kw))
    cause = wording.limit_cause(str(limit.cause[least]))
    told = f"a plan may take {wording.power(float(limit.it_kw[least]))} at the least: {cause}"
    return (told,)


def _margin_card(outlook: ThermalOutlook) -> Card:
    found = [(margin, block) for block in outlook.blocks for margin in block.report.margins]
    if not found:
        return Card("Tightest temperature", NONE, ("no plant is powered",))
    margin, block = min(found, key=lambda pair: pair[0].margin_k)
    when = moment(outlook, margin.slot)
    notes = (f"{margin.name} of {block.name}, {margin.highest_c:.1f} of {margin.limit_c:.1f} \u00b0C", when)
    return Card("Tightest temperature", f"{_signed(margin.margin_k)} K left", notes, bad=margin.margin_k < -1e-6)


def _pue_card(outlook: ThermalOutlook) -> Card:
    def total(name: str) -> float:
        found = (block.report.totals.get(name) for block in outlook.blocks)
        return sum(quantity.value or 0.0 for quantity in found if quantity is not None)

    it_kwh, cooling_kwh, water_l, pumps_kwh = map(total, ("it_kwh", "cooling_kwh", "water_l", "heat_pump_kwh"))
    value = f"{(it_kwh + cooling_kwh + pumps_kwh) / it_kwh:.3f}" if it_kwh else NONE
    inside = "IT, cooling and heat pumps" if pumps_kwh else "IT and cooling"
    reuse = f", {wording.energy(pumps_kwh)} for heat pumps" if pumps_kwh else ""
    notes = (
        f"{inside} alone, modelled; {wording.energy(cooling_kwh)} for cooling{reuse}",
        f"{_water(water_l)} water",
    )
    return Card("PUE of the week", value, notes)


def closing_lines(outlook: ThermalOutlook, files: tuple[Path, Path]) -> tuple[str, ...]:
    """Return five lines for a terminal: alarms, capacity, temperature, PUE, files."""
    told = [f"{card.name.lower():<22}{card.value}: {'; '.join(card.notes)}" for card in cards(outlook)]
    return (*told, f"{'files':<22}{', '.join(map(str, files))}")


def block_title(block: BlockOutlook) -> str:
    """Return a block's heading."""
    return f"Block {block.name}: {KINDS[block.plant.kind]}, {wording.power(block.plant.rated_it_kw)}"


def alarm_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return what asks for an action: level, sign, name, sentence, how known, action, owner, since when, hours."""
    return tuple(
        (
            str(alarm.level),
            SIGNS[alarm.level],
            alarm.name,
            alarm.told,
            alarm.tag,
            alarm.action,
            alarm.owner,
            _when(outlook, alarm),
            f"{wording.hours(alarm.hours_h)} in all" if alarm.hours_h else "",
        )
        for alarm in block.report.alarms
        if alarm.level is not Level.GREEN
    )


def green_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the checks that are green: name, sentence, time, how it is known."""
    green = [alarm for alarm in block.report.alarms if alarm.level is Level.GREEN]
    return tuple(
        (f"{SIGNS[Level.GREEN]} {alarm.name}", alarm.told, _when(outlook, alarm), alarm.tag) for alarm in green
    )


def _when(outlook: ThermalOutlook, alarm: Alarm) -> str:
    if alarm.tag == MEASURED:
        return "until now"
    return "all week" if alarm.slot is None else moment(outlook, alarm.slot)


def capacity_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return what the plant carries over the week: name, value, how it is known."""
    totals = block.report.totals
    names = (
        ("rated_it_kw", "Rated IT power"),
        ("it_peak_kw", "Highest IT power of the week"),
        ("w_max_least_kw", "Carries at the least"),
        ("w_max_n1_least_kw", "Carries at the least with one unit out"),
        ("limit_least_kw", "A plan may take at the least"),
        ("derate_h", "Hours below rated IT power"),
        ("derate_n1_h", "The same with one unit out"),
        ("limited_h", "Hours in which a plan may not take rated IT power"),
        ("over_capacity_h", "Hours with more IT power than is carried"),
        ("over_limit_h", "Hours with more IT power than a plan may take"),
        ("without_reserve_h", "Hours in which no unit may fail"),
    )
    return tuple((told, told_quantity(totals[name]), totals[name].tag) for name, told in names)


def derate_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return every derated spell: start, length, least power, cause, hottest dry and wet bulb."""
    return _spell_rows(outlook, block.report.derates)


def limit_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return every spell in which a plan may take less than rated IT power, as `derate_rows` does."""
    return _spell_rows(outlook, block.report.limit_spells)


def limit_told(block: BlockOutlook) -> str:
    """Return in a sentence what the site has its plan hold back."""
    held = []
    if block.reserve.one_out:
        held.append("any one unit out (cooling_n1)")
    if block.reserve.restart_s is not None:
        held.append(f"heat rejection lost for {block.reserve.restart_s:g} s (ride_through_restart_s)")
    if not held:
        return "The site asks its plan for no reserve, neither cooling_n1 nor ride_through_restart_s."
    return f"The site asks its plan to bear {' and '.join(held)}."


def _spell_rows(outlook: ThermalOutlook, spells: Iterable[Derate]) -> tuple[tuple[str, ...], ...]:
    grid = outlook.grid
    return tuple(
        (
            moment(outlook, spell.first),
            wording.hours((spell.after - spell.first) * grid.slot_h),
            wording.power(spell.least_kw),
            wording.limit_cause(spell.cause),
            f"{spell.hottest_dry_bulb_c:.1f} \u00b0C",
            f"{spell.hottest_wet_bulb_c:.1f} \u00b0C",
        )
        for spell in spells
    )


def temperature_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return every temperature with a limit: name, highest, limit, margin, time."""
    return tuple(
        (
            margin.name,
            f"{margin.highest_c:.1f} \u00b0C",
            f"{margin.limit_c:.1f} \u00b0C",
            f"{_signed(margin.margin_k)} K",
            moment(outlook, margin.slot),
            "modelled",
        )
        for margin in block.report.margins
    )


def figure_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the figures of the loops: name, now, at the highest load, at the tightest hour, range, how it is known."""
    return tuple(
        (
            FIGURES[row.name],
            told_quantity(row.now),
            told_quantity(row.peak),
            told_quantity(row.tightest),
            _range(row.lowest, row.highest),
            row.now.tag,
        )
        for row in block.report.spans
    )


def reserve_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return at the page's three moments whether one unit may fail, the worst kind of unit, and the power left."""
    rows = []
    hours = block.report.hours
    report = block.report
    for name, slot in (("Now", report.now), ("Highest load", report.peak), ("Tightest hour", report.tightest)):
        spare_kw = float(hours.w_max_n1_kw[slot] - hours.it_kw[slot])
        held = "yes" if spare_kw >= -1e-6 * block.plant.rated_it_kw else "no"
        if not hours.powered[slot]:
            rows.append((name, "not powered", NONE, NONE))
            continue
        spare = f"{wording.power(abs(spare_kw))} {'left' if held == 'yes' else 'missing'}"
        rows.append((name, held, unit_name(block.plant, str(hours.worst_unit[slot])), spare))
    return tuple(rows)


def reach_rows(outlook: ThermalOutlook, block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the seconds to each limit per failure: failure, limit, now, at the worst hour, its time."""
    rows = []
    for reach in block.report.reaches:
        known = np.isfinite(reach.time_s)
        worst = int(np.nanargmin(reach.time_s)) if known.any() else None
        rows.append(
            (
                EVENTS[reach.event],
                f"{reach.limit_c:.0f} \u00b0C",
                _seconds(float(reach.time_s[block.report.now])),
                "never" if worst is None else _seconds(float(reach.time_s[worst])),
                NONE if worst is None else moment(outlook, worst),
                ASSUMED,
            )
        )
    return tuple(rows)


def mode_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the hours in each mode that the plant is ever in."""
    found = block.report.mode_hours.items()
    return tuple((MODES[mode], told_quantity(quantity), quantity.tag) for mode, quantity in found if quantity.value)


def use_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return energy and water of the week, and what the model leaves unaccounted for."""
    totals = block.report.totals
    names = (
        ("it_kwh", "IT energy"),
        ("fan_kwh", "Fans"),
        ("pump_kwh", "Pumps"),
        ("compressor_kwh", "Compressors"),
        ("water_l", "Make-up water"),
        ("water_peak_l_per_h", "Make-up water, highest"),
        ("heat_reused_kwh", "Heat given to others"),
        ("heat_pump_kwh", "Energy of heat pumps"),
        ("tank_filled_kwh", "Heat rejected to fill the tank"),
        ("tank_drawn_kwh", "Heat that went into the tank"),
    )
    residual_kw = totals["energy_balance_residual_kw"].value or 0.0
    return (
        *((told, told_quantity(totals[name]), totals[name].tag) for name, told in names if name in totals),
        ("Energy balance of the model, largest residual", f"{residual_kw:.1g} kW", "modelled"),
    )


def kpi_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the key figures: name, value, standard, how it is known, boundary."""
    return tuple(
        (
            f"{kpi.name}, {kpi.title[0].lower()}{kpi.title[1:]}",
            NONE if kpi.value is None else f"{kpi.value:.3f} {kpi.unit}".rstrip(),
            kpi.standard,
            kpi.tag,
            kpi.boundary,
        )
        for kpi in block.report.kpis
    )


def plant_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return every value of the plant: setting, value, how it is known, source."""
    return tuple((row.name, _setting(row.value, row.unit), row.grade, row.source) for row in describe(block.plant))


def plant_told(block: BlockOutlook) -> str:
    """Return how many of the plant's values are known in which way."""
    grades = [row.grade for row in describe(block.plant)]
    counted = ", ".join(f"{grades.count(grade)} {grade}" for grade in ("measured", "datasheet", "assumed"))
    return f"{len(grades)} values of the plant: {counted}"


def point_rows(block: BlockOutlook) -> tuple[tuple[str, ...], ...]:
    """Return the names of the points: series, DSX object and point type, process area, Redfish property."""
    return tuple(
        (
            point.series or "not modelled",
            f"{point.object_type}/{point.point_type}",
            point.eng_unit or NONE,
            point.process_area or NONE,
            point.redfish or NONE,
        )
        for point in points(block.plant)
    )


def told_quantity(quantity: Quantity) -> str:
    """Return a number with its unit as people read it."""
    value, unit = quantity.value, quantity.unit
    if value is None:
        return NONE
    tellers = {"kW": wording.power, "kWh": wording.energy, "L": wording.water, "h": wording.hours}
    if unit in tellers:
        return tellers[unit](value)
    if unit == "C":
        return f"{value:.1f} \u00b0C"
    if unit == "K":
        return f"{_signed(value)} K"
    return wording.percent(value, 0) if not unit else f"{wording.number(value)} {unit}"


def _range(lowest: Quantity, highest: Quantity) -> str:
    low, high = told_quantity(lowest), told_quantity(highest)
    return low if low == high else f"{low} to {high}"


def _signed(value: float) -> str:
    return f"{value:.1f}".replace("-", "\u2212")


def _seconds(time_s: float) -> str:
    if np.isnan(time_s):
        return NONE
    if np.isinf(time_s):
        return "never"
    return f"{time_s:.0f} s" if time_s < 3600.0 else wording.duration(time_s / 3600.0)


def _water(litres: float) -> str:
    return wording.water(litres) if litres else "no"


def _setting(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g} {unit}".rstrip() if isinstance(value, (int, float)) else str(value)
