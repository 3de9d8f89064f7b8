"""From the tables of tariff, contracts and connections to physics."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from planner.timegrid import to_utc
from power.connection import CapacityStep, Connection, GridUnit, Smoothing, UnitOutage
from power.contracts import Attributes, EnergyContract, Interruption
from power.quarters import HOUR_MIN
from power.tariff import ContractedDemand, Period, Tariff

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from planner.config import model, power_tables

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def tariff(table: model.TariffTable) -> Tariff:
    """Return the site's tariff."""
    contracted = None
    if table.contracted is not None:
        own = table.contracted
        contracted = ContractedDemand(own.contract_kw, own.min_share, own.ratchet_share, tuple(own.past_peaks_kw))
    return Tariff(
        adder_per_kwh=table.adder_per_kwh,
        demand_charge_per_kw_month=table.demand_charge_per_kw_month,
        month_to_date_peak_kw=table.month_to_date_peak_kw,
        demand_interval_min=table.demand_interval_min,
        periods=tuple(_period(one) for one in table.period),
        contracted=contracted,
    )


def contract(table: power_tables.ContractTable, zone: str, tz: ZoneInfo) -> EnergyContract:
    """Return an energy contract.

    Args:
        table: What the site file says.
        zone: Grid zone of the site: where energy is delivered unless the table names another.
        tz: Site time zone.
    """
    attributes = None
    if table.factor_gco2_per_kwh is not None and table.basis is not None and table.technology is not None:
        attributes = Attributes(table.technology, table.factor_gco2_per_kwh, table.basis, table.boundary or zone)
    return EnergyContract(
        name=table.name,
        kw=table.kw,
        price_per_kwh=table.price_per_kwh,
        profile=table.profile,
        hour_share=tuple(table.hour_share),
        start=_utc(table.start, tz),
        end=_utc(table.end, tz),
        min_take_share=table.min_take_share,
        offered=table.offered,
        all_or_none=table.all_or_none,
        interruptible=table.kind == "interruptible",
        interruptions=_interruptions(table.interruption, tz),
        notice_min=table.notice_min,
        attributes=attributes,
    )


def connection(table: power_tables.ConnectionTable | None, tz: ZoneInfo) -> Connection | None:
    """Return what stands between a block and the grid, or None where the site file says nothing of it."""
    if table is None:
        return None
    smoothing = None
    if table.smoothing is not None:
        smoothing = Smoothing(table.smoothing.power_kw, table.smoothing.up_to_s, table.smoothing.means)
    return Connection(
        units=tuple(GridUnit(u.name, u.kind, u.rating_kw, _utc(u.available_from, tz)) for u in table.unit),
        n1=table.n1,
        outages=tuple(UnitOutage(o.unit, to_utc(o.start, tz), to_utc(o.end, tz), o.reason) for o in table.outage),
        steps=tuple(CapacityStep(to_utc(s.since, tz), s.capacity_kw) for s in table.step),
        interruptible_kw=table.interruptible_kw,
        interruptions=_interruptions(table.interruption, tz),
        notice_min=table.notice_min,
        smoothing=smoothing,
    )


def clock_minutes(hours: str) -> tuple[int, int]:
    """Return the first minute of the day and the first one after of hours such as "08:00-20:00"."""
    begin, end = ([int(part) for part in clock.split(":")] for clock in hours.split("-"))
    return begin[0] * HOUR_MIN + begin[1], end[0] * HOUR_MIN + end[1]


def _period(table: power_tables.PeriodTable) -> Period:
    from_min, until_min = clock_minutes(table.hours)
    return Period(
        name=table.name,
        months=tuple(table.months),
        weekdays=tuple(WEEKDAYS.index(day) + 1 for day in table.weekdays),
        from_min=from_min,
        until_min=until_min,
        price_per_kwh=table.price_per_kwh,
        adder_per_kwh=table.adder_per_kwh,
        demand_charge_per_kw_month=table.demand_charge_per_kw_month,
        month_to_date_peak_kw=table.month_to_date_peak_kw,
    )


def _interruptions(tables: Iterable[power_tables.InterruptionTable], tz: ZoneInfo) -> tuple[Interruption, ...]:
    return tuple(Interruption(to_utc(i.start, tz), to_utc(i.end, tz), _utc(i.called_at, tz)) for i in tables)


def _utc(when: datetime | None, tz: ZoneInfo) -> datetime | None:
    return None if when is None else to_utc(when, tz)
