"""Whole numbers besides gangs and pools, such as the units of generators that run: settled for given gangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix

GAP = 1e-4
NODES = 200  # a count, so that a plan does not depend on the machine
TIME_SHARE = 0.25  # of the time left: what is settled without the time to power it is no plan


def settle(
    matrix: Matrix,
    side: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    deadline: float,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Return the columns to fix and their values, with those of `side` that are open settled at their best.

    Args:
        matrix: The program.
        side: Whole columns that must be fixed too, shape (S,).
        columns: Columns that are fixed, shape (C,).
        values: Their values, whole, shape (C,).
        deadline: Reading of the monotonic clock at which to give up.

    Returns:
        All columns and values, or None if the fixed ones leave no solution or no time.
    """
    open_ones = np.setdiff1d(side, columns)
    if not open_ones.size:
        return columns, values
    whole = np.zeros(matrix.n_columns, dtype=bool)
    whole[open_ones] = True
    highs = Highs(matrix.with_whole(whole), whole=True, mip_rel_gap=GAP, mip_max_nodes=NODES)
    highs.bound_columns(columns, values, values)
    answer = highs.run(TIME_SHARE * seconds_left(deadline))
    if answer.values is None:
        return None
    return np.append(columns, open_ones), np.append(values, np.round(answer.values[open_ones]))
