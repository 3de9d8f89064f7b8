"""How good forecasts were, by lead day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.forecast.history import DAY_H
from planner.forecast.spread import LEVELS

LEAST_FOR_PCT = 1.0
"""An actual value counts as at least this much in a percentage: what is near zero would make it endless."""
CRPS_LEVELS = tuple((i + 0.5) / 40 for i in range(40))
"""Even levels at which the ranked probability score is summed."""


@dataclass(frozen=True)
class Scores:
    """Scores of one model on one signal, one value per lead day, shape (days,); NaN where there is none.

    Args:
        mape_pct: Mean of |error| over |actual| (at least 1 unit), %.
        mae: Mean |error|, in the signal's unit.
        pinball: Mean pinball loss over the levels of `planner.forecast.spread.LEVELS`, in the signal's unit.
        crps: Continuous ranked probability score, as twice the mean pinball loss at 40 even levels, in the unit.
        cover_50_pct: Share of values within the 25 to 75 % quantiles, %.
        cover_80_pct: Share within 10 to 90 %, %.
        cover_90_pct: Share within 5 to 95 %, %.
    """

    mape_pct: npt.NDArray[np.float64]
    mae: npt.NDArray[np.float64]
    pinball: npt.NDArray[np.float64]
    crps: npt.NDArray[np.float64]
    cover_50_pct: npt.NDArray[np.float64]
    cover_80_pct: npt.NDArray[np.float64]
    cover_90_pct: npt.NDArray[np.float64]


def score(
    actual: npt.NDArray[np.float64],
    points: npt.NDArray[np.float64],
    quantiles: npt.NDArray[np.float64],
    fine: npt.NDArray[np.float64],
) -> Scores:
    """Return the scores of forecasts.

    Args:
        actual: What came, NaN where it is not known, shape (m, H).
        points: Forecasts, shape (m, H).
        quantiles: Forecast quantiles at LEVELS, shape (m, levels, H); NaN where an origin has none.
        fine: Forecast quantiles at CRPS_LEVELS, shape (m, 40, H); NaN likewise.
    """
    mape_pct, mae = errors_by_day(actual, points)
    return Scores(
        mape_pct=mape_pct,
        mae=mae,
        pinball=_by_day(pinball(actual, quantiles, LEVELS).mean(axis=1)),
        crps=_by_day(2.0 * pinball(actual, fine, CRPS_LEVELS).mean(axis=1)),
        cover_50_pct=_cover(actual, quantiles, 0.25),
        cover_80_pct=_cover(actual, quantiles, 0.10),
        cover_90_pct=_cover(actual, quantiles, 0.05),
    )


def errors_by_day(
    actual: npt.NDArray[np.float64], points: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean errors of forecasts by lead day: in % as in `Scores`, and in the signal's unit, shape (days,).

    Args:
        actual: What came, NaN where it is not known, shape (m, H).
        points: Forecasts, NaN where there is none, shape (m, H).
    """
    error = np.abs(points - actual)
    return _by_day(100.0 * error / np.maximum(np.abs(actual), LEAST_FOR_PCT)), _by_day(error)


def pinball(
    actual: npt.NDArray[np.float64], quantiles: npt.NDArray[np.float64], levels: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    """Return the pinball loss of each quantile, shape (m, levels, H), in the signal's unit."""
    level = np.array(levels)[None, :, None]
    below = actual[:, None, :] - quantiles
    return np.asarray(np.maximum(level * below, (level - 1.0) * below))


def _cover(actual: npt.NDArray[np.float64], quantiles: npt.NDArray[np.float64], low: float) -> npt.NDArray[np.float64]:
    bottom, top = quantiles[:, LEVELS.index(low)], quantiles[:, len(LEVELS) - 1 - LEVELS.index(low)]
    inside = ((actual >= bottom) & (actual <= top)).astype(np.float64)
    return _by_day(np.where(np.isnan(actual) | np.isnan(bottom), np.nan, 100.0 * inside))


def _by_day(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return means over origins and the hours of each lead day, of what is known, shape (days,)."""
    days = [values[:, h : h + DAY_H] for h in range(0, values.shape[1], DAY_H)]
    return np.array([np.nanmean(day) if (~np.isnan(day)).any() else np.nan for day in days])
