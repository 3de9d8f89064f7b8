"""The cheapest spells of many gangs at once: on or off per cell, with shortest spells and pauses, starts and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]


def cheapest_spells(
    cost: Floats, is_open: Flags, start: Floats, stop: Floats, min_run: Ints, min_pause: Ints, running: Flags
) -> tuple[Floats, Flags]:
    """Return the least cost of each row and the cells in which it is on then.

    A spell that touches the end of the horizon may be shorter than the shortest; so may one that goes on from before.

    Args:
        cost: Cost of being on in a cell, shape (R, B).
        is_open: Cells in which it may be on, shape (R, B).
        start: Cost of a start at a cell, shape (R, B).
        stop: Cost of a stop before a cell, shape (R, B); before the first there is none.
        min_run: Shortest spell in cells, shape (R,).
        min_pause: Shortest pause in cells, shape (R,).
        running: Whether the row is on before the first cell, shape (R,).

    Returns:
        Least cost, shape (R,), at most 0, and on or off, shape (R, B).
    """
    n, b = cost.shape
    row = np.arange(n)
    paid = np.where(is_open, cost, 0.0)
    so_far = np.zeros((b + 1, n))
    np.cumsum(paid.T, axis=0, out=so_far[1:])
    shut = np.zeros((b + 1, n), dtype=np.int64)
    np.cumsum(~is_open.T, axis=0, out=shut[1:])
    starts, stops = start.T, stop.T
    pay = np.where(is_open, cost, np.inf).T.copy()
    cell = np.arange(b + 1)[:, None]
    first, ended = cell - min_run, cell - min_pause
    at = np.maximum(first, 0)
    fits = (first >= 0) & (cell > 0) & (shut == shut[at, row])
    begin = np.where(fits, starts[np.minimum(at, b - 1), row] + so_far - so_far[at, row], np.inf)
    rest = np.where(ended > 0, stops[np.clip(ended, 0, b - 1), row], np.inf)
    free, busy = np.full((b + 1, n), np.inf), np.full((b + 1, n), np.inf)
    free[0], busy[0] = 0.0, np.where(running, 0.0, np.inf)
    # rows that are alike in their shortest spells and pauses, as most are, need no gathering
    alike = bool((min_run == min_run[0]).all() and (min_pause == min_pause[0]).all())
    spell_back, pause_back = int(min_run[0]), int(min_pause[0])
    eased = np.maximum(ended, 0)
    for c in range(1, b + 1):
        from_free = free[max(0, c - spell_back)] if alike else free[at[c], row]
        from_busy = busy[max(0, c - pause_back)] if alike else busy[eased[c], row]
        np.minimum(busy[c - 1] + pay[c - 1], from_free + begin[c], out=busy[c])
        np.minimum(free[c - 1], from_busy + rest[c], out=free[c])
    # a pause and a spell are begun so many cells before the boundary at which they may end; 0 goes on
    began, rested = np.zeros((b + 1, n), dtype=np.int64), np.zeros((b + 1, n), dtype=np.int64)
    began[1:] = np.where(free[at, row][1:] + begin[1:] < busy[:-1] + pay, min_run, 0)
    rested[1:] = np.where(busy[eased, row][1:] + rest[1:] < free[:-1], min_pause, 0)
    least, last, on_at_end = free[b].copy(), np.full(n, b), np.zeros(n, dtype=bool)
    spell = np.zeros(n, dtype=np.int64)
    for back in range(int(max(min_run.max(), min_pause.max()))):
        c = b - back
        if c < 1:
            break
        here = busy[c] + (stops[c] if c < b else 0.0)
        better = (here < least) & (back < min_pause)
        least, last, on_at_end = np.where(better, here, least), np.where(better, c, last), on_at_end | better
        spell = np.where(better, 0, spell)
        if back:
            short = free[c] + starts[c] + so_far[b] - so_far[c]
            better = (short < least) & (back < min_run) & (shut[b] == shut[c])
            least, last, on_at_end = np.where(better, short, least), np.where(better, c, last), on_at_end & ~better
            spell = np.where(better, back, spell)
    return least, _traced(n, b, last, on_at_end, spell, began, rested)


def _traced(n: int, b: int, last: Ints, on_at_end: Flags, spell: Ints, began: Ints, rested: Ints) -> Flags:
    """Follow the choices back from the end."""
    edges = np.zeros((b + 1, n), dtype=np.int64)
    row = np.arange(n)
    at, is_on = last.copy(), on_at_end.copy()
    # a spell up to the end of the horizon that is shorter than the shortest
    touched = spell > 0
    edges[at[touched], row[touched]] += 1
    edges[b, row[touched]] -= 1
    edges[at[is_on], row[is_on]] -= 1
    for c in range(b, 0, -1):
        here = at == c
        busy = here & is_on
        new = busy & (began[c] > 0)
        if new.any():
            at[new] = c - began[c][new]
            edges[at[new], row[new]] += 1
            is_on[new] = False
        at[busy & ~new] = c - 1
        off = here & ~busy
        stopped = off & (rested[c] > 0)
        if stopped.any():
            at[stopped] = c - rested[c][stopped]
            edges[at[stopped], row[stopped]] -= 1
            is_on[stopped] = True
        at[off & ~stopped] = c - 1
    edges[0, is_on & (at == 0)] += 1
    return np.asarray(edges[:b].cumsum(axis=0).T > 0)
