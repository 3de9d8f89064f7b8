"""What a run must be to its pools, to its own stages and to the horizon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.config import build, model
from planner.config.draft import Draft, Placed
from planner.config.faults import did_you_mean
from planner.config.moments import Moments
from planner.config.sweeps import check_run_sweep

if TYPE_CHECKING:
    from planner.pool import Pool
    from planner.run import PoolOption
    from power.gpu import GpuType

WEEK_H = 168.0


def check_runs(
    draft: Draft, pools: Mapping[str, Pool], gpus: Mapping[str, GpuType], tz: ZoneInfo, slot_minutes: int | None
) -> tuple[str, ...]:
    """Note the faults of each run.

    Returns:
        Sentences about what is allowed but looks wrong.
    """
    if not draft.runs and not draft.raw.get("run") and "runs_csv" not in draft.raw:
        draft.faults.add(("run",), "there is no run to plan", "add a [[run]] table, or runs_csv above the first table")
    moments = Moments(tz)
    pool_names = draft.names("pool") | draft.names("span")
    known_gpus = {*gpus, *draft.gpu_names()}
    warnings: list[str] = []
    if slot_minutes is not None and "horizon" in draft.single:
        horizon = draft.single["horizon"]
        _check_grid(horizon, horizon.table.on_off_grid_h, slot_minutes)
    for placed in draft.runs:
        _check_stages(placed, moments)
        _check_spells(placed, slot_minutes)
        before = len(placed.faults.found)
        _check_names(placed, pool_names, known_gpus)
        if len(placed.faults.found) == before:
            warnings += _check_fit(draft, placed, pools)
    return tuple(warnings)


def _check_stages(placed: Placed[model.RunTable], moments: Moments) -> None:
    run = placed.table
    deadlines = [moments.utc(placed, ("stages", i, "deadline"), s.deadline) for i, s in enumerate(run.stages)]
    for i, (earlier, later) in enumerate(pairwise(deadlines), start=1):
        if earlier is not None and later is not None and later <= earlier:
            placed.fault(
                ("stages", i, "deadline"),
                f"{run.stages[i].deadline} is not after {run.stages[i - 1].deadline}, "
                f"the deadline of stage {run.stages[i - 1].name!r} before it",
                "sort the stages by rising deadline",
            )
    names = [stage.name for stage in run.stages]
    for i, name in enumerate(names):
        if name in names[:i]:
            placed.fault(("stages", i, "name"), f"{name!r} is the name of an earlier stage", "give each its own name")
    start = moments.utc(placed, ("earliest_start",), run.earliest_start)
    if start is not None and deadlines[0] is not None and start >= deadlines[0]:
        placed.fault(
            ("earliest_start",),
            f"{run.earliest_start} is not before the first deadline {run.stages[0].deadline}",
            "start earlier or move the deadline",
        )
    total = sum(stage.tokens for stage in run.stages)
    if run.tokens_done > total:
        placed.fault(
            ("tokens_done",),
            f"{run.tokens_done:g} tokens are done of {total:g} in all stages",
            "count each stage's own tokens, or take the run out of the file",
        )


def _check_spells(placed: Placed[model.RunTable], slot_minutes: int | None) -> None:
    run = placed.table
    for key, hours in (("min_run_h", run.min_run_h), ("min_pause_h", run.min_pause_h)):
        if hours > WEEK_H:
            placed.fault(
                (key,), f"{hours:g} h is longer than the horizon of {WEEK_H:g} h", f"set {key} below {WEEK_H:g}"
            )
    if slot_minutes is not None:
        _check_grid(placed, run.on_off_grid_h, slot_minutes)


def _check_grid(placed: Placed[Any], grid_h: float | None, slot_minutes: int) -> None:
    if grid_h is None:
        return
    slots = grid_h * 60 / slot_minutes
    if grid_h > WEEK_H:
        placed.fault(
            ("on_off_grid_h",), f"{grid_h:g} h is longer than the horizon of {WEEK_H:g} h", "such as on_off_grid_h = 4"
        )
    elif slots < 1 or abs(slots - round(slots)) > 1e-9:
        placed.fault(
            ("on_off_grid_h",),
            f"{grid_h:g} h is no whole count of slots of {slot_minutes} min",
            f"set it to {max(1, round(slots)) * slot_minutes / 60:g}",
        )


def _check_names(placed: Placed[model.RunTable], pool_names: Iterable[str], gpu_names: Iterable[str]) -> None:
    run = placed.table
    known = sorted(pool_names)
    for i, name in enumerate(run.pools or []):
        if name not in known:
            placed.fault(("pools", i), f"there is no pool {name!r}", did_you_mean(name, known))
    if run.running_in is not None and run.running_in not in known:
        placed.fault(("running_in",), f"there is no pool {run.running_in!r}", did_you_mean(run.running_in, known))
    if isinstance(run.tokens_per_gpu_s, dict):
        types = sorted(gpu_names)
        for name in run.tokens_per_gpu_s:
            if name not in types:
                placed.fault(("tokens_per_gpu_s", name), f"GPU type {name!r} is not known", did_you_mean(name, types))


def _check_fit(draft: Draft, placed: Placed[model.RunTable], pools: Mapping[str, Pool]) -> list[str]:
    """Note what keeps the run out of its pools, and return what only hinders it."""
    run = placed.table
    names = draft.names("pool") | draft.names("span") if run.pools is None else run.pools
    allowed = {name: pools[name] for name in names if name in pools}
    if not allowed or len(allowed) < len(set(names)):  # a pool with faults of its own: nothing can be said yet
        return []
    most = {name: build.most_gpus(pool, pools) for name, pool in allowed.items()}
    largest = max(most, key=lambda name: most[name])
    if most[largest] < run.gpus:
        placed.fault(
            ("gpus",),
            f"a gang of {run.gpus} GPUs fits no pool; the largest it may use, {largest!r}, has {most[largest]}",
            f"lower gpus to {most[largest]}, or allow a larger pool",
        )
        return []
    if not check_run_sweep(placed, allowed, draft.sweeps):
        return []
    seen = draft.sweeps.seen_by(run.name, pools)
    if not _sound_limits(placed, {name: seen[name] for name in allowed}):
        return []
    options = build.run_options(run, seen)
    if not options:
        types = sorted({pool.gpu.name for pool in allowed.values()})
        placed.fault(
            ("tokens_per_gpu_s",),
            f"names no speed for {' or '.join(types)}, the GPUs of its pools",
            f"add {types[0]} = ... tokens per GPU and second",
        )
        return []
    names = [option.pool for option in options]
    if run.running_in is not None and run.running_in not in names:
        placed.fault(
            ("running_in",), f"{run.running_in!r} is none of its pools {names}", "add it to pools or leave it out"
        )
    return _check_ramp(draft, placed, options, pools)


def _sound_limits(placed: Placed[model.RunTable], allowed: Mapping[str, Pool]) -> bool:
    before = len(placed.faults.found)
    for i, limit_w in enumerate(placed.table.power_limits_w or []):
        for pool in allowed.values():
            low, high = pool.gpu.points[0].gpu_power_limit_w, pool.gpu.points[-1].gpu_power_limit_w
            if not low <= limit_w <= high:
                placed.fault(
                    ("power_limits_w", i),
                    f"{limit_w:g} W is outside {low:g} to {high:g} W, the limits of {pool.gpu.name} in {pool.name!r}",
                    f"choose limits of {low:g} to {high:g} W",
                )
                break
    return len(placed.faults.found) == before


def _check_ramp(
    draft: Draft, placed: Placed[model.RunTable], options: tuple[PoolOption, ...], pools: Mapping[str, Pool]
) -> list[str]:
    """Note a gang whose own start is a larger step than its block may take, in every pool it may use."""
    blocks = {b.table.name: b.table for b in draft.blocks}
    told: list[str] = []
    for option in options:
        pool = pools[option.pool]
        for name, share in pool.shares:
            block = blocks.get(name)
            limits = [kw for kw in (block.ramp_kw_per_min, block.ramp_fall_kw_per_min) if kw] if block else []
            if block is None or not limits:
                continue
            step_kw = share * placed.table.gpus * (option.points[0].it_w_per_gpu - pool.gpu.idle_w_per_gpu) / 1000.0
            limit_kw = min(limits) * block.ramp_window_min
            if step_kw > limit_kw:
                told.append(
                    f"a start of {placed.table.gpus} GPUs at {option.points[0].gpu_power_limit_w:g} W is a step of "
                    f"{step_kw:,.0f} kW; block {block.name!r} may change by {limit_kw:,.0f} kW between slots "
                    f"({min(limits):g} kW/min over {block.ramp_window_min:g} min)"
                )
                break
    if len(told) == len(options):
        placed.fault(
            ("gpus",), told[0], "raise ramp_kw_per_min or ramp_window_min of the block, or allow a lower power limit"
        )
        return []
    return [f"run {placed.table.name!r}: {sentence}" for sentence in told]
