"""How the thermal report calls things, and writes its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.export import wording
from thermal.alarms import Level
from thermal.transient import Event

if TYPE_CHECKING:
    from planner.thermal_outlook import ThermalOutlook
    from thermal.quantity import Quantity

NONE = "\u2013"

KINDS = {
    "dry_cooler": "warm-water loop with dry coolers",
    "tower_chiller": "liquid loop with wet towers and trim chillers",
    "room_air": "air-cooled room",
}
"""How each kind of plant is told."""

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


def moment(outlook: ThermalOutlook, slot: int) -> str:
    """Return the start of a slot in site time."""
    return wording.local(outlook.grid.starts[slot], outlook.tz)


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
        return f"{signed(value)} K"
    return wording.percent(value, 0) if not unit else f"{wording.number(value)} {unit}"


def told_range(lowest: Quantity, highest: Quantity) -> str:
    """Return the span of two quantities as people read it."""
    low, high = told_quantity(lowest), told_quantity(highest)
    return low if low == high else f"{low} to {high}"


def signed(value: float) -> str:
    """Return a number with one digit and a true minus sign."""
    return f"{value:.1f}".replace("-", "\u2212")


def seconds(time_s: float) -> str:
    """Return a time to a limit as people read it."""
    if np.isnan(time_s):
        return NONE
    if np.isinf(time_s):
        return "never"
    return f"{time_s:.0f} s" if time_s < 3600.0 else wording.duration(time_s / 3600.0)


def water(litres: float) -> str:
    """Return litres as people read them."""
    return wording.water(litres) if litres else "no"


def setting(value: object, unit: str) -> str:
    """Return a setting's value with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g} {unit}".rstrip() if isinstance(value, (int, float)) else str(value)
