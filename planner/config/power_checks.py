"""What the tables of tariff, contracts and connections must be to themselves and to each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.config.build_power import clock_minutes
from planner.config.faults import did_you_mean
from planner.config.moments import Moments, order_mend
from power.connection import UNIT_KINDS
from power.contracts import WEEK_HOURS
from power.quarters import QUARTER_MIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from planner.config import model, power_tables
    from planner.config.draft import Draft, Placed
    from planner.config.lines import KeyPath

ATTRIBUTES = ("technology", "factor_gco2_per_kwh", "basis")


def check_power(draft: Draft, tz: ZoneInfo) -> None:
    """Note the faults of the tariff, the contracts and the blocks' connections."""
    tariff = draft.single.get("tariff")
    if tariff is not None:
        _check_tariff(tariff)
    moments = Moments(tz)
    for contract in draft.contracts:
        _check_contract(contract, moments)
    for block in draft.blocks:
        if block.table.connection is not None:
            _check_connection(block, block.table.connection, moments)


def _check_tariff(placed: Placed[model.TariffTable]) -> None:
    table = placed.table
    billed = [table.demand_charge_per_kw_month, *(p.demand_charge_per_kw_month for p in table.period)]
    if "demand_interval_min" in table.model_fields_set and not any(billed):
        placed.fault(("demand_interval_min",), "does nothing without a demand charge", "leave it out")
    _check_twins(placed, "period", [p.name for p in table.period], "tariff period")
    for i, period in enumerate(table.period):
        begin, end = clock_minutes(period.hours)
        if begin == end:
            placed.fault(("period", i, "hours"), f"{period.hours} holds no minute", 'write "00:00-24:00" for all day')
        if period.month_to_date_peak_kw and not period.demand_charge_per_kw_month:
            placed.fault(
                ("period", i, "month_to_date_peak_kw"),
                "does nothing without a demand charge of the period",
                "add demand_charge_per_kw_month or leave it out",
            )
    contracted = table.contracted
    if contracted is None:
        return
    if not table.demand_charge_per_kw_month:
        placed.fault(
            ("contracted",), "bills nothing without a demand charge", "add demand_charge_per_kw_month or leave it out"
        )
    if contracted.past_peaks_kw and not contracted.ratchet_share:
        placed.fault(
            ("contracted", "past_peaks_kw"), "does nothing without a ratchet", "add ratchet_share or leave it out"
        )


def _check_contract(placed: Placed[power_tables.ContractTable], moments: Moments) -> None:
    table = placed.table
    _check_shares(placed)
    start = _quarter(placed, moments, ("start",), table.start)
    end = _quarter(placed, moments, ("end",), table.end)
    if start is not None and end is not None and start >= end:
        placed.fault(("end",), f"{table.end} is not after start {table.start}", order_mend(start, end))
    if table.all_or_none and not table.offered:
        placed.fault(("all_or_none",), "decides nothing of a contract in force", "add offered = true or leave it out")
    if table.kind == "firm":
        for key in ("interruption", "notice_min"):
            if getattr(table, key):
                placed.fault((key,), "is of interruptible contracts", 'write kind = "interruptible" or leave it out')
    if table.notice_min % QUARTER_MIN:
        placed.fault(("notice_min",), f"{table.notice_min:g} min are no whole quarter hours", "round it to 15 min")
    for i, span in enumerate(table.interruption):
        _check_span(placed, moments, ("interruption", i), span, quarters=True)
    given = [key for key in ATTRIBUTES if getattr(table, key) is not None]
    if given and len(given) < len(ATTRIBUTES) and placed.sound(*ATTRIBUTES):
        missing = [key for key in ATTRIBUTES if key not in given]
        placed.fault((given[0],), f"stands without {', '.join(missing)}", f"give all of {', '.join(ATTRIBUTES)}")
    if table.boundary is not None and not given:
        placed.fault(("boundary",), "does nothing without an emission factor", "leave it out")


