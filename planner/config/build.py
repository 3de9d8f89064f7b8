"""From the tables of a sound site file to physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from planner.config import build_power, build_supply, model
from planner.config.build_goodput import deadline_confidence, goodput, stop_save_s
from planner.config.site import SiteBlock
from planner.heat import ALL_DAY, ALL_YEAR, HeatBuyer
from planner.islands import largest_gang
from planner.pool import Pool
from planner.precedence import After
from planner.run import PoolOption, Run, Stage
from planner.timegrid import to_utc
from power.blocks import Derating, PowerBlock
from power.flexibility import DemandResponse, Flexibility, flexibility
from power.gpu import GpuType, OperatingPoint, at_limit, concave_points
from thermal.description import Provenance
from thermal.plant import CoolingPlant, dry_cooler, room_air, tower_chiller
from thermal.reserve import Reserve

ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for "no earliest instant" and for GPUs that have always been in service."""

WHOLE = 1e-9
"""Shares such as 0.29 of 100 GPUs are whole GPUs that binary fractions miss by a hair."""

ON_OFF_GRIDS_H = (4.0, 2.0, 1.0)
LEAST_CELLS = 3


def gpu_type(name: str, table: model.GpuTable) -> GpuType:
    """Return a GPU type that the site file describes itself."""
    points = [OperatingPoint(p.gpu_power_limit_w, p.it_w_per_gpu, p.relative_throughput) for p in table.points]
    return GpuType(
        name=name,
        idle_w_per_gpu=table.idle_w_per_gpu,
        points=tuple(sorted(points, key=lambda p: p.gpu_power_limit_w)),
        held_w_per_gpu=table.held_w_per_gpu,
        overhead_w_per_gpu=table.overhead_w_per_gpu,
    )


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


def block(table: model.BlockTable, place: build_supply.Place, site: str = "") -> SiteBlock:
    """Return a power block with what stands behind its meter.

    Args:
        table: What the file says of it.
        place: Where it stands.
        site: Name of its further site, or "" for the one that the file is named after.
    """
    tz = place.tz
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
        ramp_fall_kw_per_min=table.ramp_fall_kw_per_min,
        connection=build_power.connection(table.connection, tz),
        grid_kw=table.grid_kw,
    )
    reserve = Reserve(table.cooling_n1, table.ride_through_restart_s)
    heat = None
    if table.heat is not None:
        heat = HeatBuyer(
            table.heat.price_per_kwh,
            table.heat.demand_kw,
            ALL_DAY if table.heat.hour_share is None else tuple(table.heat.hour_share),
            ALL_YEAR if table.heat.months is None else tuple(table.heat.months),
        )
    return SiteBlock(
        power,
        plant(table.cooling),
        build_supply.solar(table.solar, place),
        build_supply.battery(table.battery),
        reserve,
        heat,
        wind=build_supply.wind(table.wind),
        generators=tuple(build_supply.generator(one, place) for one in table.generator),
        export=build_supply.export(table.export),
        site=site,
    )


def pool(table: model.PoolTable, gpus: Mapping[str, GpuType], tz: ZoneInfo) -> Pool:
    """Return a GPU pool."""
    steps: tuple[tuple[datetime, int], ...]
    if table.count is not None:
        since = ALWAYS if table.in_service_from is None else to_utc(table.in_service_from, tz)
        steps = ((since, table.count),)
    else:
        steps = tuple((to_utc(step.since, tz), step.count) for step in table.commissioning)
    sound = [(to_utc(step.since, tz), step.share) for step in table.availability]
    steps = sound_steps(steps, sound)
    split = tuple((part.block, part.share) for part in table.split)
    return Pool(table.name, table.block, gpus[table.gpu], table.island or table.name, steps, split)


def span(table: model.SpanTable, pools: Mapping[str, Pool]) -> Pool:
    """Return fabric islands that a gang may span as a pool without GPUs of its own; shares follow the islands' size.

    Args:
        table: The span.
        pools: The pools that it names, and others, by name.
    """
    parts = [pools[name] for name in table.pools]
    total = sum(most_gpus(part) for part in parts)
    shares = tuple((part.name, most_gpus(part) / total) for part in parts)
    in_block: dict[str, float] = {}
    for part, (_, share) in zip(parts, shares, strict=True):
        for name, of_part in part.shares:
            in_block[name] = in_block.get(name, 0.0) + share * of_part
    return Pool(
        table.name,
        parts[0].block,
        parts[0].gpu,
        "+".join(part.island for part in parts),
        (),
        tuple(in_block.items()) if len(in_block) > 1 else (),
        spans=shares,
        spanning_share=table.throughput_share,
    )


