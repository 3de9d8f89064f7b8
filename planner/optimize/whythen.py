"""Why a run stands where it does: what its best other hours would have cost, and what holds them back.

The run's longest spell is closed to it, all other runs keep their hours, and the program finds the best that is left by
its own search over this one run; the answer is settled exactly, with all power at its best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.duals import price
from planner.optimize.extract import on_slots, options_used, stays_of
from planner.optimize.fixed import fix_values
from planner.optimize.room import crowded_slots
from planner.optimize.solver import Highs
from planner.precedence import waits

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.moves import Stay
    from planner.optimize.duals import Priced
    from planner.optimize.fixed import Fixed, Worth
    from planner.optimize.supply import BlockColumns
    from planner.week import Week

GAP, NODES, SECONDS = 1e-7, 500, 60.0
PLAIN = {"mip_allow_restart": False, "mip_heuristic_run_rins": False, "mip_heuristic_run_rens": False}
"""What HiGHS leaves out: on one run's choices it takes longer than the tree, which proves the best hours anyway."""
TIGHT = 1e-7
NEAR_LIMIT = 0.999


@dataclass(frozen=True)
class Hours:
    """Where and when a run is on.

    Args:
        pool: Its pool, the first where it moves, or None where it does not run.
        spells: First slot, and slot after the last, of every spell.
        stays: The spells with pool and GPUs, for a run that may move.
    """

    pool: str | None
    spells: tuple[tuple[int, int], ...]
    stays: tuple[Stay, ...] = ()


@dataclass(frozen=True)
class WhyThen:
    """One run's hours and its best other ones.

    Args:
        run: Name of the run.
        now: Its hours.
        window: Its longest spell, which the other hours do without; None where it does not run.
        then: The best other hours, or None where there are none.
        more: What they cost more; below zero where they would even cost less, which a gap allows.
        unproven: Money by which hours still better could be cheaper than these: what the search did not prove.
        binds: What holds the other hours back, in words, what counts most first.
    """

    run: str
    now: Hours
    window: tuple[int, int] | None
    then: Hours | None
    more: Worth | None
    unproven: float
    binds: tuple[str, ...]


def why_then(fixed: Fixed, run: int) -> WhyThen:
    """Return why a run stands where it does.

    Args:
        fixed: The plan's program.
        run: Place of the run in the week.
    """
    name = fixed.program.gangs[run].run.name
    now = _hours(fixed, run)
    if now.pool is None:
        return WhyThen(name, now, None, None, None, 0.0, ())
    window = max(now.spells, key=lambda spell: (spell[1] - spell[0], -spell[0]))
    columns, values, bound = _searched(fixed, run, window)
    other = None
    if columns is not None:
        other = fix_values(fixed.program, fixed.whole, fixed.index, fixed.places, columns, values)
    if other is None:
        return WhyThen(name, now, window, None, None, 0.0, (_no_hours(fixed.program.week, name),))
    more = other.worth.less(fixed.worth)
    unproven = max(0.0, other.worth.total - bound * fixed.program.power_kw)
    return WhyThen(name, now, window, _hours(other, run), more, unproven, _binds(fixed, other, run, window))


def _no_hours(week: Week, name: str) -> str:
    """Return why there are no other hours; what waits for a run keeps its hours like all others."""
    waiting = [repr(other.name) for other in week.runs if any(after.run == name for after in waits(week, other))]
    if not waiting:
        return "no other hours leave a plan"
    return f"no other hours leave a plan in which what waits for it ({', '.join(waiting)}) keeps its own"


def _hours(fixed: Fixed, run: int) -> Hours:
    x, n_slots = fixed.polished.values, fixed.program.week.grid.n_slots
    used = options_used(fixed.places.gangs[run], x)
    if not used:
        return Hours(None, ())
    stays = stays_of(used, x, n_slots)
    return Hours(used[0].pool, tuple((s.first, s.after) for s in stays), stays if used[0].moves else ())


def _searched(
    fixed: Fixed, run: int, window: tuple[int, int]
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float64], float]:
    """Return the whole columns with the run's best other hours in them, their values, and the bound of the search."""
    columns, values = fixed.polished.columns, fixed.polished.fixed.copy()
    free: list[int] = []
    closed: list[int] = []
    for gang_option, option in zip(fixed.program.gangs[run].options, fixed.places.gangs[run], strict=True):
        free += option.on[option.on >= 0].tolist() + ([option.chosen] if option.chosen >= 0 else [])
        cells = fixed.program.gangs[run].cells
        closed += [
            int(option.on[c]) for c in gang_option.on if window[0] < cells.edges[c + 1] and cells.edges[c] < window[1]
        ]
    matrix = fixed.whole
    lower, upper, whole = matrix.lower.copy(), matrix.upper.copy(), np.zeros(matrix.n_columns, dtype=bool)
    others = ~np.isin(columns, free)
    lower[columns[others]] = upper[columns[others]] = values[others]
    upper[closed] = 0.0
    whole[free] = True
    searched = replace(matrix, lower=lower, upper=upper, whole=whole)
    answer = Highs(searched, whole=True, mip_rel_gap=GAP, mip_max_nodes=NODES, **PLAIN).run(SECONDS)
    if answer.values is None:
        return None, values, answer.bound
    values = np.where(others, values, np.round(answer.values[columns]))
    return columns, values, answer.bound


