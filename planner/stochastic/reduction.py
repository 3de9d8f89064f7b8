"""Few weighted paths that stand for many: forward selection, then a shift that puts the mean of every slot in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def kept_paths(paths: Mapping[str, Floats], count: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the paths to keep, and the weight of each: that of all paths to which it is the nearest.

    Paths are chosen one by one, each so that the mean distance from all paths to the nearest chosen one becomes least.
    The distance is the Euclidean one over all hours and signals, each signal in units of its own spread.

    Args:
        paths: Signal -> its paths, equally likely, shape (N, T); path i of one belongs to path i of all.
        count: Paths to keep, at most N.

    Returns:
        Places of the paths kept, in the order in which they were chosen, shape (K,), and their weights, which add up
        to 1, shape (K,).

    Source:
        Heitsch and Roemisch (2003), fast forward selection; Dupacova, Groewe-Kuska and Roemisch (2003) for the weights.
    """
    apart = _distances(paths)
    n_paths = len(apart)
    chosen: list[int] = []
    nearest = np.full(n_paths, np.inf)
    for _ in range(min(count, n_paths)):
        cost = np.minimum(nearest[:, None], apart).mean(axis=0)
        cost[chosen] = np.inf
        best = int(np.argmin(cost))
        chosen.append(best)
        nearest = np.minimum(nearest, apart[:, best])
    owner = np.argmin(apart[:, chosen], axis=1)
    return np.array(chosen, dtype=np.int64), np.bincount(owner, minlength=len(chosen)) / n_paths


def recentred(kept: Floats, weights: Floats, mean: Floats, lowest: float) -> Floats:
    """Return paths shifted in every slot so that their weighted mean is a given one.

    Costs are nearly linear in prices and intensities, so that a mean that few paths hit by chance would count for more
    than all that they tell about the spread.

    Args:
        kept: The paths kept, shape (K, T).
        weights: Their weights, shape (K,).
        mean: The mean that they are to have, shape (T,).
        lowest: No value goes below it.

    Returns:
        Shape (K, T); where a value had to stop at the lowest, the mean of its slot is a little higher. Slots in which
        all paths agree stay as they are to the last bit: they have passed.
    """
    return np.where((kept == kept[0]).all(axis=0), kept, np.maximum(kept + (mean - weights @ kept), lowest))


def _distances(paths: Mapping[str, Floats]) -> Floats:
    squares = 0.0
    for values in paths.values():
        off = values - values.mean(axis=0)
        spread = float((off**2).mean())
        if spread > 0.0:
            lengths = (off**2).sum(axis=1)
            squares = squares + (lengths[:, None] + lengths[None, :] - 2.0 * off @ off.T) / spread
    n_paths = len(next(iter(paths.values())))
    return np.sqrt(np.maximum(np.zeros((n_paths, n_paths)) + squares, 0.0))
