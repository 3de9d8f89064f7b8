"""The headline of the thermal report, on its page and in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export import view, wording
from planner.export.thermal_words import NONE, moment, signed, water
from planner.export.view import Card
from planner.timegrid import week_name
from thermal.alarms import Level

if TYPE_CHECKING:
    from pathlib import Path

    from planner.thermal_outlook import ThermalOutlook

SIGNALS = ("dry_bulb_c", "wet_bulb_c", "ci_gco2_per_kwh")
"""The signals that the report stands on; prices and sunshine play no part in it."""


def title(outlook: ThermalOutlook) -> str:
    """Return the title, such as "lab-8gpu: cooling, week 2024-W20"."""
    return f"{outlook.site}: cooling, week {week_name(outlook.grid.start, outlook.tz)}"


def span(outlook: ThermalOutlook) -> str:
    """Return the span in site time with the zone's name."""
    first, last = (wording.local(t, outlook.tz) for t in (outlook.grid.start, outlook.grid.end))
    return f"{first} to {last}, {outlook.timezone}; made {wording.local(outlook.issued_at, outlook.tz)}"


def provenance_rows(outlook: ThermalOutlook) -> tuple[tuple[str, ...], ...]:
    """Return one row per signal that this report stands on: the weather, and carbon for CUE."""
    return view.provenance_rows([entry for entry in outlook.provenance if entry.signal in SIGNALS])


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
    return Card("Tightest temperature", f"{signed(margin.margin_k)} K left", notes, bad=margin.margin_k < -1e-6)


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
        f"{water(water_l)} water",
    )
    return Card("PUE of the week", value, notes)


def closing_lines(outlook: ThermalOutlook, files: tuple[Path, Path]) -> tuple[str, ...]:
    """Return five lines for a terminal: alarms, capacity, temperature, PUE, files."""
    told = [f"{card.name.lower():<22}{card.value}: {'; '.join(card.notes)}" for card in cards(outlook)]
    return (*told, f"{'files':<22}{', '.join(map(str, files))}")
