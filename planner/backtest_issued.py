"""Forecasts of providers as they were issued, scored beside our own on the hours that they cover."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.forecast.backtest import HORIZON_H
from planner.forecast.scores import errors_by_day
from planner.forecast_history import hour_means

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.forecast.backtest import Backtest
    from planner.forecast_history import Past
    from planner.sources.issued import IssuedForecasts
    from planner.sources.series import Series

FRESH = timedelta(days=1)
"""Age from which on a forecast says nothing of an origin: each counts for one origin, by its own leads."""


@dataclass(frozen=True)
class Errors:
    """Mean errors of one model by lead day, shape (days,); NaN where there is none.

    Args:
        model: The model, or the provider as its series name it.
        mape_pct: As in `planner.forecast.scores.Scores`, %.
        mae: In the signal's unit.
    """

    model: str
    mape_pct: npt.NDArray[np.float64]
    mae: npt.NDArray[np.float64]


@dataclass(frozen=True)
class AsIssued:
    """How the forecasts that a provider issued did, and our own on the same hours.

    Args:
        signal: The signal.
        issues: Forecasts that count.
        hours: Hours that they cover and that are known.
        errors: The provider's, then those of each of our models.
    """

    signal: str
    issues: int
    hours: int
    errors: tuple[Errors, ...]


def score_issued(issued: IssuedForecasts, past: Past, found: Backtest) -> tuple[AsIssued, ...]:
    """Return how providers did of whom forecasts are kept; nothing of the others.

    Args:
        issued: Forecasts as they were issued.
        past: What came, and who told it: a provider is scored on what it says itself came.
        found: Our own forecasts.
    """
    scored = [_scored(issued, past, found, signal) for signal in found.signals]
    return tuple(one for one in scored if one is not None)


def issued_points(
    issued: IssuedForecasts, series: Series, origins: Sequence[datetime], horizon_h: int
) -> npt.NDArray[np.float64]:
    """Return what a provider's newest forecast said at each origin.

    Args:
        issued: Forecasts as they were issued.
        series: What it says of the signal.
        origins: Instants at which they must be known and not a day old, UTC.
        horizon_h: Hours ahead.

    Returns:
        Shape (origins, horizon_h); NaN where nothing was forecast.
    """
    points = np.full((len(origins), horizon_h), np.nan)
    known = [at for at, source in issued.issues(series.signal, series.zone) if source == series.source]
    for i, origin in enumerate(origins):
        newest = bisect_right(known, origin)
        if not newest or origin - known[newest - 1] >= FRESH:
            continue
        then = issued.as_issued(series.signal, series.zone, origin, source=series.source, basis=series.basis)
        if then is None or then.fetched_at is None or origin - then.fetched_at >= FRESH or then.unit != series.unit:
            continue  # what is that new is of another basis
        points[i] = hour_means(then.rows, origin, horizon_h)
    return points


def _scored(issued: IssuedForecasts, past: Past, found: Backtest, signal: str) -> AsIssued | None:
    series = past.series[signal]
    if series.fetched_at is None:  # a file issues nothing
        return None
    told = issued_points(issued, series, found.origins, HORIZON_H)
    starts = np.array([past.history.position(origin) for origin in found.origins])
    came = past.history.signals[signal][starts[:, None] + np.arange(HORIZON_H)]
    covered = ~np.isnan(told) & ~np.isnan(came)
    if not covered.any():
        return None
    models = [(series.source, told), *((one.model, one.points) for one in found.scored if one.signal == signal)]
    return AsIssued(
        signal=signal,
        issues=int(covered.any(axis=1).sum()),
        hours=int(covered.sum()),
        errors=tuple(Errors(name, *errors_by_day(came, np.where(covered, points, np.nan))) for name, points in models),
    )
