"""What the thermal report says of a block, row by row: the page itself only lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export import wording
from planner.export.points import points
from planner.export.thermal_words import (
    EVENTS,
    FIGURES,
    KINDS,
    MODES,
    NONE,
    SIGNS,
    moment,
    seconds,
    setting,
    signed,
    told_quantity,
    told_range,
)
from thermal.alarms import Level, unit_name
from thermal.catalogue import describe
from thermal.quantity import ASSUMED, MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.thermal_outlook import BlockOutlook, ThermalOutlook
    from thermal.alarms import Alarm
    from thermal.derating import Derate


def now_told(outlook: ThermalOutlook, block: BlockOutlook) -> str:
    """Return which hour the report calls "now"."""
    present = outlook.grid.start <= outlook.issued_at < outlook.grid.end
    return moment(outlook, block.report.now) + ("" if present else ", the week's first hour")


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
            f"{signed(margin.margin_k)} K",
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
            told_range(row.lowest, row.highest),
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
                seconds(float(reach.time_s[block.report.now])),
                "never" if worst is None else seconds(float(reach.time_s[worst])),
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
    return tuple((row.name, setting(row.value, row.unit), row.grade, row.source) for row in describe(block.plant))


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
