"""Starts and stops of a slot change, one after another: what a block's ramp limit asks of gangs that change together.

The program lets IT power change between two slots by what the ramp allows in its staggering window. Here each gang gets
its instant. Gangs that start go one by one after the slot's edge, each as soon as the ramp has caught up with those
before it; gangs that stop go one by one before the edge. Starts are only ever later and stops only ever earlier than
the program has them, so that no other limit is touched. Gangs that take the place of those that stop go with them, at
the edge; so do changes of power limits and of idle GPUs, which count first. Runs of higher priority are moved less.

What a gang loses so is counted by the program at its most (`longest_moves`), and by the judge as it is. Where a slot is
shorter than two staggering windows, those of neighbouring edges would run into each other, and all stays at the edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.slots import run_slots, spells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.run import Run
    from planner.schedule import RunSchedule, Schedule
    from planner.slots import RunSlots
    from planner.week import Block, Week

    Floats = npt.NDArray[np.float64]

MINUTE_S = 60.0
HAIR = 1e-6
MOST_OF_SPELL = 0.25


@dataclass(frozen=True)
class _Change:
    """A gang that starts or stops at an edge: its place in the week, and block -> IT power that it adds there, kW."""

    run: int
    kw: Mapping[str, float]


def longest_moves(week: Week) -> Week:
    """Return the week as the program sees it: reloads and checkpoints longer by the most that a gang may be moved."""
    return replace(week, runs=tuple(_moved(week, run) for run in week.runs))


def staggered(week: Week, schedule: Schedule) -> Schedule:
    """Return a schedule with an instant for every start and stop in blocks with a ramp limit.

    Args:
        week: All inputs.
        schedule: Decisions by whole slots.
    """
    if not any(_limits(week, block) for block in week.blocks):
        return schedule
    n_slots = week.grid.n_slots
    slots = [run_slots(week, decided) for decided in schedule.runs]
    late_s, early_s = np.zeros((len(slots), n_slots)), np.zeros((len(slots), n_slots))
    for t in range(1, n_slots):
        starts, stops, other_kw = _changes(week, slots, t)
        for run, wait_s in _waits(week, starts, stops, other_kw).items():
            late_s[run, t] = wait_s
        for run, lead_s in _leads(week, stops, starts, other_kw).items():
            early_s[run, t - 1] = lead_s
    runs = [
        _with_moves(week, decided, late, early)
        for decided, late, early in zip(schedule.runs, late_s, early_s, strict=True)
    ]
    return replace(schedule, runs=tuple(runs))


def _limits(week: Week, block: Block) -> bool:
    """Return whether starts and stops in a block are given their instants."""
    limited = block.power.rise_step_kw is not None or block.power.fall_step_kw is not None
    return limited and 2.0 * block.power.ramp_window_min <= week.grid.slot_minutes


def _moved(week: Week, run: Run) -> Run:
    limited = [block for block in week.blocks if _limits(week, block)]
    names = {block.name for block in limited}
    used = {name for option in run.options for name, _ in week.pool(option.pool).shares}
    windows_s = {block.name: MINUTE_S * block.power.ramp_window_min + 1.0 for block in limited}
    if not used & names:
        return run
    if any(len(names.intersection(name for name, _ in pool.shares)) > 1 for pool in week.pools):
        # gangs that span blocks wait in one for what holds them up in another, and hold up others there
        late_s = early_s = sum(windows_s.values())
    else:
        mine = [block for block in limited if block.name in used and _has_company(week, run, block)]
        late_s = max((_longest_wait_s(week, run, block) for block in mine), default=0.0)
        early_s = max((windows_s[b.name] for b in mine if b.power.fall_kw_per_min is not None), default=0.0)
    return replace(run, reload_s=run.reload_s + late_s, checkpoint_s=run.checkpoint_s + early_s)


def _has_company(week: Week, run: Run, block: Block) -> bool:
    """Return whether a run may start or stop in a block while something else changes there."""
    pools = {pool.name for pool in week.pools if pool.share_in(block.name)}
    users = [one.name for one in week.runs if any(option.pool in pools for option in one.options)]
    return run.name in users and (len(users) > 1 or bool(np.diff(week.idle_kw(block)).any()))


def _longest_wait_s(week: Week, run: Run, block: Block) -> float:
    """Return the most seconds that a start may wait for others: what the window leaves after the gang's own power."""
    step_kw, kw_per_min = block.power.rise_step_kw, block.power.ramp_kw_per_min
    if step_kw is None or kw_per_min is None:
        return 0.0
    own_kw = []
    for option in run.options:
        pool = week.pool(option.pool)
        added_w = option.points[0].it_w_per_gpu - pool.gpu.idle_w_per_gpu
        gpus = run.size(option)
        own_kw += [gpus * share * added_w / 1000.0 for name, share in pool.shares if name == block.name]
    return max(0.0, step_kw - min(own_kw)) / kw_per_min * MINUTE_S + 1.0


