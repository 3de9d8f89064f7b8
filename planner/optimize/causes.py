"""Why a promise is not kept, in plain words: only what can be counted in the plan, no more than its gap tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.geography import ready_h
from planner.optimize.gangs import rated_hours
from planner.optimize.precedence import held_back
from planner.optimize.room import crowded_slots
from planner.precedence import waits

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.facts import RunFacts
    from planner.optimize.gangs import Due, Gang
    from planner.optimize.model import Program
    from planner.optimize.places import OptionPlaces, Places
    from planner.optimize.supply import BlockColumns

NEAR_LIMIT = 0.999


@dataclass(frozen=True)
class Solved:
    """A solved program and how good its plan is known to be.

    Args:
        program: The program.
        places: Where its columns stand.
        values: Column values, shape (N,).
        facts: Facts of all runs.
        saving: The most by which another plan could be cheaper, money.
        gap: The same as a share of the objective.
        in_time: Whether the gap asked for was reached before the time limit.
    """

    program: Program
    places: Places
    values: npt.NDArray[np.float64]
    facts: tuple[RunFacts, ...]
    saving: float
    gap: float
    in_time: bool


def cause(solved: Solved, run: int, due: Due) -> str:
    """Return why a run misses what is due, from what no plan could mend to what this plan chose.

    Args:
        solved: The solved program.
        run: Place of the run in the week.
        due: What it misses.
    """
    fact = solved.facts[run]
    window = _window(solved.program, fact.gang, due)
    if not fact.gang.options or window is not None:
        return window or f"no hours are open to it: {_closed(solved.program, fact.gang)}"
    held = _held_back(solved, run, due)
    currency = solved.program.week.prices.currency
    unknown = f"{solved.saving:,.2f} {currency} ({solved.gap:.2%})"
    if solved.in_time:
        return held or f"keeping it is not possible or costs more than being late, certified to within {unknown}"
    ran_out = f"the planning time ran out while a plan that keeps it and is up to {unknown} cheaper was not ruled out"
    return f"{held}; {ran_out}" if held else ran_out


def _window(program: Program, gang: Gang, due: Due) -> str | None:
    last = program.week.grid.position(due.deadline)
    if last <= 0:
        return "the deadline lay before the horizon"
    open_h = rated_hours(gang, last)
    if not gang.options or open_h >= due.work_h:
        return None
    return (
        f"the work takes {due.work_h:.1f} h at full speed and its pools are open to it for {open_h:.1f} h before the "
        f"deadline: {_closed(program, gang)}"
    )


def _closed(program: Program, gang: Gang) -> str:
    week, start = program.week, gang.run.earliest_start
    others = "the GPUs in service, the power and the cooling of its pools leave no more"
    if any(option.transfers for option in gang.run.options):
        brought = ", ".join(f"{o.pool} after {ready_h(o):.1f} h" for o in gang.run.options if o.transfers)
        others = f"its data is only there in {brought}, or {others}"
    if first := waits(week, gang.run):
        others = f"it waits for {' and '.join(map(str, first))}, or {others}"
    if start <= week.grid.start:
        return others
    return f"it may start from {start.astimezone(week.tz):%Y-%m-%d %H:%M %Z} only, or {others}"


def _held_back(solved: Solved, run: int, due: Due) -> str | None:
    """Return what other runs, power and cooling leave too little of, or None where they leave enough for the work."""
    program, fact = solved.program, solved.facts[run]
    place = fact.option or solved.places.gangs[run][0]
    option = next(o for o in fact.gang.options if (o.pool.name, o.gpus) == (place.pool, place.gpus))
    week, gpus = program.week, place.gpus
    n_slots, slot_h = week.grid.n_slots, week.grid.slot_h
    before = np.zeros(n_slots, dtype=bool)
    before[place.slots] = place.slots + 1 <= week.grid.position(due.deadline)
    others = [one for f in solved.facts if f is not fact for one in f.held]
    full = crowded_slots(week, option.pool, gpus, others)
    waiting, stages = held_back(week, solved.facts, run) or (np.zeros(n_slots, dtype=bool), "")
    waiting &= before & ~fact.on
    crowded = before & ~fact.on & ~waiting & full
    speed = _speed(place, solved.values, n_slots)
    slow = before & ~crowded & ~waiting & (speed < place.throughput[-1] * NEAR_LIMIT)
    least_w, idle_w = option.points[0].it_w_per_gpu, option.pool.gpu.idle_w_per_gpu
    drawn: list[tuple[BlockColumns, npt.NDArray[np.float64], npt.NDArray[np.bool_]]] = []
    for block, columns in zip(program.blocks, solved.places.blocks, strict=True):
        share = option.pool.share_in(block.limits.block.name)
        if share:
            it_kw = solved.values[columns.it] * program.power_kw
            added_kw = block.limits.added_kw(gpus * share, least_w, idle_w)
            wanted_kw = np.where(fact.on, it_kw / NEAR_LIMIT, it_kw + added_kw)
            drawn.append((block, it_kw, slow & (wanted_kw >= block.limits.it_max_kw)))
    tight_anywhere = np.any([tight for _, _, tight in drawn], axis=0)
    spare = np.where(before & ~crowded & ~waiting & ~tight_anywhere, place.throughput[-1] - speed, 0.0)
    missing_h = due.work_h - fact.tokens[before].max(initial=0.0) / fact.gang.tokens_per_work_h
    if option.rate * spare.sum() * slot_h >= missing_h:
        return next((told for block, it_kw, _ in drawn if (told := _ramp(block, it_kw)) is not None), None)
    said = [
        (waiting.sum(), f"in {waiting.sum() * slot_h:g} h before it {stages} is not done yet or its lag not over"),
        (crowded.sum(), f"in {crowded.sum() * slot_h:g} h before it other runs take the GPUs of pool {place.pool!r}"),
        *(
            (tight.sum(), f"in {tight.sum() * slot_h:g} h before it {_used_up(block, tight)}")
            for block, _, tight in drawn
        ),
    ]
    return " and ".join(sentence for count, sentence in sorted(said, key=lambda one: -one[0]) if count) or None


def _speed(place: OptionPlaces, x: npt.NDArray[np.float64], n_slots: int) -> npt.NDArray[np.float64]:
    speed = np.zeros(n_slots)
    speed[place.slots] = place.shares(x) @ place.throughput
    return speed


def _used_up(block: BlockColumns, tight: npt.NDArray[np.bool_]) -> str:
    """Say whether it is the cooling or the power that leaves no more, by what is the lower limit in most slots."""
    limits = block.limits
    by_cooling = limits.envelope.w_max_kw * NEAR_LIMIT <= limits.it_max_kw
    what = "cooling" if tight.any() and by_cooling[tight].mean() > 1 / 2 else "power capacity"
    return f"the {what} of block {limits.block.name!r} leaves no more for it"


def _ramp(block: BlockColumns, it_kw: npt.NDArray[np.float64]) -> str | None:
    power, change_kw = block.limits.block.power, np.diff(it_kw)
    for way, step_kw, most_kw in (
        ("rise", power.rise_step_kw, change_kw.max(initial=0.0)),
        ("fall", power.fall_step_kw, -change_kw.min(initial=0.0)),
    ):
        if step_kw is not None and most_kw >= NEAR_LIMIT * step_kw:
            return f"the ramp limit of block {power.name!r} ({step_kw:,.0f} kW of {way} between slots) binds"
    return None
