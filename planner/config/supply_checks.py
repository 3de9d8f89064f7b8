"""What the tables of own supply and of agreements must be to themselves and to each other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias
from zoneinfo import ZoneInfo

from planner.config.moments import Moments, order_mend
from power.battery import FREE
from power.ppa import BASELOAD, DIFFERENCE

if TYPE_CHECKING:
    from planner.config import model, supply_tables
    from planner.config.draft import Draft, Placed
    from planner.config.lines import KeyPath

    Owner: TypeAlias = Placed[model.BlockTable] | Placed[supply_tables.PpaTable]

FARM = ("solar", "wind", "output_csv")


def check_supply(draft: Draft, tz: ZoneInfo) -> None:
    """Note the faults of what stands behind the blocks' meters, and of agreements."""
    carbon = draft.single.get("carbon")
    basis = carbon.table.basis if carbon is not None and carbon.sound("basis") else None
    for block in draft.blocks:
        table = block.table
        if table.solar is not None and block.sound("solar"):
            _check_solar(block, ("solar",), table.solar)
        if table.wind is not None and block.sound("wind"):
            _check_wind(block, ("wind",), table.wind)
        if table.battery is not None and block.sound("battery"):
            _check_battery(block, table.battery)
        if block.sound("generator"):
            _check_generators(block, basis, Moments(tz))
        if table.export is not None and table.export.fixed_per_kwh is not None:
            _unused(block, ("export",), table.export, "price_share", "beside fixed_per_kwh")
        if table.grid_kw is not None and block.sound("capacity_kw", "grid_kw") and table.grid_kw > table.capacity_kw:
            what = f"{table.grid_kw:g} kW is above the block's capacity of {table.capacity_kw:g} kW"
            block.fault(("grid_kw",), what, "give the largest import, kW, or leave it out")
    for agreement in draft.ppas:
        _check_ppa(agreement, basis)


def _unused(
    placed: Owner,
    at: KeyPath,
    table: model.Table,
    key: str,
    why: str,
) -> None:
    if key in table.model_fields_set:
        placed.fault((*at, key), f"does nothing {why}", "leave it out")


def _check_solar(placed: Owner, at: KeyPath, table: supply_tables.SolarTable) -> None:
    if not table.tracking:
        for key in ("max_angle_deg", "ground_cover_share"):
            _unused(placed, at, table, key, "without tracking")
        if not table.tilt_deg:
            for key in ("azimuth_deg", "albedo_share"):
                _unused(placed, at, table, key, "for modules that lie flat")


def _check_wind(placed: Owner, at: KeyPath, table: supply_tables.WindTable) -> None:
    speeds = [speed for speed, _ in table.curve]
    if any(later <= earlier for earlier, later in pairwise(speeds)):
        placed.fault((*at, "curve"), "its wind speeds do not rise", "sort the points by wind speed, each once")
    if any(share > 1.0 for _, share in table.curve):
        placed.fault((*at, "curve"), "a share of rated power is above 1", "divide the powers by rated_kw")


def _check_battery(placed: Placed[model.BlockTable], table: supply_tables.BatteryTable) -> None:
    at: KeyPath = ("battery",)
    powers = [key for key in ("charge_kw", "discharge_kw") if getattr(table, key) is not None]
    if table.c_rate_per_h is None:
        for key in ("charge_kw", "discharge_kw"):
            if key not in powers:
                placed.fault((*at, key), "is missing", f"add {key}, or c_rate_per_h for both ways")
    elif powers:
        placed.fault((*at, powers[0]), "stands beside c_rate_per_h", "give the powers or the C-rate")
    if table.wear_cost_per_kwh is not None:
        for key in ("replacement_cost_per_kwh", "cycles", "depth_share"):
            _unused(placed, at, table, key, "beside wear_cost_per_kwh")
    elif table.replacement_cost_per_kwh is None or table.cycles is None:
        what = "nothing says what a kWh discharged wears off"
        placed.fault((*at, "wear_cost_per_kwh"), what, "add it, or replacement_cost_per_kwh with cycles")
    if table.final_rule == FREE:
        _unused(placed, at, table, "final_share", 'with final_rule = "free"')
    else:
        _unused(placed, at, table, "final_worth_per_kwh", "unless the end is free")


def _check_generators(placed: Placed[model.BlockTable], basis: str | None, moments: Moments) -> None:
    names: set[str] = set()
    for i, table in enumerate(placed.table.generator):
        at: KeyPath = ("generator", i)
        if table.name in names:
            placed.fault((*at, "name"), f"{table.name!r} is the name of an earlier group", "give each its own name")
        names.add(table.name)
        priced = table.fuel_price_per_kwh is not None and table.generating_efficiency is not None
        if table.fuel_cost_per_kwh is not None:
            for key in ("fuel_price_per_kwh", "generating_efficiency"):
                _unused(placed, at, table, key, "beside fuel_cost_per_kwh")
        elif not priced:
            what = "nothing says what a kWh generated costs"
            placed.fault((*at, "fuel_cost_per_kwh"), what, "add it, or fuel_price_per_kwh with generating_efficiency")
        if basis is not None and getattr(table, f"{basis}_gco2_per_kwh") is None:
            key = f"{basis}_gco2_per_kwh"
            what = f"is missing, and the plan counts {basis} carbon"
            placed.fault((*at, key), what, f"add {key}; bases are never mixed")
        if table.initial_units > table.units:
            what = f"{table.initial_units} units run of {table.units}"
            placed.fault((*at, "initial_units"), what, "give the units that run as the horizon starts")
        since = moments.utc(placed, (*at, "available_from"), table.available_from)
        until = moments.utc(placed, (*at, "available_until"), table.available_until)
        if since is not None and until is not None and since >= until:
            what = f"{table.available_until} is not after available_from {table.available_from}"
            placed.fault((*at, "available_until"), what, order_mend(since, until, optional=True))


def _check_ppa(placed: Placed[supply_tables.PpaTable], basis: str | None) -> None:
    table = placed.table
    if not placed.sound("kind", "settlement", *FARM, "baseload_kw"):
        return
    _check_delivery(placed)
    if table.settlement == DIFFERENCE:
        for key in ("sale_share", "curtailed_share"):
            _unused(placed, (), table, key, "for a contract for difference")
    if table.solar is not None:
        _check_solar(placed, ("solar",), table.solar)
    if table.wind is not None:
        _check_wind(placed, ("wind",), table.wind)
    if basis == "lifecycle" and table.lifecycle_gco2_per_kwh is None and placed.sound("lifecycle_gco2_per_kwh"):
        what = "is missing, and the plan counts lifecycle carbon"
        placed.fault(("lifecycle_gco2_per_kwh",), what, "add it; bases are never mixed")


def _check_delivery(placed: Placed[supply_tables.PpaTable]) -> None:
    table = placed.table
    farms = [key for key in FARM if getattr(table, key) is not None]
    if table.kind == BASELOAD:
        if table.baseload_kw is None:
            placed.fault(("baseload_kw",), "is missing, and the agreement is a baseload", "add its power, kW")
        for key in (*FARM, "share", "curtailed_share"):
            _unused(placed, (), table, key, "for a baseload")
    else:
        _unused(placed, (), table, "baseload_kw", "for an agreement as produced")
        if len(farms) != 1:
            what = f"an agreement as produced has one farm, and this has {len(farms)}"
            placed.fault((farms[1] if farms else "wind",), what, "give solar = { ... }, wind = { ... } or output_csv")
