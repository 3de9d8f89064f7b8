"""Where a curve that is not convex is best cut in two pieces that nearly are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.secants import JUMP_SHARE, hull_gap

if TYPE_CHECKING:
    import numpy.typing as npt


def best_cut(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the place at which each curve is cut so that the larger of its pieces' hull gaps is smallest.

    A longer piece has no smaller gap: from left to right the gap before the cut rises and that behind it falls, so
    where they cross is found by bisection. A jump belongs to neither piece.

    Args:
        x: Samples of each curve's argument, rising, shape (N, P).
        y: The curves at x, shape (N, P).

    Returns:
        Last x of the first piece, shape (N,).
    """
    return np.array([_cut_of_one(xs, ys) for xs, ys in zip(x, y, strict=True)])


def _cut_of_one(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    jump = np.append(np.diff(x) <= JUMP_SHARE * (x[-1] - x[0]), False)

    def gaps(last: int) -> tuple[float, float]:
        behind = last + int(jump[last])
        return hull_gap(x[: last + 1], y[: last + 1]), hull_gap(x[behind:], y[behind:])

    low, high = 0, len(x) - 1
    while high - low > 1:
        middle = (low + high) // 2
        before, after = gaps(middle)
        low, high = (low, middle) if before >= after else (middle, high)
    return float(x[min((low, high), key=lambda last: max(gaps(last)))])
