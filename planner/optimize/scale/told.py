"""The plan that placed gangs stand for: schedules, promises not kept, cooling, quality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import MEASURES
from planner.optimize.extract import BELOW_A_STEP, LIMIT_STEPS_PER_W
from planner.optimize.limits import energy_worth
from planner.optimize.scale.lateness import token_course
from planner.schedule import CoolingFit, Plan, RunSchedule, Schedule, Shortfall
from planner.stagger import staggered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.dispatching import Dispatched
    from planner.optimize.scale.ground import Placed
    from planner.optimize.scale.standing import Standing
    from planner.week import Week

    Floats = npt.NDArray[np.float64]

GAP_NOISE = 1e-7
KEPT_SHARE = 1e-5  # of the tokens due: below it a promise counts as kept


def plan_of(
    week: Week,
    crowd: Crowd,
    standing: Standing,
    quality: tuple[float, float, float, float, tuple[int, int]],
) -> Plan:
    """Return the plan.

    Args:
        week: The week as it was given.
        crowd: Its gangs as they were planned.
        standing: Where they stand, what the site does and what that comes to.
        quality: Bound, gap target, seconds to build and to solve, columns and rows of the aggregate program.
    """
    least, gap_target, build_s, solve_s, (columns, rows) = quality
    places, dispatched = standing.places, standing.dispatched
    terms = dispatched.terms | {"lateness": standing.lateness, "heat": 0.0}
    if week.objective.counted:
        terms["goals"] = standing.goals
    objective = sum(terms.values())
    bound = min(least, objective)
    gap = 0.0
    if objective - bound > GAP_NOISE * max(1.0, abs(objective)):
        gap = (objective - bound) / abs(objective) if objective else 1.0
    in_time = gap <= max(gap_target, GAP_NOISE)
    worth = energy_worth(week)
    runs = tuple(_run(crowd, run, placed, worth) for run, placed in enumerate(places))
    unknown = f"{objective - bound:,.2f} {week.prices.currency} ({gap:.2%})"
    return Plan(
        schedule=staggered(week, Schedule(runs, dispatched.blocks)),
        status="optimal" if in_time else "time-limit",
        objective=objective,
        bound=bound,
        mip_gap=gap,
        terms=tuple(terms.items()),
        shortfalls=_shortfalls(crowd, places, unknown, in_time=in_time),
        build_s=build_s,
        solve_s=solve_s,
        size=(("columns", columns), ("rows", rows), ("binaries", 0), ("cuts", 0)),
        cooling=_cooling(crowd, dispatched),
        measures=tuple((name, standing.measures[name]) for name in MEASURES),
    )


def _run(crowd: Crowd, run: int, placed: Placed | None, worth: Floats) -> RunSchedule:
    week, one = crowd.week, crowd.week.runs[run]
    limit = np.zeros(week.grid.n_slots)
    pool, why = None, "does not run in this horizon" if crowd.dues.most_h[run] > 0.0 else "does not run: nothing is due"
    if placed is not None and placed.slots.size:
        table, pool = crowd.tables[placed.table], one.options[placed.option].pool
        asked = np.interp(placed.speed, table.throughput, table.limit_w)
        stepped = np.ceil(asked * LIMIT_STEPS_PER_W - BELOW_A_STEP) / LIMIT_STEPS_PER_W
        limit[placed.slots] = np.clip(stepped, table.limit_w[0], table.limit_w[-1])
        spells = 1 + int((np.diff(placed.slots) > 1).sum())
        ci, slots = week.signals.ci_gco2_per_kwh, placed.slots
        why = (
            f"{len(slots) * week.grid.slot_h:g} h in {spells} spell{'s' if spells != 1 else ''} in pool {pool}: "
            f"{ci[slots].mean():.0f} gCO2e/kWh while it runs, {ci.mean():.0f} over the horizon; with its carbon a kWh "
            f"costs {worth[slots].mean():.3f} {week.prices.currency} while it runs, {worth.mean():.3f} over the horizon"
        )
    limit.setflags(write=False)
    return RunSchedule(one.name, pool, limit, why=why)


def _shortfalls(crowd: Crowd, places: Sequence[Placed | None], unknown: str, *, in_time: bool) -> tuple[Shortfall, ...]:
    found = []
    for run, placed in enumerate(places):
        if not crowd.dues.stages[run]:
            continue
        made = token_course(crowd, run, placed)
        for stage, deadline, tokens in crowd.dues.stages[run]:
            short = tokens - made.tokens_by((deadline - crowd.week.grid.start).total_seconds())
            if short > KEPT_SHARE * tokens:
                missing = (stage, deadline, tokens, short)
                found.append(_shortfall(crowd, run, missing, made.tokens, unknown, in_time=in_time))
    return tuple(found)


def _shortfall(
    crowd: Crowd, run: int, due: tuple[str, datetime, float, float], made: Floats, unknown: str, *, in_time: bool
) -> Shortfall:
    week, one = crowd.week, crowd.week.runs[run]
    stage, deadline, tokens, short = due
    full = max(o.tokens_per_gpu_s * max(p.relative_throughput for p in o.points) for o in one.options) * one.gpus
    hours = short / full / 3600.0
    enough = np.flatnonzero(made >= tokens * (1.0 - KEPT_SHARE))
    made_up = week.grid.starts[enough[0]] + week.grid.slot if enough.size else None
    if made_up is not None and made_up <= deadline:
        made_up = None
    local = deadline.astimezone(week.tz).strftime("%Y-%m-%d %H:%M %Z")
    after = f"made up by {made_up.astimezone(week.tz):%Y-%m-%d %H:%M %Z}" if made_up else "not made up in this horizon"
    cause = f"keeping it is not possible or costs more than being late, certified to within {unknown}"
    if not any((rank.run == run).any() for rank in crowd.ranks):
        cause = "no hours are open to it: the GPUs in service, the power and the cooling of its pools leave none"
    elif deadline <= week.grid.start:
        cause = "the deadline lay before the horizon"
    elif not in_time:
        cause = f"the search ended while a plan that keeps it and is up to {unknown} cheaper was not ruled out"
    sentence = (
        f"run {one.name!r} misses stage {stage!r}, due {local}: {short:.4g} of {tokens:.4g} tokens "
        f"({hours:.2f} h of the whole gang) are missing then, {after}; {cause}"
    )
    return Shortfall(one.name, stage, deadline, short, hours, made_up, sentence)


def _cooling(crowd: Crowd, dispatched: Dispatched) -> tuple[CoolingFit, ...]:
    slot_h, found = crowd.week.grid.slot_h, []
    for one, kwh in zip(crowd.limits, dispatched.cooling_kwh, strict=True):
        curves = one.curves
        rough_h = float(np.count_nonzero(curves.rough)) * slot_h
        binary_h = float(np.count_nonzero(curves.chosen)) * slot_h
        fit = CoolingFit(
            block=one.block.name,
            energy_kwh=kwh,
            rough_h=rough_h,
            binary_h=binary_h,
            one_piece_h=rough_h - binary_h,
            hull_gap_kw=float(curves.hull_gap_kw.max()),
            piece_gap_kw=float(curves.piece_gap_kw.max()),
            fit_error_kw=float(curves.fit_error_kw.max()),
            sentence="",
        )
        told = (
            f"The cooling curve of block {fit.block!r} is not convex in {fit.rough_h:g} h; the plan follows its two "
            f"pieces, its bound a line below both, and counts at most {fit.fit_error_kw:,.3g} kW too much."
        )
        found.append(replace(fit, sentence=told) if rough_h else fit)
    return tuple(found)
