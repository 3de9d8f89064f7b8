"""Why a promise is not kept, in plain words: from what no plan could mend to what this plan chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.gangs import rated_hours

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.facts import RunFacts
    from planner.optimize.gangs import Due, Gang
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.week import Pool

NEAR_LIMIT = 0.999
MOST_HOURS = 0.5


def cause(
    program: Program, places: Places, x: npt.NDArray[np.float64], facts: tuple[RunFacts, ...], fact: RunFacts, due: Due
) -> str:
    """Return the likely cause of a shortfall: the first of the checks below that applies.

    Args:
        program: The program.
        places: Where its columns stand.
        x: Column values, shape (N,).
        facts: Facts of all runs.
        fact: Facts of the run.
        due: What it misses.
    """
    gang, week = fact.gang, program.week
    window = _window(program, gang, due)
    if not gang.options or window is not None:
        return window or f"no hours are open to it: {_closed(program, gang)}"
    pool = next(o.pool for o in gang.options if fact.option is None or o.pool.name == fact.option.pool)
    slots = np.arange(week.grid.n_slots)
    before = (slots < week.grid.position(due.deadline)) & (slots >= week.grid.position(gang.run.earliest_start))
    return (
        _gpus_taken(program, facts, fact, pool, before)
        or _power_used_up(program, places, x, fact, pool, before)
        or "finishing in time would cost more than the price of lateness"
    )


def _window(program: Program, gang: Gang, due: Due) -> str | None:
    last = program.week.grid.position(due.deadline)
    if last <= 0:
        return "the deadline lay before the horizon"
    open_h = max((rated_hours(gang, o, last) for o in gang.options), default=0.0)
    if not gang.options or open_h >= due.work_h:
        return None
    return (
        f"the work takes {due.work_h:.1f} h at full speed and its pools are open to it for {open_h:.1f} h before the "
        f"deadline: {_closed(program, gang)}"
    )


def _closed(program: Program, gang: Gang) -> str:
    week, start = program.week, gang.run.earliest_start
    others = "the GPUs in service, the power and the cooling of its pools leave no more"
    if start <= week.grid.start:
        return others
    return f"it may start from {start.astimezone(week.tz):%Y-%m-%d %H:%M %Z} only, or {others}"


def _gpus_taken(
    program: Program, facts: tuple[RunFacts, ...], fact: RunFacts, pool: Pool, before: npt.NDArray[np.bool_]
) -> str | None:
    used = np.zeros(program.week.grid.n_slots)
    for other in facts:
        if other.option is not None and other.option.pool == pool.name:
            used += other.on * other.gang.run.gpus
    idle = before & ~fact.on
    crowded = used + fact.gang.run.gpus > pool.gpus_in_service(program.week.grid)
    if not idle.any() or crowded[idle].mean() <= MOST_HOURS:
        return None
    return f"the GPUs of pool {pool.name!r} are taken by other runs in most hours left to it"


def _power_used_up(
    program: Program,
    places: Places,
    x: npt.NDArray[np.float64],
    fact: RunFacts,
    pool: Pool,
    before: npt.NDArray[np.bool_],
) -> str | None:
    run = fact.gang.run
    block, place = next(
        (b, p) for b, p in zip(program.blocks, places.blocks, strict=True) if b.limits.block.name == pool.block
    )
    limits, it_kw = block.limits, x[place.it] * program.power_kw
    option = next(o for o in fact.gang.options if o.pool.name == pool.name)
    added = limits.added_kw(run.gpus, option.points[0].it_w_per_gpu, pool.gpu.idle_w_per_gpu)
    wanted = np.where(fact.on, it_kw / NEAR_LIMIT, it_kw + added)
    tight = before & (wanted >= limits.it_max_kw)
    if tight.any():
        t = int(np.flatnonzero(tight)[0])
        what = "cooling" if limits.envelope.w_max_kw[t] * NEAR_LIMIT <= limits.it_max_kw[t] else "power capacity"
        hours = tight.sum() * program.week.grid.slot_h
        return f"the {what} of block {pool.block!r} is used up in {hours:g} h before it"
    step_kw = limits.block.power.ramp_step_kw
    if step_kw is not None and bool((np.abs(np.diff(it_kw)) >= NEAR_LIMIT * step_kw).any()):
        return f"the ramp limit of block {pool.block!r} ({step_kw:,.0f} kW between slots) binds"
    return None
