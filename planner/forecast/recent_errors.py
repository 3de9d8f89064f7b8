"""Forecasts moved by how far the last day's were off: an hour that errs by much is followed by others that do.

Trees that forecast a whole week see how the last day was as a whole, and so begin far from the hour that is just over.
How much of the last errors is left after so many hours is fitted to the forecasts of late, by ridge regression on
fading shares of their mean over the last hour, hours and day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.forecast.history import DAY_H
from planner.forecast.spread import LEAST, WINDOW

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LAST_H = (1, 6, DAY_H)
"""Hours before the origin of which the mean error counts."""
FADES_H = (6.0, 24.0)
"""Hours after which a share of it has faded to 1/e."""
REACH_DAYS = 3
"""Days ahead that are moved."""
_RIDGE = 1e-3  # of the regressors' mean square


def moved_by_recent(points: Floats, came: Floats, origins: npt.NDArray[np.int64]) -> Floats:
    """Return forecasts with what is left of the last errors added, each from what was known at its origin alone.

    Args:
        points: Forecasts by one model, shape (m, H).
        came: What came, hour by hour from the history's start on, on the same scale, NaN where unknown, shape (n,);
            what lies at or after an origin is not looked at for that one.
        origins: Positions of the origins, rising, a day apart, shape (m,).

    Returns:
        Shape (m, H); those of the first origins, with fewer than 10 forecasts whose first day is over, as they were.
    """
    horizon_h = points.shape[1]
    if horizon_h < DAY_H:
        return points
    hours = origins[:, None] + np.arange(horizon_h)
    ahead = np.append(came, np.nan)[np.minimum(hours, len(came))]
    errors = ahead - points
    seen = _regressors(errors, horizon_h)
    days = range(min(REACH_DAYS, horizon_h // DAY_H))
    squares, products = zip(*(_sums(seen, errors, day) for day in days), strict=True)
    moved = points.copy()
    for i in range(LEAST, len(points)):
        # a day ahead of origin j is over at origin i where j + day + 1 <= i
        spans = [slice(max(0, i - day - WINDOW), max(0, i - day)) for day in days]
        square = sum(one[span].sum(axis=0) for one, span in zip(squares, spans, strict=True))
        product = sum(one[span].sum(axis=0) for one, span in zip(products, spans, strict=True))
        size = np.trace(square) / len(square)
        if size > 0.0:
            left = np.linalg.solve(square + _RIDGE * size * np.eye(len(square)), product)
            moved[i] += seen[i] @ left
    return moved


def _regressors(errors: Floats, horizon_h: int) -> Floats:
    """Return the fading shares of the last errors before each origin, shape (m, H, K); zero where none are known."""
    lead = np.arange(horizon_h)
    fading = np.exp(-(lead + 1.0) / np.array(FADES_H)[:, None]) * (lead < REACH_DAYS * DAY_H)
    last_day = np.vstack([np.full((1, DAY_H), np.nan), errors[:-1, :DAY_H]])
    recent = []
    for hours in LAST_H:
        last = last_day[:, DAY_H - hours :]
        known = ~np.isnan(last)
        recent.append(np.where(known, last, 0.0).sum(axis=1) / np.maximum(1, known.sum(axis=1)))
    return np.stack([mean[:, None] * share for mean in recent for share in fading], axis=2)


def _sums(seen: Floats, errors: Floats, day: int) -> tuple[Floats, Floats]:
    """Return the normal equations of each origin's errors of one day ahead, shapes (m, K, K) and (m, K)."""
    hours = slice(day * DAY_H, (day + 1) * DAY_H)
    known = ~np.isnan(errors[:, hours])
    x, y = seen[:, hours] * known[..., None], np.where(known, errors[:, hours], 0.0)
    return np.einsum("mha,mhb->mab", x, x), np.einsum("mha,mh->ma", x, y)
