"""Readings by the clock hour, as ASHRAE Guideline 14 has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

FULL_ENOUGH = 0.5  # of the readings of the fullest hour, below which an hour's mean says too little


class Hours(NamedTuple):
    """Means of several series over clock hours.

    Args:
        readings: Number of readings in each hour, shape (H,).
        means: Mean of each series in each hour, each of shape (H,).
    """

    readings: npt.NDArray[np.int64]
    means: tuple[npt.NDArray[np.float64], ...]


def by_hour(time: npt.NDArray[np.datetime64], *series: npt.NDArray[np.float64]) -> Hours:
    """Return the means of each clock hour over the readings that all series have.

    Args:
        time: Instants, shape (N,).
        series: Values at them, each of shape (N,); not a number where there is none.

    Returns:
        The hours in their order, less those in which most readings are missing.
    """
    there = np.logical_and.reduce([np.isfinite(values) for values in series])
    hours, of = np.unique(time[there].astype("datetime64[h]"), return_inverse=True)
    counts = np.bincount(of, minlength=len(hours))
    full = counts >= FULL_ENOUGH * counts.max(initial=0)
    return Hours(counts[full], tuple((np.bincount(of, v[there], len(hours)) / counts)[full] for v in series))
