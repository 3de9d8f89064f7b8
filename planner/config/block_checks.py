"""What a power block's numbers must be to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.config import build, model
from planner.config.draft import Draft, Placed, read_table
from planner.config.faults import did_you_mean
from planner.config.heat_checks import check_heat
from planner.config.moments import Moments, order_mend
from planner.config.plant_settings import plant_settings
from thermal.facts import check_value
from thermal.plant import outages

if TYPE_CHECKING:
    from planner.config.lines import KeyPath
    from thermal.catalogue import Setting
    from thermal.plant import CoolingPlant

UNIT_SLIP = 50.0
"""Two powers of one block that differ by this factor or more are taken for W, kW and MW mixed up."""


def check_blocks(draft: Draft, tz: ZoneInfo, slot_minutes: int | None) -> None:
    """Note the faults of each block."""
    moments = Moments(tz)
    for placed in draft.blocks:
        _check_dates(placed, moments)
        if placed.sound("capacity_kw"):
            _check_sizes(placed)
        _check_battery(placed)
        _check_cooling(placed)
        window_min = placed.table.ramp_window_min
        if slot_minutes is not None and window_min > slot_minutes:
            placed.fault(
                ("ramp_window_min",) if "ramp_window_min" in placed.table.model_fields_set else (),
                f"starts are staggered over {window_min:g} min, longer than a slot of {slot_minutes} min",
                f"set ramp_window_min to at most {slot_minutes}",
            )


def _check_dates(placed: Placed[model.BlockTable], moments: Moments) -> None:
    block = placed.table
    since = moments.utc(placed, ("available_from",), block.available_from)
    until = moments.utc(placed, ("available_until",), block.available_until)
    if since is not None and until is not None and since >= until:
        placed.fault(
            ("available_until",),
            f"{block.available_until} is not after available_from {block.available_from}",
            order_mend(since, until, optional=True),
        )
    for i, span in enumerate(block.maintenance):
        start = moments.utc(placed, ("maintenance", i, "start"), span.start)
        end = moments.utc(placed, ("maintenance", i, "end"), span.end)
        if start is not None and end is not None and start >= end:
            placed.fault(
                ("maintenance", i, "end"), f"{span.end} is not after start {span.start}", order_mend(start, end)
            )
        if placed.sound("capacity_kw") and span.capacity_kw > block.capacity_kw:
            placed.fault(
                ("maintenance", i, "capacity_kw"),
                f"{span.capacity_kw:g} kW is above the block's capacity of {block.capacity_kw:g} kW",
                "give what remains allowed in maintenance, kW",
            )


def _check_sizes(placed: Placed[model.BlockTable]) -> None:
    block = placed.table
    sizes: list[tuple[KeyPath, str, float]] = [
        (("cooling", "rated_it_kw"), "rated IT power", block.cooling.rated_it_kw)
    ]
    if block.solar is not None:
        sizes.append((("solar", "peak_kw"), "solar peak", block.solar.peak_kw))
    if block.battery is not None:
        battery = block.battery
        given = "c_rate_per_h" if battery.discharge_kw is None else "discharge_kw"
        rated_kw = (battery.c_rate_per_h or 0.0) * battery.energy_kwh
        sizes.append((("battery", given), "battery power", battery.discharge_kw or rated_kw))
    if block.wind is not None:
        sizes.append((("wind", "rated_kw"), "rated wind power", block.wind.rated_kw))
    for i, group in enumerate(block.generator):
        sizes.append((("generator", i, "unit_kw"), f"generators {group.name!r}", group.units * group.unit_kw))
    for key, name, kw in sizes:
        ratio = kw / block.capacity_kw
        if ratio >= UNIT_SLIP or (key[0] == "cooling" and ratio * UNIT_SLIP <= 1):
            placed.fault(
                key,
                f"{name} of {kw:g} kW beside a capacity of {block.capacity_kw:g} kW: W, kW and MW are mixed up",
                "write both in kW (1 MW = 1000)",
            )


def _check_battery(placed: Placed[model.BlockTable]) -> None:
    battery = placed.table.battery
    if battery is None:
        return
    low, high = battery.min_share, battery.max_share
    if low >= high:
        placed.fault(("battery", "min_share"), f"{low:g} is not below max_share {high:g}", "set max_share above it")
        return
    for key in ("initial_share", "final_share"):
        share = getattr(battery, key)
        if not low <= share <= high:
            placed.fault(
                ("battery", key),
                f"{share:g} is outside the battery's window of {low:g} to {high:g}",
                f"set {key} within min_share and max_share",
            )


def _check_cooling(placed: Placed[model.BlockTable]) -> None:
    table = placed.table.cooling
    known = plant_settings(table.kind)
    before = len(placed.faults.found)
    for key, put in (table.model_extra or {}).items():
        if key in known:
            _check_setting(placed, known[key], put)
        else:
            placed.fault(
                ("cooling", key), f"a {table.kind} plant has no setting of that name", did_you_mean(key, known)
            )
    if len(placed.faults.found) > before or not placed.sound("cooling"):
        return
    try:
        plant = build.plant(table)
    except ValueError as error:
        what, _, fix = str(error).rpartition("; ")  # a plant's own errors end with the mend
        placed.fault(("cooling",), what or fix, fix if what else "leave the setting out for its default")
        return
    _check_reserve(placed, plant)
    check_heat(placed, plant)


def _check_setting(placed: Placed[model.BlockTable], setting: Setting, put: Any) -> None:
    """Note the fault of one setting of the plant: a plain value, or a graded one."""
    key: KeyPath = ("cooling", setting.name)
    value = put
    if isinstance(put, dict):
        graded = read_table(model.GradedTable, put, (*placed.path, *key), placed.faults)
        if graded is None or graded.wrong:
            return
        value = graded.table.value
        if graded.table.grade != "assumed" and graded.table.source is None:
            placed.fault(
                (*key, "grade"),
                f"is {graded.table.grade!r} without a source",
                'add source = "...", the measurement or the sheet',
            )
        key = (*key, "value")
    try:
        check_value(setting.name, value, setting.default, setting.fact)
    except ValueError as error:
        shown = f"{setting.default:g} {setting.fact.unit}" if isinstance(setting.default, float) else setting.default
        fix = f"leave {setting.name} out for its default, {str(shown).strip()}"
        placed.fault(key, str(error).removeprefix(f"{setting.name} "), fix)


def _check_reserve(placed: Placed[model.BlockTable], plant: CoolingPlant) -> None:
    if placed.table.cooling_n1:
        single = [kind for kind, running in outages(plant).items() if getattr(running, kind) == 0.0]
        if single:
            placed.fault(
                ("cooling_n1",),
                f"asks for one unit to spare, but the plant has a single one of: {', '.join(single)}",
                "give the plant's counts of units, or leave cooling_n1 out",
            )
    if placed.table.ride_through_restart_s is not None and plant.loop is None:
        placed.fault(
            ("ride_through_restart_s",),
            f"a {plant.kind} plant has no liquid loop whose heat rejection could be ridden through",
            "leave it out",
        )
