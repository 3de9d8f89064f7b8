"""Promises that a plan does not keep, and why each run stands where it does, in plain words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import BY_PRICE
from planner.optimize.causes import Solved, cause
from planner.optimize.limits import energy_worth
from planner.schedule import Shortfall

if TYPE_CHECKING:
    from planner.optimize.facts import RunFacts
    from planner.optimize.gangs import Due
    from planner.optimize.model import Program

SAME_SHARE = 1e-3  # of the mean: no difference worth a word
KEPT_SHARE = 1e-5  # of the tokens due: below it a promise counts as kept


def shortfalls(solved: Solved) -> tuple[Shortfall, ...]:
    """Return every stage whose tokens are not there at its deadline, with the likely cause."""
    found = []
    start = solved.program.week.grid.start
    for run, fact in enumerate(solved.facts):
        for due in fact.gang.due:
            short = due.tokens - fact.course.tokens_by((due.deadline - start).total_seconds())
            if short > KEPT_SHARE * due.tokens:
                found.append(_shortfall(solved, run, due, short))
    return tuple(found)


def why_lines(program: Program, facts: tuple[RunFacts, ...]) -> tuple[str, ...]:
    """Return one line per run: what energy costs and emits while it runs, against the week."""
    return tuple(_why(program, fact) for fact in facts)


def _shortfall(solved: Solved, place: int, due: Due, short: float) -> Shortfall:
    fact = solved.facts[place]
    week, run = solved.program.week, fact.gang.run
    full_speed = max(
        o.tokens_per_gpu_s * max(p.relative_throughput for p in o.points) * run.size(o) for o in run.options
    )
    hours = short / full_speed / 3600.0
    enough = np.flatnonzero(fact.tokens >= due.tokens * (1.0 - KEPT_SHARE))
    made_up = week.grid.starts[enough[0]] + week.grid.slot if enough.size else None
    if made_up is not None and made_up <= due.deadline:
        made_up = None
    local = due.deadline.astimezone(week.tz).strftime("%Y-%m-%d %H:%M %Z")
    margin = min(short, next(stage.margin_tokens for stage in run.stages if stage.name == due.stage))
    missing = f"{short:.4g} of {due.tokens:.4g} tokens" + (f" ({margin:.4g} of them margin)" if margin else "")
    after = f"made up by {made_up.astimezone(week.tz):%Y-%m-%d %H:%M %Z}" if made_up else "not made up in this horizon"
    sentence = (
        f"run {run.name!r} misses stage {due.stage!r}, due {local}: {missing} "
        f"({hours:.2f} h of the whole gang) are missing then, {after}; {cause(solved, place, due)}"
    )
    return Shortfall(run.name, due.stage, due.deadline, short, hours, made_up, sentence)


def _why(program: Program, fact: RunFacts) -> str:
    week = program.week
    if fact.option is None or not fact.on.any():
        return "does not run: nothing is due" if fact.gang.work_h <= 0 else "does not run in this horizon"
    if len(fact.held) > 1:
        return _why_there(program, fact)
    week = week.here(week.block(week.pool(fact.option.pool).block))
    ci, price = week.signals.ci_gco2_per_kwh, week.rates().total_per_kwh
    hours = fact.on.sum() * week.grid.slot_h
    spells = int((np.diff(np.concatenate([[False], fact.on]).astype(int)) > 0).sum())
    worth = energy_worth(replace(week, objective=BY_PRICE))
    mine, mean = worth[fact.on].mean(), worth.mean()
    dearer = mine > mean + SAME_SHARE * abs(mean)
    return (
        f"{hours:g} h in {spells} spell{'s' if spells != 1 else ''} in pool {fact.option.pool}: "
        f"{ci[fact.on].mean():.0f} gCO2e/kWh and {price[fact.on].mean():.3f} {week.prices.currency}/kWh while it runs, "
        f"{ci.mean():.0f} and {price.mean():.3f} over the horizon; with its carbon a kWh costs {mine:.3f} "
        f"{week.prices.currency} while it runs, {mean:.3f} over the horizon"
        f"{', as deadlines, the billed peak or other runs weigh more' if dearer else ''}"
    )


def _why_there(program: Program, fact: RunFacts) -> str:
    """Return where a run that moves is for how long, and what a kWh with its carbon costs there meanwhile."""
    week, told = program.week, []
    priced = replace(week, objective=BY_PRICE)
    for pool, gpus, on in fact.held:
        worth = energy_worth(priced.here(week.block(week.pool(pool).block)))
        told.append(
            f"{on.sum() * week.grid.slot_h:g} h on {gpus:,} GPUs of pool {pool}, where a kWh with its carbon costs "
            f"{worth[on].mean():.3f} {week.prices.currency} then ({worth.mean():.3f} over the horizon)"
        )
    return "; ".join(told)