def _changes(week: Week, slots: Sequence[RunSlots], t: int) -> tuple[list[_Change], list[_Change], dict[str, float]]:
    """Return which gangs start and stop at the start of slot `t`, and what else changes in each block, kW."""
    starts: list[_Change] = []
    stops: list[_Change] = []
    other_kw = {block.name: float(np.diff(week.idle_kw(block)[t - 1 : t + 1])[0]) for block in week.blocks}
    for i, run in enumerate(slots):
        was_on, is_on = run.gpu_power_limit_w[t - 1] > 0.0, run.gpu_power_limit_w[t] > 0.0
        if was_on != is_on:
            added_kw = {name: float(kw[t if is_on else t - 1]) for name, kw in run.block_kw.items()}
            (starts if is_on else stops).append(_Change(i, added_kw))
        elif was_on:
            for name, kw in run.block_kw.items():
                other_kw[name] += float(kw[t] - kw[t - 1])
    return starts, stops, other_kw


def _waits(
    week: Week, starts: Sequence[_Change], stops: Sequence[_Change], other_kw: Mapping[str, float]
) -> dict[int, float]:
    """Return how long after the edge each gang starts: place of the run -> whole seconds; those at the edge left out.

    In each block a gang goes when the ramp's line has caught up with all that rose before it.
    """
    rates = {b.name: b.power.ramp_kw_per_min for b in week.blocks if _limits(week, b) and b.power.ramp_kw_per_min}
    risen_kw = {name: other_kw[name] - sum(c.kw.get(name, 0.0) for c in stops) for name in rates}
    ready_min = {name: risen_kw[name] / rate for name, rate in rates.items()}
    found = {}
    for change in _by_priority(week, starts):
        here = [name for name in change.kw if name in rates]
        wait_min = max([0.0, *(ready_min[name] for name in here)])
        for name in here:
            since_min = wait_min if wait_min > 0.0 else ready_min[name]
            ready_min[name] = since_min + change.kw[name] / rates[name]
        if wait_min > HAIR:
            found[change.run] = float(np.ceil(wait_min * MINUTE_S - HAIR))
    return found


def _leads(
    week: Week, stops: Sequence[_Change], starts: Sequence[_Change], other_kw: Mapping[str, float]
) -> dict[int, float]:
    """Return how long before the edge each gang stops: place of the run -> whole seconds; those at the edge left out.

    The first stops at the edge, unless other power falls there already, and with it as many as others take the place
    of; every other one so long before the next that the ramp's line catches up with its own fall.
    """
    rates = {b.name: rate for b in week.blocks if _limits(week, b) and (rate := b.power.fall_kw_per_min)}
    room_kw = {name: other_kw[name] + sum(c.kw.get(name, 0.0) for c in starts) for name in rates}
    at_edge_kw = dict.fromkeys(rates, 0.0)
    lead_min = dict.fromkeys(rates, 0.0)
    found = {}
    for change in _by_priority(week, stops):
        here = [name for name in change.kw if name in rates]
        if all(lead_min[name] == 0.0 and at_edge_kw[name] <= room_kw[name] + HAIR for name in here):
            for name in here:
                at_edge_kw[name] += change.kw[name]
            continue
        lead = max(lead_min[name] + change.kw[name] / rates[name] for name in here)
        lead_min |= dict.fromkeys(here, lead)
        found[change.run] = float(np.ceil(lead * MINUTE_S - HAIR))
    return found


def _by_priority(week: Week, changes: Sequence[_Change]) -> list[_Change]:
    return sorted(changes, key=lambda c: (week.runs[c.run].priority, -sum(c.kw.values()), c.run))


def _with_moves(week: Week, decided: RunSchedule, late_s: Floats, early_s: Floats) -> RunSchedule:
    """Return a run's schedule with its moves; neither takes more than a quarter of the spell."""
    for first, after in spells(decided.gpu_power_limit_w > 0.0):
        most_s = MOST_OF_SPELL * (after - first) * MINUTE_S * week.grid.slot_minutes
        late_s[first] = min(late_s[first], np.floor(most_s))
        early_s[after - 1] = min(early_s[after - 1], np.floor(most_s))
    for moves in (late_s, early_s):
        moves.setflags(write=False)
    return replace(decided, late_s=late_s, early_s=early_s)
