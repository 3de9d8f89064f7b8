"""Joint paths of all signals: whole error paths of the past, drawn together, give who errs with whom and for how long.

Ranks come from the past paths and values from each signal's spread (a Schaake shuffle), so that every hour keeps its
calibrated distribution and signals and hours keep their dependence.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from planner.forecast.spread import LEAST, WINDOW


def draw_shares(
    errors: Mapping[str, npt.NDArray[np.float64]],
    origins: npt.NDArray[np.int64],
    origin: int,
    n_paths: int,
    seed: int,
) -> dict[str, npt.NDArray[np.float64]]:
    """Return for each path where in its distribution each signal lies in each hour.

    Args:
        errors: Signal -> errors of past forecasts, made at the same origins, shape (m, H) each; NaN where no actual
            value came, which counts as no error.
        origins: Positions of their origins, rising, shape (m,).
        origin: The hour from which on nothing is known; only paths that ended before it are drawn.
        n_paths: Count of paths.
        seed: Changes the draw; with the same one, path i has the same past days for signals drawn apart at one origin.

    Returns:
        Signal -> shares in (0, 1), shape (n_paths, H); each hour has each of n_paths evenly spaced shares once. Fewer
        than 10 past paths give nothing.

    Source:
        Clark et al. (2004) for the shuffle; Schefzik, Thorarinsdottir and Gneiting (2013) for copulas of past errors.
    """
    horizon_h = max((e.shape[1] for e in errors.values()), default=0)
    over = np.flatnonzero(origins + horizon_h <= origin)[-WINDOW:]
    if len(over) < LEAST:
        return {}
    rng = np.random.default_rng(seed)
    # Drawn as days of a whole window, so that signals whose pasts differ, drawn apart, have the same days in a path; a
    # day that this past lacks gives way to one that it has.
    rounds = [rng.permutation(WINDOW) for _ in range(-(-n_paths // WINDOW))]
    days = np.concatenate(rounds)[:n_paths] - (WINDOW - len(over))
    drawn = over[np.where(days < 0, days % len(over), days)]
    turn = rng.permutation(n_paths)  # who comes first where a path was drawn twice: the same in all hours and signals
    shares = {}
    for signal, all_errors in errors.items():
        paths = np.nan_to_num(all_errors[drawn])
        order = np.lexsort((np.broadcast_to(turn[:, None], paths.shape), paths), axis=0)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.broadcast_to(np.arange(n_paths)[:, None], order.shape), axis=0)
        shares[signal] = (ranks + 0.5) / n_paths
    return shares
