"""What a forecast is worth to a planner: how much of the saving of perfect foresight a choice made on it keeps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.forecast.history import DAY_H


def kept_share(
    actual: npt.NDArray[np.float64], forecast: npt.NDArray[np.float64], picks: int, step_h: int = 1
) -> float | None:
    """Return the share of the oracle's saving that the lowest steps by a forecast keep.

    The saving is that of the mean over the chosen steps against the mean over all; sums over origins are compared, so
    that weeks with nothing to save do not count.

    Args:
        actual: What came, shape (m, H); an origin with NaN is left out.
        forecast: What was forecast, shape (m, H).
        picks: Steps to choose.
        step_h: Hours of a step, such as 24 for days.

    Returns:
        The share, at most 1 and below 0 where the choice is worse than none; None where nothing could be saved.
    """
    whole = ~np.isnan(actual).any(axis=1)
    n_steps = actual.shape[1] // step_h
    came, seen = (a[whole, : n_steps * step_h].reshape(-1, n_steps, step_h).mean(axis=2) for a in (actual, forecast))
    chosen = np.take_along_axis(came, np.argsort(seen, axis=1, kind="stable")[:, :picks], axis=1).mean(axis=1)
    best = np.sort(came, axis=1)[:, :picks].mean(axis=1)
    usual = came.mean(axis=1)
    return share_of(usual - chosen, usual - best)


def share_of(saved: npt.NDArray[np.float64], possible: npt.NDArray[np.float64]) -> float | None:
    """Return what is saved over what could be saved: sums are compared, so that each case counts by its size.

    Args:
        saved: What each case saves, shape (m,).
        possible: What perfect foresight saves in it, shape (m,).

    Returns:
        The share, below 0 where more is lost than saved; None where nothing could be saved.
    """
    whole = float(possible.sum())
    return float(saved.sum()) / whole if whole > 0.0 else None


def best_days(actual: npt.NDArray[np.float64], forecast: npt.NDArray[np.float64]) -> float | None:
    """Return the share kept by the best 3 of 7 days; arguments as for `kept_share`."""
    return kept_share(actual, forecast, 3, DAY_H)


def best_hours(actual: npt.NDArray[np.float64], forecast: npt.NDArray[np.float64]) -> float | None:
    """Return the share kept by the best half of all hours (84 of 168); arguments as for `kept_share`."""
    return kept_share(actual, forecast, actual.shape[1] // 2)
