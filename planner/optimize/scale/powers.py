"""How hard a gang works in the cells in which it is on: as cheaply as its work allows, and no more than its work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.ground import Placed
from planner.optimize.scale.responses import work_by

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank
    from planner.optimize.scale.ground import Ground

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

HAIR = 1e-9


def powered(crowd: Crowd, ground: Ground | None, row: Rank, on: Flags, price: Floats) -> Placed | None:
    """Return a gang with its powers, or None if its cells cannot but make more than its work.

    Args:
        crowd: All gangs.
        ground: What is left beside it, or None where it may take what is not left.
        row: A rank of its one row.
        on: Cells in which it is on, shape (B,).
        price: Money per GPU in a slot at each of its points, shape (K, T).
    """
    table, gpus = crowd.tables[int(row.table[0])], float(row.gpus[0])
    shape = _shaped(crowd, ground, row, on, price)
    if shape is None:
        return None
    slots, speed = shape
    points = len(table.throughput)
    kw = np.empty((len(crowd.limits), len(slots)))
    for b in range(len(kw)):
        kw[b] = between(table.throughput, speed, crowd.added_kw[int(row.table[0])][:points, b, slots]) * gpus
    return Placed(int(row.table[0]), int(row.option[0]), gpus, slots, speed, kw)


def _shaped(crowd: Crowd, ground: Ground | None, row: Rank, on: Flags, price: Floats) -> tuple[Ints, Floats] | None:
    """Return slots and relative throughputs that make no more than the work, or None if no fewer cells can be had."""
    most_h = float(crowd.dues.most_h[int(row.run[0])]) + HAIR
    left = _trimmed(crowd, row, on, price)
    while left is not None:
        slots = np.flatnonzero(np.repeat(left, np.diff(row.edges)))
        top = np.full(len(slots), len(crowd.tables[int(row.table[0])].throughput) - 1)
        level = top if ground is None else ground.levels(int(row.table[0]), float(row.gpus[0]), slots)
        speed = _speeds(crowd, row, left, slots, level, price)
        if _made(crowd, row, left, slots, speed) <= most_h * (1.0 + HAIR):
            return slots, speed
        # early stages ask for so much power that the last cells are too many
        left = _shorter(row, left)
    return None


def _made(crowd: Crowd, row: Rank, on: Flags, slots: Ints, speed: Floats) -> float:
    """Return the work that a gang does in the horizon, h."""
    spread = np.zeros((1, crowd.week.grid.n_slots))
    spread[0, slots] = speed
    return float(work_by(row, on[None], spread, np.array([np.inf]), crowd.week.grid.slot_h)[0])


def _speeds(crowd: Crowd, row: Rank, on: Flags, slots: Ints, level: Ints, price: Floats) -> Floats:
    """Return the relative throughput per slot: the cheapest steps up from the lowest that make what is due in time."""
    table, rate, h = crowd.tables[int(row.table[0])], float(row.rate[0]), crowd.week.grid.slot_h
    run, steps = int(row.run[0]), len(table.throughput) - 1
    speed = np.full(len(slots), table.throughput[0])
    if not steps:
        return speed
    gain = np.diff(table.throughput)
    ratio = np.diff(price[: steps + 1, slots], axis=0) / gain[:, None]
    which, at = np.divmod(np.argsort(ratio, axis=None, kind="stable"), len(slots))
    room = which < level[at]
    which, at = which[room], at[room]
    used = np.zeros(len(which), dtype=bool)
    spread = np.zeros((1, crowd.week.grid.n_slots))
    for i in np.flatnonzero(crowd.dues.work_h[run] > 0.0):
        mark = crowd.dues.marks[run, i, :1]
        spread[0, slots] = speed
        need = crowd.dues.work_h[run, i] - float(work_by(row, on[None], spread, mark, h)[0])
        may = np.flatnonzero(~used & (slots[at] + 1 <= mark[0] + HAIR))
        made = np.cumsum(gain[which[may]]) * rate * h
        count = int(np.searchsorted(made, need - HAIR)) + 1 if need > 0.0 else 0
        mine = may[:count]
        np.add.at(speed, at[mine], gain[which[mine]])
        used[mine] = True
        if 0 < count <= len(made):
            # the last of them is lowered to what is needed
            speed[at[mine[-1]]] -= (made[count - 1] - need) / (rate * h)
    return speed


def between(throughput: Floats, speed: Floats, at: Floats) -> Floats:
    """Return values given at operating points, shape (K, S), read at a throughput per slot, shape (S,)."""
    if len(throughput) == 1:
        return np.asarray(at[0])
    k = np.clip(np.searchsorted(throughput, speed, side="right") - 1, 0, len(throughput) - 2)
    part = (speed - throughput[k]) / (throughput[k + 1] - throughput[k])
    column = np.arange(len(speed))
    return np.asarray(at[k, column] + part * (at[k + 1, column] - at[k, column]))


def _trimmed(crowd: Crowd, row: Rank, on: Flags, price: Floats) -> Flags | None:
    """Return the cells without those that even the lowest power has no work for: the dearest at the ends of spells."""
    run, least = int(row.run[0]), float(crowd.tables[int(row.table[0])].throughput[0])
    most_h = float(crowd.dues.most_h[run])
    most_h += HAIR * max(1.0, most_h)
    per_cell_h = least * float(row.rate[0]) * float(np.diff(row.edges).max()) * crowd.week.grid.slot_h
    cost = np.add.reduceat(price[0], row.edges[:-1])
    if np.count_nonzero(crowd.dues.work_h[run]) > 1:
        # an early stage needs the early cells
        cost = np.arange(len(cost), dtype=np.float64)
    kept: Flags | None = on
    while kept is not None:
        slots = np.flatnonzero(np.repeat(kept, np.diff(row.edges)))
        over_h = _made(crowd, row, kept, slots, np.full(len(slots), least)) - most_h
        if over_h <= 0.0:
            break
        kept = _without_ends(kept, cost, int(row.min_run[0]), math.ceil(over_h / per_cell_h - HAIR))
    return kept


def _without_ends(on: Flags, cost: Floats, min_run: int, count: int) -> Flags | None:
    """Return the cells without so many, the dearest at an end of a spell first, or None if spells get too short."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    spells = [list(pair) for pair in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)]
    for _ in range(count):
        ends = [
            (float(cost[cell]), cell, i)
            for i, (first, after) in enumerate(spells)
            if after - first > min_run
            for cell in (first, after - 1)
        ]
        if not ends:
            return None
        _, cell, i = max(ends)
        spells[i][0 if cell == spells[i][0] else 1] += 1 if cell == spells[i][0] else -1
    kept = np.zeros(len(on), dtype=bool)
    for first, after in spells:
        kept[first:after] = True
    return kept


def _shorter(row: Rank, on: Flags) -> Flags | None:
    """Return the cells without the last one of the last spell that is longer than the shortest, or None without any."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    spare = np.flatnonzero(ends - begins > int(row.min_run[0]))
    if not spare.size:
        return None
    kept = on.copy()
    kept[ends[spare[-1]] - 1] = False
    return kept
