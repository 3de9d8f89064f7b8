"""The yardstick: the same hour a week before."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.forecast.history import DAY_H

WEEK_H = 7 * DAY_H


def naive_paths(
    values: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], horizon_h: int
) -> npt.NDArray[np.float64]:
    """Return for each origin the last week before it, repeated.

    Args:
        values: One value per hour, without NaN, shape (n,).
        origins: First hours that are not known yet, each at least a week in, shape (m,).
        horizon_h: Hours ahead.

    Returns:
        Shape (m, horizon_h).
    """
    week = np.lib.stride_tricks.sliding_window_view(values, WEEK_H)[origins - WEEK_H]
    return np.tile(week, (1, -(-horizon_h // WEEK_H)))[:, :horizon_h]
