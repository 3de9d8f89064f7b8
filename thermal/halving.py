"""An edge between what holds and what does not, narrowed down for a whole array at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt


def halved(
    holds: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]],
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    times: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the last points found at which something holds and the first at which it does not.

    Args:
        holds: Points of shape (...) -> whether it holds there.
        low: Points at which it holds, shape (...).
        high: Points at which it does not, shape (...), on either side of `low`.
        times: How often the span between the two is halved.

    Returns:
        Both, shape (...) each, in the points' unit; where it holds at `high` too, both come to lie there.
    """
    for _ in range(times):
        middle = 0.5 * (low + high)
        here = holds(middle)
        low, high = np.where(here, middle, low), np.where(here, high, middle)
    return low, high
