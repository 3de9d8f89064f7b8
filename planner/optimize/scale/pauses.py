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
