"""Promises that a plan does not keep, and why each run stands where it does, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.extract import on_slots, pool_used
from planner.optimize.limits import energy_worth
from planner.schedule import Shortfall

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.gangs import Due, Gang
    from planner.optimize.model import Program
    from planner.optimize.places import OptionPlaces, Places

KEPT_SHARE = 1e-5  # of the tokens due: below it a promise counts as kept
NEAR_LIMIT = 0.999


@dataclass(frozen=True)
class RunFacts:
    """One run of a solved program.

    Args:
        gang: Its columns.
        option: The option it uses, or None.
        on: Whether it is on, per slot, shape (T,).
        tokens: Tokens that it certainly has made by the end of each slot, shape (T,).
    """

    gang: Gang
    option: OptionPlaces | None
    on: npt.NDArray[np.bool_]
    tokens: npt.NDArray[np.float64]


def run_facts(program: Program, places: Places, x: npt.NDArray[np.float64]) -> tuple[RunFacts, ...]:
    """Return the facts of every run, in the week's order."""
    return tuple(_facts(program, gang, place, x) for gang, place in zip(program.gangs, places.gangs, strict=True))


def shortfalls(
    program: Program, places: Places, x: npt.NDArray[np.float64], facts: tuple[RunFacts, ...]
) -> tuple[Shortfall, ...]:
    """Return every stage whose tokens are not there at its deadline, with the likely cause."""
    found = []
    for fact in facts:
        for due in fact.gang.due:
            short = due.tokens - _tokens_at(program, fact, program.week.grid.position(due.deadline))
            if short > KEPT_SHARE * due.tokens:
                found.append(_shortfall(program, places, x, facts, fact, due, short))
    return tuple(found)


def why_lines(program: Program, facts: tuple[RunFacts, ...]) -> tuple[str, ...]:
    """Return one line per run: what energy costs and emits while it runs, against the week."""
    return tuple(_why(program, fact) for fact in facts)


def _facts(program: Program, gang: Gang, place: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64]) -> RunFacts:
    week, run = program.week, gang.run
    n_slots, slot_s = week.grid.n_slots, week.grid.slot_h * 3600.0
    option = pool_used(place, x)
    if option is None:
        return RunFacts(gang, None, np.zeros(n_slots, dtype=bool), np.zeros(n_slots))
    on = on_slots(option, x, n_slots)
    rate = np.zeros(n_slots)
    per_gpu_s = next(o.tokens_per_gpu_s for o in run.options if o.pool == option.pool)
    rate[option.slots] = option.shares(x) @ option.throughput * per_gpu_s * run.gpus
    useful_s = np.full(n_slots, slot_s)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    begins = np.arange(n_slots) * slot_s
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        goes_on = first == 0 and run.running_in == option.pool
        from_s = first * slot_s + (0.0 if goes_on else run.reload_s)
        to_s = after * slot_s - (0.0 if after == n_slots else run.checkpoint_s)
        spell = slice(first, after)
        useful_s[spell] = np.clip(
            np.minimum(begins[spell] + slot_s, to_s) - np.maximum(begins[spell], from_s), 0.0, None
        )
    return RunFacts(gang, option, on, np.cumsum(np.where(on, rate * useful_s, 0.0)))


def _tokens_at(program: Program, fact: RunFacts, position: float) -> float:
    ends = np.arange(1, program.week.grid.n_slots + 1)
    return float(np.interp(position, np.append(0, ends), np.append(0.0, fact.tokens)))


def _shortfall(
    program: Program,
    places: Places,
    x: npt.NDArray[np.float64],
    facts: tuple[RunFacts, ...],
    fact: RunFacts,
    due: Due,
    short: float,
) -> Shortfall:
    week, run = program.week, fact.gang.run
    full_speed = max(o.tokens_per_gpu_s * max(p.relative_throughput for p in o.points) for o in run.options) * run.gpus
    hours = short / full_speed / 3600.0
    enough = np.flatnonzero(fact.tokens >= due.tokens * (1.0 - KEPT_SHARE))
    made_up = week.grid.starts[enough[0]] + week.grid.slot if enough.size else None
    if made_up is not None and made_up <= due.deadline:
        made_up = None
    local = due.deadline.astimezone(week.tz).strftime("%Y-%m-%d %H:%M %Z")
    after = f"made up by {made_up.astimezone(week.tz):%Y-%m-%d %H:%M %Z}" if made_up else "not made up in this horizon"
    sentence = (
        f"run {run.name!r} misses stage {due.stage!r}, due {local}: {short:.4g} of {due.tokens:.4g} tokens "
        f"({hours:.2f} h of the whole gang) are missing then, {after}; {_cause(program, places, x, facts, fact, due)}"
    )
    return Shortfall(run.name, due.stage, due.deadline, short, hours, made_up, sentence)


