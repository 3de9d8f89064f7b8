"""The decimals that files carry: what is published is rounded to them, and what is below them is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

DECIMALS = 6
LAST = 10.0**-DECIMALS
"""One of the last decimal; a solver's zero too."""
ROUNDING = 10.0 * LAST
"""What a sum of several figures of a file may be off by, each with its last decimal rounded."""


def published(values: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """Return a series as files carry it, shape (T,); zeros have no sign."""
    return tuple((np.round(values, DECIMALS) + 0.0).tolist())


def without_noise(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values rounded to the last decimal, and 0 where they are less than one of it."""
    return np.asarray(np.round(np.where(np.abs(values) < LAST, 0.0, values), DECIMALS), dtype=np.float64)


def rounded_down(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values rounded down to the last decimal."""
    return np.asarray(np.round(np.floor(values / LAST) * LAST, DECIMALS), dtype=np.float64)
