"""The thermal report's facts of all blocks of a site for one week, from its plants, the weather and the load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from planner.cold_flows import planned_flows
from planner.timegrid import zone
from planner.week import firm_kw, stands_powered
from power.carbon import carbon_kg
from thermal.alarms import worst_first
from thermal.calibrate.telemetry import TIME_UNIT
from thermal.measured import measured, measured_alarms
from thermal.plan_alarm import plan_limit_alarm
from thermal.report import cooling_report
from thermal.reuse import NO_FLOWS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from zoneinfo import ZoneInfo

    import numpy.typing as npt

    from planner.config.site import Site, SiteBlock
    from planner.outlook import Gathered
    from planner.timegrid import TimeGrid
    from planner.week import Provenance, Signals
    from thermal.calibrate import Telemetry
    from thermal.measured import Measured
    from thermal.plant import CoolingPlant
    from thermal.report import CoolingReport
    from thermal.reserve import Reserve
    from trainer_hooks.contract import BlockPlan, Calendar

RATED, CALENDAR = "rated", "calendar"
SINGLE_FORECAST = "Single forecast: the weather has no quantiles, so no hour carries a probability."


@dataclass(frozen=True)
class BlockOutlook:
    """One block.

    Args:
        name: Its name.
        plant: Its cooling plant.
        load: "calendar" (IT power of the calendar in force) or "rated" (of the plant in every slot).
        reserve: What the site holds back of the plant.
        report: Its facts.
        measured: What its own sensors told, or None.
    """

    name: str
    plant: CoolingPlant
    load: str
    reserve: Reserve
    report: CoolingReport
    measured: Measured | None = None


@dataclass(frozen=True)
class ThermalOutlook:
    """One week of a site's cooling.

    Args:
        site: Name of the site.
        timezone: IANA name of site time.
        grid: The slots.
        issued_at: When it is made, UTC.
        calendar_id: The calendar in force whose load is used, or None.
        signals: The weather and the grid per slot.
        provenance: One entry per signal.
        labels: Sentences that every output must show.
        blocks: The blocks, in the site file's order.
    """

    site: str
    timezone: str
    grid: TimeGrid
    issued_at: datetime
    calendar_id: str | None
    signals: Signals
    provenance: tuple[Provenance, ...]
    labels: tuple[str, ...]
    blocks: tuple[BlockOutlook, ...]

    @cached_property
    def tz(self) -> ZoneInfo:
        """Site time zone."""
        return zone(self.timezone)


def thermal_outlook(
    site: Site,
    grid: TimeGrid,
    gathered: Gathered,
    *,
    issued_at: datetime,
    calendar: Calendar | None,
    telemetry: Mapping[str, Telemetry] = MappingProxyType({}),
) -> ThermalOutlook:
    """Return the facts of every block.

    Args:
        site: The site.
        grid: The slots.
        gathered: Weather and grid per slot.
        issued_at: When the outlook counts as made: the slot that is "now", the first one if it lies outside the week.
        calendar: The calendar in force; where None, or where it covers other slots or lacks a block, the plant's rated
            IT power is asked about instead, and a label says so.
        telemetry: Block -> readings of its meters and sensors.
    """
    used = calendar if calendar is not None and _covers(calendar, grid) else None
    plans = {} if used is None else {plan.block: plan for plan in used.blocks}
    present = int(np.floor(grid.position(issued_at)))
    now = present if 0 <= present < grid.n_slots else 0
    modelled = [_block(block, grid, gathered.signals, plans.get(block.power.name), now) for block in site.blocks]
    blocks = tuple(
        _with_measured(block, grid, telemetry[block.name]) if block.name in telemetry else block for block in modelled
    )
    return ThermalOutlook(
        site=site.name,
        timezone=site.place.timezone,
        grid=grid,
        issued_at=issued_at,
        calendar_id=None if used is None else used.calendar_id,
        signals=gathered.signals,
        provenance=gathered.provenance,
        labels=(*gathered.labels, *_load_labels(calendar, used, blocks), SINGLE_FORECAST),
        blocks=blocks,
    )


def _covers(calendar: Calendar, grid: TimeGrid) -> bool:
    of_calendar = (calendar.valid_from, calendar.slot_minutes, calendar.n_slots)
    return of_calendar == (grid.start, grid.slot_minutes, grid.n_slots)


def _block(block: SiteBlock, grid: TimeGrid, signals: Signals, plan: BlockPlan | None, now: int) -> BlockOutlook:
    plant = block.plant
    it_kw: npt.NDArray[np.float64] = np.full(grid.n_slots, plant.rated_it_kw)
    emitted_kg, flows = None, NO_FLOWS
    room_kw = firm_kw(block.power, block.generators, grid)
    if plan is not None:
        it_kw = np.array(plan.it_kw)
        flows = planned_flows(plan)
        emitted_kg = carbon_kg(signals.ci_gco2_per_kwh, np.array(plan.import_kw), grid.slot_h)
    report = cooling_report(
        plant,
        it_kw,
        signals.dry_bulb_c,
        signals.wet_bulb_c,
        powered=stands_powered(plant, room_kw, signals),
        slot_h=grid.slot_h,
        now=now,
        carbon_kg=emitted_kg,
        ci_gco2_per_kwh=signals.ci_gco2_per_kwh,
        reserve=block.reserve,
        capacity_kw=room_kw,
        flows=flows,
    )
    if plan is not None:
        held = plan_limit_alarm(plant, it_kw, report.limit, grid.slot_h)
        report = replace(report, alarms=worst_first((*report.alarms, held)))
    return BlockOutlook(
        name=block.power.name,
        plant=plant,
        load=RATED if plan is None else CALENDAR,
        reserve=block.reserve,
        report=report,
    )


def _with_measured(block: BlockOutlook, grid: TimeGrid, readings: Telemetry) -> BlockOutlook:
    hours = block.report.hours
    planned_kw = {"it_kw": hours.it_kw, "cooling_kw": hours.cooling_kw} if block.load == CALENDAR else {}
    starts = np.array([start.replace(tzinfo=None) for start in grid.starts], dtype=TIME_UNIT)
    found = measured(block.plant, readings, starts, grid.slot_h, planned_kw)
    alarms = worst_first((*block.report.alarms, *measured_alarms(found)))
    return replace(block, report=replace(block.report, alarms=alarms), measured=found)


def _load_labels(calendar: Calendar | None, used: Calendar | None, blocks: tuple[BlockOutlook, ...]) -> list[str]:
    rated = [block.name for block in blocks if block.load == RATED]
    if used is not None:
        told = [f"Load: the IT power of the calendar in force, {used.calendar_id}."]
        return told + [f"Load: {', '.join(rated)} at full rated IT power; the calendar has no such block."] * bool(
            rated
        )
    if calendar is None:
        return ["Load: full rated IT power in every hour; there is no calendar in force for these days."]
    return [
        f"Load: full rated IT power in every hour; the calendar in force, {calendar.calendar_id}, covers other slots."
    ]