def sound_steps(
    steps: tuple[tuple[datetime, int], ...], sound: Sequence[tuple[datetime, float]]
) -> tuple[tuple[datetime, int], ...]:
    """Return the steps of GPUs in service that are sound, in whole GPUs.

    Args:
        steps: (since, GPUs in service), by rising time.
        sound: (since, share of them that are sound), by rising time; before the first all are.
    """
    if not sound:
        return steps
    since = sorted({when for when, _ in (*steps, *sound) if when >= steps[0][0]})

    def last(given: Sequence[tuple[datetime, float]], when: datetime, before: float) -> float:
        return next((value for at, value in reversed(given) if at <= when), before)

    return tuple((when, int(last(steps, when, 0) * last(sound, when, 1.0) + WHOLE)) for when in since)


def pool_option(table: model.RunTable, where: Pool, useful_share: float = 1.0) -> PoolOption | None:
    """Return how a run performs in a pool, or None where the file gives no speed for the pool's GPU type.

    Rates in the file hold at the GPU type's highest limit and without failures; the highest limit that a run names is
    its own highest operating point.

    Args:
        table: The run.
        where: The pool.
        useful_share: Share of the work that failures and checkpoints leave (`power.goodput.Goodput.factor_share`).
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
        tokens_per_gpu_s=rate * top * useful_share * where.spanning_share,
        points=tuple(replace(p, relative_throughput=p.relative_throughput / top) for p in hull),
    )


def run_options(table: model.RunTable, pools: Mapping[str, Pool], useful_share: float = 1.0) -> tuple[PoolOption, ...]:
    """Return the pools the run may use: those it names, or all that ever hold its gang and have a speed for it."""
    names = table.pools if table.pools is not None else list(pools)
    fitting = [pools[name] for name in names if most_gpus(pools[name], pools) >= table.gpus]
    options = (pool_option(table, where, useful_share) for where in fitting)
    return tuple(option for option in options if option is not None)


def most_gpus(where: Pool, pools: Mapping[str, Pool] | None = None) -> int:
    """Return the highest count of GPUs that one gang can ever have in a pool.

    Args:
        where: The pool.
        pools: Pools by name; a pool that spans others needs them.
    """
    if where.spans and pools is not None:
        return largest_gang(where.spans, {name: most_gpus(pools[name]) for name, _ in where.spans})
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


def run(
    table: model.RunTable,
    pools: Mapping[str, Pool],
    horizon: model.HorizonTable,
    tz: ZoneInfo,
    site: model.GoodputTable,
    save_s: float,
    last_stage: Mapping[str, str],
) -> Run:
    """Return a training run.

    Args:
        table: What the file says of it.
        pools: The pools as its operating points see them.
        horizon: Slots and the grid of starts and stops.
        tz: Time zone of the site.
        site: What holds for the failures and checkpoints of all runs.
        save_s: How long its checkpoint takes, s.
        last_stage: Run -> name of its last stage.
    """
    gang = goodput(table, site, save_s)
    asked = deadline_confidence(table, site)
    options = run_options(table, pools, 1.0 if gang is None else gang.factor_share)
    grid_h = table.on_off_grid_h or horizon.on_off_grid_h
    if grid_h is None:
        grid_h = default_on_off_grid_h(
            full_speed_h(table, options), shortest_window_h(table, tz), table.min_run_h, horizon.slot_minutes / 60
        )
    return Run(
        name=table.name,
        gpus=table.gpus,
        stages=tuple(
            Stage(s.name, s.tokens, to_utc(s.deadline, tz), s.deadline_confidence or asked) for s in table.stages
        ),
        options=options,
        earliest_start=ALWAYS if table.earliest_start is None else to_utc(table.earliest_start, tz),
        priority=table.priority,
        checkpoint_s=stop_save_s(table, site, save_s),
        reload_s=table.reload_s,
        min_run_h=table.min_run_h,
        min_pause_h=table.min_pause_h,
        max_pauses=table.max_pauses,
        on_off_grid_h=grid_h,
        tokens_done=table.tokens_done,
        running_in=table.running_in,
        goodput=gang,
        after=tuple(After(a.run, a.stage or last_stage[a.run], a.lag_h) for a in table.after),
    )


def run_flexibility(table: model.RunTable) -> Flexibility:
    """Return how far a run gives way."""
    own = table.flexibility
    return flexibility(table.priority) if own is None else flexibility(table.priority, own.tier, own.max_loss_share)


def demand_response(table: model.DemandResponseTable) -> DemandResponse:
    """Return what a site has agreed to do for the grid."""
    return DemandResponse(
        targets=tuple(table.targets),
        simple_shed_share=None if table.simple_shed_share is None else tuple(table.simple_shed_share),
        emergency_shed_share=table.emergency_shed_share,
        lead_s=table.lead_s,
        max_hold_s=60.0 * table.max_hold_min,
    )
