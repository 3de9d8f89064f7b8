"""The cheapest spells of many gangs at once: on or off per cell, with shortest spells and pauses, starts and stops.

Arrays have their cells first: the program goes from cell to cell, and each step is one operation over all gangs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Spells:
    """What R gangs pay for being on, and how they may be.

    A spell that touches the end of the horizon may be shorter than the shortest; so may one that goes on from before.

    Args:
        cost: Cost of being on in a cell, shape (B, R).
        is_open: Cells in which it may be on, shape (B, R).
        start: Cost of a start at a cell, shape (B, R).
        stop: Cost of a stop before a cell, shape (B, R); before the first there is none.
        min_run: Shortest spell in cells, shape (R,).
        min_pause: Shortest pause in cells, shape (R,).
        running: Whether the gang is on before the first cell, shape (R,).
    """

    cost: Floats
    is_open: Flags
    start: Floats
    stop: Floats
    min_run: Ints
    min_pause: Ints
    running: Flags


def least_costs(spells: Spells) -> Floats:
    """Return the least cost of each gang, shape (R,), at most 0."""
    return _ends(spells, _forward(spells))[0]


def cheapest_spells(spells: Spells) -> tuple[Floats, Flags]:
    """Return the least cost of each gang, shape (R,), at most 0, and the cells in which it is on then, shape (B, R)."""
    way = _forward(spells)
    least, last, on_at_end, short = _ends(spells, way)
    return least, _traced(spells, way, last, on_at_end, short)


@dataclass(frozen=True)
class _Way:
    """Least costs up to each boundary between cells, off or on there, and what they are made of, shapes (B + 1, R)."""

    free: Floats
    busy: Floats
    spell_from: Ints
    pause_from: Ints
    begin: Floats
    rest: Floats
    so_far: Floats
    shut: Ints


def _forward(spells: Spells) -> _Way:
    cost, starts, stops = spells.cost, spells.start, spells.stop
    b, n = cost.shape
    row, cell = np.arange(n), np.arange(b + 1)[:, None]
    so_far, shut = np.zeros((b + 1, n)), np.zeros((b + 1, n), dtype=np.int64)
    np.cumsum(np.where(spells.is_open, cost, 0.0), axis=0, out=so_far[1:])
    np.cumsum(~spells.is_open, axis=0, out=shut[1:])
    pay = np.where(spells.is_open, cost, np.inf)
    free, busy = np.full((b + 1, n), np.inf), np.full((b + 1, n), np.inf)
    free[0], busy[0] = 0.0, np.where(spells.running, 0.0, np.inf)
    spell, pause = int(spells.min_run[0]), int(spells.min_pause[0])
    # gangs that are alike in their shortest spells and pauses, as most are, need no gathering
    alike = bool((spells.min_run == spell).all() and (spells.min_pause == pause).all())
    if alike:
        spell_from = np.broadcast_to(np.maximum(cell - spell, 0), (b + 1, n))
        pause_from = np.broadcast_to(np.maximum(cell - pause, 0), (b + 1, n))
        begin, rest = np.full((b + 1, n), np.inf), np.full((b + 1, n), np.inf)
        if spell <= b:
            made = starts[: b + 1 - spell] + so_far[spell:] - so_far[: b + 1 - spell]
            begin[spell:] = np.where(shut[spell:] == shut[: b + 1 - spell], made, np.inf)
        rest[pause + 1 :] = stops[1 : b + 1 - pause]
    else:
        spell_from, pause_from = np.maximum(cell - spells.min_run, 0), np.maximum(cell - spells.min_pause, 0)
        fits = (cell >= spells.min_run) & (shut == shut[spell_from, row])
        made = starts[np.minimum(spell_from, b - 1), row] + so_far - so_far[spell_from, row]
        begin = np.where(fits, made, np.inf)
        rest = np.where(cell > spells.min_pause, stops[np.minimum(pause_from, b - 1), row], np.inf)
    for c in range(1, b + 1):
        from_free = free[max(0, c - spell)] if alike else free[spell_from[c], row]
        from_busy = busy[max(0, c - pause)] if alike else busy[pause_from[c], row]
        np.minimum(busy[c - 1] + pay[c - 1], from_free + begin[c], out=busy[c])
        np.minimum(free[c - 1], from_busy + rest[c], out=free[c])
    return _Way(free, busy, spell_from, pause_from, begin, rest, so_far, shut)


def _ends(spells: Spells, way: _Way) -> tuple[Floats, Ints, Flags, Ints]:
    """Return the least cost, the boundary after which all is off or a short last spell, on or off there, its length."""
    b, n = spells.cost.shape
    least, last, on_at_end = way.free[b].copy(), np.full(n, b), np.zeros(n, dtype=bool)
    short = np.zeros(n, dtype=np.int64)
    for back in range(int(max(spells.min_run.max(), spells.min_pause.max()))):
        c = b - back
        if c < 1:
            break
        here = way.busy[c] + (spells.stop[c] if c < b else 0.0)
        better = (here < least) & (back < spells.min_pause)
        least, last, on_at_end = np.where(better, here, least), np.where(better, c, last), on_at_end | better
        short = np.where(better, 0, short)
        if back:
            late = way.free[c] + spells.start[c] + way.so_far[b] - way.so_far[c]
            better = (late < least) & (back < spells.min_run) & (way.shut[b] == way.shut[c])
            least, last, on_at_end = np.where(better, late, least), np.where(better, c, last), on_at_end & ~better
            short = np.where(better, back, short)
    return least, last, on_at_end, short


def _traced(spells: Spells, way: _Way, last: Ints, on_at_end: Flags, short: Ints) -> Flags:
    """Follow the choices back from the end, from one change to the one before it."""
    b, n = spells.cost.shape
    row, cell = np.arange(n), np.arange(b + 1)[:, None]
    pay = np.where(spells.is_open, spells.cost, np.inf)
    began, rested = np.zeros((b + 1, n), dtype=bool), np.zeros((b + 1, n), dtype=bool)
    began[1:] = np.take_along_axis(way.free, way.spell_from[1:], 0) + way.begin[1:] < way.busy[:-1] + pay
    rested[1:] = np.take_along_axis(way.busy, way.pause_from[1:], 0) + way.rest[1:] < way.free[:-1]
    # the last boundary up to each one at which a spell or a pause of the shortest length has just been begun
    latest_spell = np.maximum.accumulate(np.where(began, cell, 0), axis=0)
    latest_pause = np.maximum.accumulate(np.where(rested, cell, 0), axis=0)
    edges = np.zeros((b + 1, n), dtype=np.int64)
    at, is_on = last.copy(), on_at_end.copy()
    touched = np.flatnonzero(short)
    edges[at[touched], touched] += 1
    edges[b, touched] -= 1
    edges[at[is_on], row[is_on]] -= 1
    live = row[at > 0]
    while live.size:
        on = is_on[live]
        change = np.where(on, latest_spell[at[live], live], latest_pause[at[live], live])
        length = np.where(on, spells.min_run[live], spells.min_pause[live])
        none = change == 0
        at[live] = np.where(none, 0, change - length)
        edges[at[live][~none], live[~none]] += np.where(on[~none], 1, -1)
        is_on[live[~none]] = ~on[~none]
        live = live[~none & (at[live] > 0)]
    edges[0, is_on] += 1
    return np.asarray(edges[:b].cumsum(axis=0) > 0)
