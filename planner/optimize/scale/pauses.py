"""Answers of gangs with no more pauses than each may make: starts get dearer until there are few enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.responses import QUICK, Response, respond

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

FEES = (2.0, 20.0, 1000.0)  # of a mean cell's price


def paused(crowd: Crowd, rank: Rank, price: Floats, is_open: Flags, extra: Floats | None = None) -> Response:
    """Return quick answers of a rank's rows at prices, as `respond` does, that keep the count of pauses.

    Where no price of a start leaves few enough, the longest spells stay.

    Args:
        crowd: The gangs.
        rank: The rows.
        price: From `slot_prices`.
        is_open: Cells in which each row may be on, (R, B).
        extra: What a cell costs each row beside its price, money per GPU, (R, B); None for nothing.
    """
    found = respond(crowd, rank, price, is_open, extra=extra, care=QUICK)
    least, on = found.least, found.on
    cell = np.maximum(price.mean(axis=(1, 2)), 0.0) * float(np.diff(rank.edges).mean())
    for fee in FEES:
        many = np.flatnonzero(_spells(on) > rank.most_spells)
        if not many.size:
            break
        part = rank.only(many)
        beside = None if extra is None else extra[many]
        again = respond(
            crowd, part, price, is_open[many], extra=beside, fee=fee * cell[part.table], care=QUICK
        )  # fmt: skip
        least[many], on[many] = again.least, again.on
    for row in np.flatnonzero(_spells(on) > rank.most_spells).tolist():
        on[row] = _longest(on[row], int(rank.most_spells[row]))
    return Response(least, on)


def whole_spells(rank: Rank, row: int, slots: Ints) -> bool:
    """Return whether slots in which a row is on are whole cells, in spells and pauses as long and as few as they must.

    Args:
        rank: The rows.
        row: Place of the row.
        slots: Slots in which it is on, rising, at least one.
    """
    on_slots = np.zeros(int(rank.edges[-1]), dtype=bool)
    on_slots[slots] = True
    on = np.logical_and.reduceat(on_slots, rank.edges[:-1])
    if not np.array_equal(np.repeat(on, np.diff(rank.edges)), on_slots):
        return False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    short = (ends - begins < rank.min_run[row]) & (ends < len(on))
    if rank.running[row]:
        short &= begins > 0
    pauses = begins[1:] - ends[:-1]
    return not short.any() and bool((pauses >= rank.min_pause[row]).all()) and len(begins) <= rank.most_spells[row]


def _spells(on: Flags) -> Ints:
    """Return the count of spells of each row, shape (R,)."""
    return np.asarray(on[:, 0] + (on[:, 1:] & ~on[:, :-1]).sum(axis=1))


def _longest(on: Flags, most: int) -> Flags:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    kept = np.zeros(len(on), dtype=bool)
    for i in np.argsort(begins - ends, kind="stable")[:most].tolist():
        kept[begins[i] : ends[i]] = True
    return kept