def _check_shares(placed: Placed[power_tables.ContractTable]) -> None:
    table = placed.table
    if table.profile == "week" and len(table.hour_share) != WEEK_HOURS and placed.sound("hour_share"):
        placed.fault(
            ("hour_share",) if table.hour_share else ("profile",),
            f"a week has {WEEK_HOURS} hours, but there are {len(table.hour_share)} shares",
            "give one share per hour from Monday 00:00 on the site's clocks",
        )
    if table.profile == "custom" and placed.sound("hour_share", "start"):
        if not table.hour_share:
            placed.fault(("profile",), "a custom profile needs shares", "give one share per hour from start")
        if table.start is None:
            placed.fault(("profile",), "the hours of a custom profile count from a start", "give start")
    if table.hour_share and table.profile in {"base", "peak"}:
        placed.fault(
            ("hour_share",), f"a {table.profile} profile has its shares already", 'write profile = "week" or "custom"'
        )


def _check_connection(placed: Placed[model.BlockTable], table: power_tables.ConnectionTable, moments: Moments) -> None:
    here: KeyPath = ("connection",)
    names = [unit.name for unit in table.unit]
    _check_units(placed, table, moments, here)
    for i, outage in enumerate(table.outage):
        _check_span(placed, moments, (*here, "outage", i), outage)
        if outage.unit not in names:
            key = (*here, "outage", i, "unit")
            placed.fault(key, f"{outage.unit!r} is no unit of the connection", did_you_mean(outage.unit, names))
    moments.rising(placed, (*here, "step"), [step.since for step in table.step], "sort the steps by rising time")
    for i, span in enumerate(table.interruption):
        _check_span(placed, moments, (*here, "interruption", i), span)
    if table.interruption and not table.interruptible_kw:
        placed.fault((*here, "interruption"), "calls off nothing", "give interruptible_kw")
    if placed.sound("capacity_kw") and table.interruptible_kw > placed.table.capacity_kw:
        placed.fault(
            (*here, "interruptible_kw"),
            f"{table.interruptible_kw:g} kW are above the block's capacity of {placed.table.capacity_kw:g} kW",
            "give the part of capacity_kw that may be called off",
        )


def _check_units(
    placed: Placed[model.BlockTable], table: power_tables.ConnectionTable, moments: Moments, here: KeyPath
) -> None:
    _check_twins(placed, "unit", [unit.name for unit in table.unit], "unit", here)
    for i, unit in enumerate(table.unit):
        moments.utc(placed, (*here, "unit", i, "available_from"), unit.available_from)
    counts = Counter(unit.kind for unit in table.unit)
    lone = [kind for kind in UNIT_KINDS if counts[kind] == 1]
    if table.n1 and lone:
        placed.fault((*here, "n1"), f"asks for one unit to spare, but there is a single {lone[0]}", "name all units")
    if table.n1 and not table.unit:
        placed.fault((*here, "n1"), "does nothing without units", "name its feeders or transformers")


def _check_span(placed: Placed[Any], moments: Moments, here: KeyPath, span: Any, *, quarters: bool = False) -> None:
    read = _quarter if quarters else _moment
    start = read(placed, moments, (*here, "start"), span.start)
    end = read(placed, moments, (*here, "end"), span.end)
    if start is not None and end is not None and start >= end:
        placed.fault((*here, "end"), f"{span.end} is not after start {span.start}", order_mend(start, end))
    if getattr(span, "called_at", None) is not None:
        read(placed, moments, (*here, "called_at"), span.called_at)


def _moment(placed: Placed[Any], moments: Moments, key: KeyPath, value: datetime | None) -> datetime | None:
    return moments.utc(placed, key, value)


def _quarter(placed: Placed[Any], moments: Moments, key: KeyPath, value: datetime | None) -> datetime | None:
    """Return an instant in UTC that must lie on a quarter hour, as contracts are settled by them."""
    found = moments.utc(placed, key, value)
    if found is not None and found.timestamp() % (60 * QUARTER_MIN):
        placed.fault(key, f"{value} is not on a quarter hour", "contracts deliver in quarter hours: round it")
    return found


def _check_twins(placed: Placed[Any], key: str, names: Sequence[str], noun: str, here: KeyPath = ()) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            placed.fault(
                (*here, key, i, "name"), f"{name!r} is the name of an earlier {noun}", f"give each {noun} its own name"
            )