def _cause(
    program: Program,
    places: Places,
    x: npt.NDArray[np.float64],
    facts: tuple[RunFacts, ...],
    fact: RunFacts,
    due: Due,
) -> str:
    """Return the likely cause: the first of these that holds, from what no plan could mend to what this plan chose."""
    week, run = program.week, fact.gang.run
    last = program.week.grid.position(due.deadline)
    if last <= 0:
        return "the deadline lay before the horizon"
    if not fact.gang.options:
        return f"no open hours: {_closed(program, fact.gang)}"
    open_h = max(_open_h(program, fact.gang, o, last) for o in fact.gang.options)
    if open_h < due.work_h:
        return (
            f"the work takes {due.work_h:.1f} h at full speed and its pools are open to it for {open_h:.1f} h before "
            f"the deadline ({_closed(program, fact.gang)})"
        )
    option = fact.option
    pool = next(o.pool for o in fact.gang.options if option is None or o.pool.name == option.pool)
    before = np.arange(week.grid.n_slots) < last
    before &= np.arange(week.grid.n_slots) >= week.grid.position(run.earliest_start)
    used = np.zeros(week.grid.n_slots)
    for other in facts:
        if other.option is not None and other.option.pool == pool.name:
            used += other.on * other.gang.run.gpus
    idle = before & ~fact.on
    if idle.any() and (used + run.gpus > pool.gpus_in_service(week.grid))[idle].mean() > 0.5:
        return f"the GPUs of pool {pool.name!r} are taken by other runs in most hours left to it"
    index = next(i for i, b in enumerate(week.blocks) if b.name == pool.block)
    limits, it_kw = program.blocks[index].limits, x[places.blocks[index].it] * program.power_kw
    least_w = min(p.it_w_per_gpu for p in next(o for o in run.options if o.pool == pool.name).points)
    added = limits.added_kw(run.gpus, least_w, pool.gpu.idle_w_per_gpu)
    room = np.where(fact.on, it_kw / NEAR_LIMIT, it_kw + added)
    tight = before & (room >= limits.it_max_kw)
    if tight.any():
        t = int(np.flatnonzero(tight)[0])
        what = "cooling" if limits.envelope.w_max_kw[t] * NEAR_LIMIT <= limits.it_max_kw[t] else "power capacity"
        return f"the {what} of block {pool.block!r} is used up in {tight.sum() * week.grid.slot_h:.0f} h before it"
    step = limits.block.power.ramp_step_kw
    if step is not None and (np.abs(np.diff(it_kw)) >= NEAR_LIMIT * step).any():
        return f"the ramp limit of block {pool.block!r} ({step:,.0f} kW between slots) binds"
    return "finishing in time would cost more than the price of lateness"


def _open_h(program: Program, gang: Gang, option: object, last: float) -> float:
    from planner.optimize.gangs import GangOption

    assert isinstance(option, GangOption)
    slots = [t for c in option.on for t in gang.cells.slots(c)]
    return sum(min(1.0, max(0.0, last - t)) for t in slots) * program.week.grid.slot_h * option.rate


def _closed(program: Program, gang: Gang) -> str:
    week, run = program.week, gang.run
    start = run.earliest_start
    if start > week.grid.start:
        return f"earliest start {start.astimezone(week.tz):%Y-%m-%d %H:%M %Z}, or GPUs, power and cooling for it later"
    return "GPUs in service, power and cooling leave no more"


def _why(program: Program, fact: RunFacts) -> str:
    week = program.week
    if fact.option is None or not fact.on.any():
        return "does not run: nothing is due" if fact.gang.work_h <= 0 else "does not run in this horizon"
    ci, price = week.signals.ci_gco2_per_kwh, week.signals.price_per_kwh + week.tariff.adder_per_kwh
    hours = fact.on.sum() * week.grid.slot_h
    spells = int((np.diff(np.concatenate([[False], fact.on]).astype(int)) > 0).sum())
    worth = energy_worth(week)
    rank = "cheaper" if worth[fact.on].mean() < worth.mean() else "dearer"
    reason = "" if rank == "cheaper" else ", as its deadlines and the room left by other runs ask for"
    return (
        f"{hours:g} h in {spells} spell{'s' if spells != 1 else ''} in pool {fact.option.pool}: "
        f"{ci[fact.on].mean():.0f} gCO2e/kWh and {price[fact.on].mean():.3f} {week.prices.currency}/kWh while it runs, "
        f"{ci.mean():.0f} and {price.mean():.3f} over the horizon; {rank} hours than the mean, carbon priced in{reason}"
    )
