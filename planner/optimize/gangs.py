"""Columns and rows of the gangs: whole or off, one pool, spells and pauses, operating points, work and lateness.

Work is counted in hours of the whole gang at the top rate of its best pool, so that runs of any size look alike. Runs
that may change their pool or their count of GPUs have rows of their own (`planner.optimize.moving`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pulp

from planner.optimize.cells import ROUNDING, Cells, open_cells, run_cells
from planner.optimize.labels import labels
from planner.optimize.limits import energy_worth
from planner.optimize.moving import Arrival, add_moves

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.pool import Pool
    from planner.run import PoolOption, Run
    from planner.week import Week
    from power.gpu import OperatingPoint

DAY_H = 24.0


@dataclass(frozen=True)
class GangOption:
    """A run in one of its pools, with one of its counts of GPUs.

    Args:
        option: The run's option.
        pool: The pool.
        gpus: GPUs that it holds there.
        points: Operating points by rising power.
        rate: Work per hour at full throughput: tokens per second over those of the run's best pool.
        running: Whether the run is on here as the horizon starts.
        chosen: Column of the choice of this pool, or None where there is no other and no data to bring; the first
            option of a pool has it for all that the run has there.
        on: Cell -> column, for the open cells.
        start: Cell -> column of a start with a reload.
        stop: Cell -> column of a stop before that cell.
        lower: (slot, point) -> share of the slot at that point; the highest point takes the rest of the on-time.
        arrivals: Starts to which the run's state comes from another pool.
    """

    option: PoolOption
    pool: Pool
    gpus: int
    points: tuple[OperatingPoint, ...]
    rate: float
    running: bool
    chosen: pulp.LpVariable | None
    on: Mapping[int, pulp.LpVariable]
    start: Mapping[int, pulp.LpVariable]
    stop: Mapping[int, pulp.LpVariable]
    lower: Mapping[tuple[int, int], pulp.LpVariable]
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True)
class Due:
    """Work that is due, and what of it is missing then and at each further day.

    Args:
        stage: Name of the stage.
        deadline: When it is due, UTC.
        tokens: Tokens due from the start of the horizon on.
        work_h: The same in hours of the gang.
        short: (slots after the start, column) at the deadline and every 24 h after it.
    """

    stage: str
    deadline: datetime
    tokens: float
    work_h: float
    short: tuple[tuple[float, pulp.LpVariable], ...]


@dataclass(frozen=True)
class Gang:
    """All columns of one run.

    Args:
        run: The run.
        cells: Its on/off cells.
        options: One entry per pool, and count of GPUs, in which it has an open cell.
        tokens_per_work_h: Tokens in one hour of work.
        work_h: Most work in the horizon, h.
        due: What is due when.
    """

    run: Run
    cells: Cells
    options: tuple[GangOption, ...]
    tokens_per_work_h: float
    work_h: float
    due: tuple[Due, ...]


def add_gang(prob: pulp.LpProblem, week: Week, index: int, limits: Mapping[str, BlockLimits]) -> Gang:
    """Add one run's columns and rows to the program.

    Args:
        prob: The program.
        week: The week.
        index: Place of the run in the week.
        limits: Block name -> its limits.

    Returns:
        The run's columns.
    """
    run = week.runs[index]
    label = f"{index}_{run.name}"
    cells = run_cells(week, run)
    best = run.best_tokens_per_gpu_s
    open_in = [(o, open_cells(week, run, o, cells, limits)) for o in run.options]
    usable = [(o, is_open) for o, is_open in open_in if is_open.any()]
    called = _called(run)
    options = tuple(
        _option(prob, week, run, f"{label}_{called[o.pool, o.gpus]}", cells, o, is_open, best, len(usable))
        for o, is_open in usable
    )
    if run.moves:
        options = add_moves(prob, run, label, cells, options)
    elif len(options) > 1:
        prob += pulp.lpSum(o.chosen for o in options) <= 1, f"one_pool_{label}"
    if options:
        spells = [v for o in options for v in o.start.values()]
        going_on = [o.on[0] for o in options if o.running and 0 in o.on]
        prob += pulp.lpSum(spells + going_on) <= run.max_pauses + 1, f"pauses_{label}"
    tokens_per_work_h = 3600.0 * run.gpus * best
    work_h = week.work_tokens(run) / tokens_per_work_h
    due = _due(prob, week, run, label, tokens_per_work_h)
    gang = Gang(run, cells, options, tokens_per_work_h, work_h, due)
    _work_rows(prob, week, gang, label)
    return gang


def _called(run: Run) -> dict[tuple[str, int], str]:
    """Return what the columns of each option are called, by its pool and the count of GPUs that it names."""
    pools = labels([o.pool for o in run.options])
    return {(o.pool, o.gpus): f"{pools[o.pool]}_{o.gpus}" if o.gpus else pools[o.pool] for o in run.options}


def _option(
    prob: pulp.LpProblem,
    week: Week,
    run: Run,
    here: str,
    cells: Cells,
    option: PoolOption,
    is_open: npt.NDArray[np.bool_],
    best: float,
    choices: int,
) -> GangOption:
    points = tuple(sorted(option.points, key=lambda p: p.it_w_per_gpu))
    gpus = run.size(option)
    running = run.runs_on(option.pool, gpus)
    chosen = None
    if not run.moves and (choices > 1 or option.transfers):
        chosen = prob.add_variable(f"pool_{here}", cat="Binary")
    on, start, stop = {}, {}, {}
    lower: dict[tuple[int, int], pulp.LpVariable] = {}
    for c in range(cells.count):
        if is_open[c]:
            on[c] = prob.add_variable(f"on_{here}_{c}", cat="Binary")
            if not (c == 0 and running):
                start[c] = prob.add_variable(f"start_{here}_{c}", 0, 1)
        if c > 0 and is_open[c - 1]:
            stop[c] = prob.add_variable(f"stop_{here}_{c}", 0, 1)
    pool = week.pool(option.pool)
    paid = np.any([energy_worth(week.here(week.block(name))) < 0 for name, _ in pool.shares], axis=0)
    for c, y in on.items():
        for t in cells.slots(c):
            shares = [prob.add_variable(f"at_{here}_{t}_{k}", 0, 1) for k in range(len(points) - 1)]
            lower.update({(t, k): x for k, x in enumerate(shares)})
            if shares:
                prob += pulp.lpSum(shares) - y <= 0, f"points_{here}_{t}"
            if paid[t] and len(shares) > 1:
                _neighbour_rows(prob, f"{here}_{t}", y, shares)
    rate = option.tokens_per_gpu_s / best * (gpus / run.gpus)
    gang = GangOption(option, pool, gpus, points, rate, running, chosen, on, start, stop, lower)
    _spell_rows(prob, here, cells, gang, 1 if run.moves else cells.min_pause)
    return gang


def _neighbour_rows(prob: pulp.LpProblem, here: str, y: pulp.LpVariable, shares: list[pulp.LpVariable]) -> None:
    """Where import is paid for, mixing distant points would burn power for money: only neighbours may mix."""
    pairs = [prob.add_variable(f"between_{here}_{j}", cat="Binary") for j in range(len(shares))]
    prob += pulp.lpSum(pairs) - y == 0, f"pair_{here}"
    for k, x in enumerate(shares):
        prob += x - pulp.lpSum(pairs[max(0, k - 1) : k + 1]) <= 0, f"in_pair_{here}_{k}"
    prob += y - pulp.lpSum(shares) - pairs[-1] <= 0, f"in_pair_{here}_{len(shares)}"


def _spell_rows(prob: pulp.LpProblem, here: str, cells: Cells, gang: GangOption, min_pause: int) -> None:
    """Starts and stops follow from on and off; spells and pauses have a shortest length (Rajan and Takriti 2005)."""
    total = 1.0 if gang.chosen is None else gang.chosen
    for c in range(cells.count):
        y, before = gang.on.get(c), gang.on.get(c - 1)
        signs = ((y, 1.0), (before, -1.0), (gang.start.get(c), -1.0), (gang.stop.get(c), 1.0))
        # a column without a value counts as false in PuLP
        terms = [(column, sign) for column, sign in signs if column is not None]
        if c > 0 and terms:
            prob += pulp.LpAffineExpression(terms) == 0, f"switch_{here}_{c}"
        if c == 0 and not gang.running and y is not None:
            prob += y - gang.start[0] == 0, f"switch_{here}_{c}"
        spell = [gang.start[i] for i in range(max(0, c - cells.min_run + 1), c + 1) if i in gang.start]
        if y is not None:
            prob += pulp.lpSum(spell) - y <= 0, f"min_run_{here}_{c}"
        elif spell:
            # a cell that is closed ends a spell as well
            prob += pulp.lpSum(spell) <= 0, f"min_run_{here}_{c}"
        pause = [gang.stop[i] for i in range(max(1, c - min_pause + 1), c + 1) if i in gang.stop]
        on = [y] if y is not None else []
        if pause or on:
            # a pool not chosen is off throughout
            prob += pulp.lpSum(pause + on) - total <= 0, f"min_pause_{here}_{c}"


def _due(prob: pulp.LpProblem, week: Week, run: Run, label: str, tokens_per_work_h: float) -> tuple[Due, ...]:
    due = []
    for i, (stage, deadline, tokens) in enumerate(week.due_tokens(run)):
        first = week.grid.position(deadline)
        step = DAY_H / week.grid.slot_h
        marks = [first + j * step for j in range(1 + max(0, math.floor((week.grid.n_slots - first) / step + ROUNDING)))]
        short = tuple(
            (mark, prob.add_variable(f"short_{label}_{i}_{j}", 0)) for j, mark in enumerate(marks) if mark > ROUNDING
        )
        due.append(Due(stage, deadline, tokens, tokens / tokens_per_work_h, short if tokens > 0 else ()))
    return tuple(due)


def _work_rows(prob: pulp.LpProblem, week: Week, gang: Gang, label: str) -> None:
    """Work done by every mark, each from the one before; what is missing then is short; no more work than there is."""
    n_slots, slot_h = week.grid.n_slots, week.grid.slot_h
    marks = sorted({mark for due in gang.due for mark, _ in due.short} | {float(n_slots)})
    done = {mark: prob.add_variable(f"done_{label}_{i}") for i, mark in enumerate(marks)}
    for i, (before, mark) in enumerate(zip([0.0, *marks], marks, strict=False)):
        terms = [(v, -w) for option in gang.options for v, w in made(gang, option, before, mark, slot_h)]
        so_far = [(done[mark], 1.0)] + ([(done[before], -1.0)] if i else [])
        prob += pulp.LpAffineExpression(so_far + terms) == 0, f"work_{label}_{i}"
    for i, due in enumerate(gang.due):
        for j, (mark, short) in enumerate(due.short):
            prob += short + done[mark] >= due.work_h, f"due_{label}_{i}_{j}"
    prob += done[marks[-1]] <= gang.work_h + landing_h(gang), f"all_work_{label}"


def made(
    gang: Gang, option: GangOption, before: float, mark: float, slot_h: float
) -> list[tuple[pulp.LpVariable, float]]:
    """Return the work between two marks, in slots after the start, h of work per column.

    Time lost at a start or stop counts at the highest rate.
    """
    run, cells, points = gang.run, gang.cells, option.points
    top = points[-1].relative_throughput
    terms: list[tuple[pulp.LpVariable, float]] = []
    for c, y in option.on.items():
        whole = min(float(cells.edges[c + 1]), mark) - max(float(cells.edges[c]), before)
        if whole > 0:
            terms.append((y, option.rate * top * slot_h * whole))
    first, last = math.floor(before), math.ceil(mark)
    for (t, k), x in option.lower.items():
        if first <= t < last:
            share = min(t + 1.0, mark) - max(float(t), before)
            terms.append((x, -option.rate * (top - points[k].relative_throughput) * slot_h * share))
    for c, v, lost_s, back in _lost(run, option):
        since = float(cells.edges[c]) - back * lost_s / 3600.0 / slot_h
        if (since >= before or before == 0.0) and since < mark:
            terms.append((v, -option.rate * top * (lost_s / 3600.0)))
    return terms


def _lost(run: Run, option: GangOption) -> list[tuple[int, pulp.LpVariable, float, float]]:
    """Return what starts, stops and moves lose: (cell, column, time, s, 1 where it lies before the cell, else 0)."""
    lost = [(c, v, run.reload_s, 0.0) for c, v in option.start.items()]
    lost += [(c, v, run.checkpoint_s, 1.0) for c, v in option.stop.items()]
    lost += [(arrival.cell, arrival.column, arrival.way.time_s, 0.0) for arrival in option.arrivals]
    return [one for one in lost if one[2] > 0.0]


def landing_h(gang: Gang) -> float:
    """Return by how much a run may overshoot its work because its points cannot land on it exactly, h of work.

    `n` cells make between `n` times the lowest and `n` times the highest work of a cell. Only where no `n` covers the
    work may the gang run on to the end of its cell at the lowest point.
    """
    if not gang.options or gang.work_h <= 0:
        return 0.0
    return max(_landing_h(gang, option) for option in gang.options)


def _landing_h(gang: Gang, option: GangOption) -> float:
    most = option.rate * option.points[-1].relative_throughput * gang.cells.cell_h
    least = option.rate * option.points[0].relative_throughput * gang.cells.cell_h
    if gang.run.moves:
        # what moves lose and cells of other sizes make leave no count of cells to reckon with
        return least
    lost = option.rate * option.points[-1].relative_throughput * gang.run.reload_s / 3600.0
    count = max(math.ceil((gang.work_h + lost) / most - ROUNDING), gang.cells.min_run)
    return max(0.0, min(count * least - lost - gang.work_h, least))


def rated_hours(gang: Gang, until: float) -> float:
    """Return the most work that a gang's open cells before `until` (slots after the start) can give, h of work.

    Those of one option, or of any where the run may move.
    """
    cells, best = gang.cells, [0.0] * gang.cells.count
    totals = []
    for option in gang.options:
        per_slot = cells.slot_h * option.rate * option.points[-1].relative_throughput
        slots = {c: max(0.0, min(float(cells.edges[c + 1]), until) - float(cells.edges[c])) for c in option.on}
        totals.append(sum(slots.values()) * per_slot)
        for c, count in slots.items():
            best[c] = max(best[c], count * per_slot)
    return sum(best) if gang.run.moves else max(totals, default=0.0)
