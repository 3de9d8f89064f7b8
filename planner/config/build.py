"""From the tables of a sound site file to physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from planner.config import model
from planner.config.site import SiteBlock
from planner.heat import ALL_DAY, ALL_YEAR, HeatBuyer
from planner.timegrid import to_utc
from planner.week import Pool, PoolOption, Run, Stage
from power.battery import Battery
from power.blocks import Derating, PowerBlock
from power.gpu import GpuType, OperatingPoint, at_limit, concave_points
from power.renewables import SolarArray
from thermal.description import Provenance
from thermal.plant import CoolingPlant, dry_cooler, room_air, tower_chiller
from thermal.reserve import Reserve

ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for "no earliest instant" and for GPUs that have always been in service."""

ON_OFF_GRIDS_H = (4.0, 2.0, 1.0)
LEAST_CELLS = 3


def gpu_type(name: str, table: model.GpuTable) -> GpuType:
    """Return a GPU type that the site file describes itself."""
    points = [OperatingPoint(p.gpu_power_limit_w, p.it_w_per_gpu, p.relative_throughput) for p in table.points]
    return GpuType(name, table.idle_w_per_gpu, tuple(sorted(points, key=lambda p: p.gpu_power_limit_w)))


def plant(table: model.CoolingTable) -> CoolingPlant:
    """Return a block's cooling plant."""
    values: dict[str, Any] = {}
    told: list[Provenance] = []
    for name, put in (table.model_extra or {}).items():
        graded = model.GradedTable.model_validate(put) if isinstance(put, dict) else None
        values[name] = put if graded is None else graded.value
        if graded is not None and graded.source is not None:
            told.append(Provenance(name, graded.grade, graded.source))
    factories = {"dry_cooler": dry_cooler, "tower_chiller": tower_chiller, "room_air": room_air}
    return factories[table.kind](table.rated_it_kw, provenance=told, **values)


def block(table: model.BlockTable, tz: ZoneInfo) -> SiteBlock:
    """Return a power block with what stands behind its meter."""
    power = PowerBlock(
        name=table.name,
        capacity_kw=table.capacity_kw,
        available_from=None if table.available_from is None else to_utc(table.available_from, tz),
        available_until=None if table.available_until is None else to_utc(table.available_until, tz),
        deratings=tuple(
            Derating(to_utc(m.start, tz), to_utc(m.end, tz), m.capacity_kw, m.reason) for m in table.maintenance
        ),
        ramp_kw_per_min=table.ramp_kw_per_min,
        ramp_window_min=table.ramp_window_min,
    )
    solar = None
    if table.solar is not None:
        solar = SolarArray(
            name=table.solar.name,
            peak_kw=table.solar.peak_kw,
            inverter_kw=table.solar.inverter_kw or table.solar.peak_kw,
            system_efficiency=table.solar.system_efficiency,
            temp_coefficient_per_k=table.solar.temp_coefficient_per_k,
        )
    battery = Battery(**table.battery.model_dump()) if table.battery is not None else None
    reserve = Reserve(table.cooling_n1, table.ride_through_restart_s)
    heat = None
    if table.heat is not None:
        heat = HeatBuyer(
            table.heat.price_per_kwh,
            table.heat.demand_kw,
            ALL_DAY if table.heat.share_by_hour is None else tuple(table.heat.share_by_hour),
            ALL_YEAR if table.heat.months is None else tuple(table.heat.months),
        )
    return SiteBlock(power, plant(table.cooling), solar, battery, reserve, heat)


def pool(table: model.PoolTable, gpus: Mapping[str, GpuType], tz: ZoneInfo) -> Pool:
    """Return a GPU pool."""
    steps: tuple[tuple[datetime, int], ...]
    if table.count is not None:
        since = ALWAYS if table.in_service_from is None else to_utc(table.in_service_from, tz)
        steps = ((since, table.count),)
    else:
        steps = tuple((to_utc(step.since, tz), step.count) for step in table.commissioning)
    return Pool(table.name, table.block, gpus[table.gpu], table.island or table.name, steps)