def _binds(plan: Fixed, other: Fixed, run: int, window: tuple[int, int]) -> tuple[str, ...]:
    """Return what holds the other hours back: promises, GPUs that others take, limits of blocks, the billed peak."""
    priced, week = price(other), other.program.week
    gang = other.program.gangs[run]
    said: list[tuple[float, str]] = [*_due(priced, run), *_peaks(plan, other)]
    now = _hours(other, run)
    pool = now.pool or next(o.pool for o in plan.places.gangs[run])
    crowded = _crowded(other, run, pool, window)
    if crowded:
        said.append((0.0, f"in {crowded * week.grid.slot_h:g} h other runs take the GPUs of pool {pool!r}"))
    on = np.zeros(week.grid.n_slots, dtype=bool)
    for first, after in now.spells:
        on[first:after] = True
    for block in other.program.blocks:
        if any(o.pool.share_in(block.limits.block.name) for o in gang.options if o.pool.name == pool):
            said += _limits(priced, block, on)
    return tuple(words for _, words in sorted(said, key=lambda one: -one[0]))


def _due(priced: Priced, run: int) -> list[tuple[float, str]]:
    fixed, power_kw = priced.fixed, priced.fixed.program.power_kw
    gang, week = fixed.program.gangs[run], fixed.program.week
    a = sparse.csc_array(fixed.matrix.a)
    said = []
    for due in gang.due:
        # what is short at a mark stands in no row but that of the mark
        places = fixed.index.many([column for _, column in due.short])
        worth = float(sum(priced.total.row[a.indices[a.indptr[place]]] for place in places)) * power_kw
        if worth > TIGHT:
            local = due.deadline.astimezone(week.tz).strftime("%a %H:%M %Z")
            missed = (priced.values[places] > TIGHT).any()
            what = "is missed" if missed else "is just kept"
            said.append((worth, f"stage {due.stage!r}, due {local}, {what}"))
    return said


def _peaks(plan: Fixed, other: Fixed) -> list[tuple[float, str]]:
    said = []
    power_kw, registers = plan.program.power_kw, plan.program.week.demand_registers
    for place, register in zip(plan.places.peaks, registers, strict=True):
        rise_kw = float(other.polished.values[place] - plan.polished.values[place]) * power_kw
        if rise_kw * register.charge_per_kw > TIGHT:
            said.append((rise_kw * register.charge_per_kw, f"the billed peak rises by {rise_kw:,.0f} kW"))
    return said


def _crowded(fixed: Fixed, run: int, pool: str, window: tuple[int, int]) -> int:
    """Return in how many slots outside the window, in which the run is off, other runs leave too few GPUs for it."""
    week, x = fixed.program.week, fixed.polished.values
    mine, others = np.zeros(week.grid.n_slots, dtype=bool), []
    for r, options in enumerate(fixed.places.gangs):
        for option in options:
            on = on_slots(option, x, week.grid.n_slots)
            if r != run:
                others.append((option.pool, option.gpus, on))
            elif option.pool == pool:
                mine |= on
    outside = np.ones(week.grid.n_slots, dtype=bool)
    outside[window[0] : window[1]] = False
    gpus = next(option.gpus for option in fixed.places.gangs[run] if option.pool == pool)
    return int((outside & ~mine & crowded_slots(week, week.pool(pool), gpus, others)).sum())


def _limits(priced: Priced, block: BlockColumns, on: npt.NDArray[np.bool_]) -> list[tuple[float, str]]:
    fixed, limits = priced.fixed, block.limits
    slot_h, power_kw, name = fixed.program.week.grid.slot_h, fixed.program.power_kw, limits.block.name
    it = priced.total.column[fixed.index.many(block.it)]
    grid = priced.total.column[fixed.index.many(block.grid)]
    held = on & ((it < -TIGHT) | (grid < -TIGHT))
    said = []
    if held.any():
        by_cooling = (limits.envelope.w_max_kw * NEAR_LIMIT <= limits.it_max_kw)[held].mean() > 1 / 2
        what = "cooling" if by_cooling else "power capacity"
        worth = -float((it[held] + np.minimum(grid[held], 0.0)).sum()) * power_kw
        said.append((worth, f"in {held.sum() * slot_h:g} h the {what} of block {name!r} leaves no more"))
    starts = (f"ramp_up_{limits.label}_", f"ramp_down_{limits.label}_")
    ramps = [i for i, row in enumerate(fixed.matrix.row_names) if row.startswith(starts)]
    ramp = float(np.abs(priced.total.row[ramps]).sum()) * power_kw
    if ramp > TIGHT:
        said.append((ramp, f"the ramp limit of block {name!r} binds"))
    return said
