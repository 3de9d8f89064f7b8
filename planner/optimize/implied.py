"""Bounds that rows imply for columns that have none, so that prices a hair off bound something at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix

    Floats = npt.NDArray[np.float64]

PASSES = 4


def implied_bounds(matrix: Matrix) -> tuple[Floats, Floats]:
    """Return bounds of all columns within which a best solution lies, shape (N,) each; infinite where none is implied.

    A row bounds a column by what the others can add up to. A column that costs something and only makes room in its
    rows need not be larger than what the fullest of them asks for.
    """
    lower, upper = matrix.lower.copy(), matrix.upper.copy()
    a = sparse.coo_array(matrix.a)
    rows, columns = (places.astype(np.int64) for places in a.coords)
    values = a.data
    positive, row_lower, row_upper = values > 0, matrix.row_lower[rows], matrix.row_upper[rows]
    held = np.zeros(matrix.n_columns, dtype=bool)
    held[columns[~np.where(positive, np.isposinf(row_upper), np.isneginf(row_lower))]] = True
    makes_room = ~held & (matrix.cost >= 0.0)
    for _ in range(PASSES):
        least = _others(np.where(positive, values * lower[columns], values * upper[columns]), rows, matrix.n_rows)
        most = _others(np.where(positive, values * upper[columns], values * lower[columns]), rows, matrix.n_rows)
        # an endless rest beside an endless side bounds nothing
        down = np.where(np.isneginf(least) | np.isposinf(row_upper), np.inf, row_upper - np.maximum(least, -_HUGE))
        up = np.where(np.isposinf(most) | np.isneginf(row_lower), -np.inf, row_lower - np.minimum(most, _HUGE))
        highest = np.full(matrix.n_columns, np.inf)
        np.minimum.at(highest, columns, np.where(positive, down, up) / values)
        lowest = np.full(matrix.n_columns, -np.inf)
        np.maximum.at(lowest, columns, np.where(positive, up, down) / values)
        asked = np.full(matrix.n_columns, -np.inf)
        # a column that makes room stands only in rows with one side, and that is the side it helps
        side, rest = np.where(positive, row_lower, row_upper), np.where(positive, least, most)
        one_sided = np.isfinite(side)
        ask = np.where(one_sided, side, 0.0) - rest
        np.maximum.at(asked, columns, np.where(one_sided, ask / values, np.inf))
        highest = np.where(makes_room, np.minimum(highest, np.maximum(asked, lower)), highest)
        upper = np.where(np.isposinf(upper), highest, upper)
        lower = np.where(np.isneginf(lower), lowest, lower)
    return lower, upper


_HUGE = 1e300


def _others(part: Floats, rows: npt.NDArray[np.int64], n_rows: int) -> Floats:
    """Return what all entries of a row but each one add up to, shape as `part`; all endless ones have one sign."""
    endless = np.isinf(part)
    finite = np.where(endless, 0.0, part)
    rest = np.bincount(rows, endless, n_rows)[rows] - endless
    sign = np.bincount(rows, np.where(endless, np.sign(part), 0.0), n_rows)[rows]
    total = np.bincount(rows, finite, n_rows)[rows] - finite
    return np.where(rest > 0, np.copysign(np.inf, sign), total)