def pool_option(table: model.RunTable, where: Pool) -> PoolOption | None:
    """Return how a run performs in a pool, or None where the file gives no speed for the pool's GPU type.

    Rates in the file hold at the GPU type's highest limit; the highest limit that a run names is its own highest
    operating point.
    """
    rates = table.tokens_per_gpu_s
    rate = rates.get(where.gpu.name) if isinstance(rates, dict) else rates
    if rate is None:
        return None
    points = list(where.gpu.points)
    if table.power_limits_w is not None:
        limits = sorted(set(table.power_limits_w))
        watts, throughput = at_limit(points, limits)
        points = [OperatingPoint(*values) for values in zip(limits, watts.tolist(), throughput.tolist(), strict=True)]
    hull = concave_points(points, where.gpu.idle_w_per_gpu)
    top = hull[-1].relative_throughput
    return PoolOption(
        pool=where.name,
        tokens_per_gpu_s=rate * top,
        points=tuple(replace(p, relative_throughput=p.relative_throughput / top) for p in hull),
    )


def run_options(table: model.RunTable, pools: Mapping[str, Pool]) -> tuple[PoolOption, ...]:
    """Return the pools the run may use: those it names, or all that ever hold its gang and have a speed for it."""
    names = table.pools if table.pools is not None else list(pools)
    options = (pool_option(table, pools[name]) for name in names if most_gpus(pools[name]) >= table.gpus)
    return tuple(option for option in options if option is not None)


def most_gpus(where: Pool) -> int:
    """Return the highest count of GPUs the pool ever has."""
    return max(count for _, count in where.commissioning)


def full_speed_h(table: model.RunTable, options: tuple[PoolOption, ...]) -> float:
    """Return the hours of the whole gang at full speed in its fastest pool that the run's remaining work takes."""
    tokens = sum(stage.tokens for stage in table.stages) - table.tokens_done
    return max(0.0, tokens) / (table.gpus * max(o.tokens_per_gpu_s for o in options) * 3600.0)


def shortest_window_h(table: model.RunTable, tz: ZoneInfo) -> float:
    """Return the shortest time that one stage has, h: from the deadline before it, or from the run's earliest start."""
    edges = [] if table.earliest_start is None else [to_utc(table.earliest_start, tz)]
    edges += [to_utc(stage.deadline, tz) for stage in table.stages]
    spans = [(b - a).total_seconds() / 3600.0 for a, b in pairwise(edges)]
    return min(spans, default=float("inf"))


def default_on_off_grid_h(work_h: float, window_h: float, min_run_h: float, slot_h: float) -> float:
    """Return the grid of starts and stops for a run that names none.

    The largest of 4, 2 and 1 h, or else the slot, of which at least three fit into the run's work at full speed and
    into its shortest stage window, and which is no longer than its shortest spell. Coarse grids give better plans in
    the same time.

    Args:
        work_h: Remaining work, hours of the whole gang at full speed.
        window_h: Shortest stage window, h.
        min_run_h: Shortest spell of running, h.
        slot_h: Length of a slot, h.
    """
    most_h = min(work_h / LEAST_CELLS, window_h / LEAST_CELLS, min_run_h)
    return next((h for h in ON_OFF_GRIDS_H if slot_h <= h <= most_h), slot_h)


def run(table: model.RunTable, pools: Mapping[str, Pool], horizon: model.HorizonTable, tz: ZoneInfo) -> Run:
    """Return a training run."""
    options = run_options(table, pools)
    grid_h = table.on_off_grid_h or horizon.on_off_grid_h
    if grid_h is None:
        grid_h = default_on_off_grid_h(
            full_speed_h(table, options), shortest_window_h(table, tz), table.min_run_h, horizon.slot_minutes / 60
        )
    return Run(
        name=table.name,
        gpus=table.gpus,
        stages=tuple(Stage(s.name, s.tokens, to_utc(s.deadline, tz)) for s in table.stages),
        options=options,
        earliest_start=ALWAYS if table.earliest_start is None else to_utc(table.earliest_start, tz),
        priority=table.priority,
        checkpoint_s=table.checkpoint_s,
        reload_s=table.reload_s,
        min_run_h=table.min_run_h,
        min_pause_h=table.min_pause_h,
        max_pauses=table.max_pauses,
        on_off_grid_h=grid_h,
        tokens_done=table.tokens_done,
        running_in=table.running_in,
    )
