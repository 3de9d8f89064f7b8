"""How far forecasts of late were off: rolling conformal intervals, by lead day and hour.

A forecast's error is taken as one of the errors of the last 60 forecasts whose lead day is over, relative to how much
its hour errs. Nothing is assumed of their distribution, and quantiles of one set of errors cannot cross.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.forecast.history import DAY_H

LEVELS = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95)
"""Levels of the quantiles that every forecast has."""
WINDOW = 60
"""Forecasts of the past that count, for each lead day."""
LEAST = 10
"""Forecasts of the past below which nothing is said about errors."""
_HOUR_WEIGHT = 0.5  # an hour's own mean error against that of its lead day: 60 errors alone are noisy


@dataclass(frozen=True)
class Spread:
    """What is known at one origin about the errors to come, on the signal's scale.

    Args:
        size: Mean absolute error of each hour ahead, shape (H,); zero where none of the forecasts erred, as at night
            of the sun.
        relative: Errors over their hour's size of each lead day, rising.
        origins: Count of forecasts that stand behind the least of them.
    """

    size: npt.NDArray[np.float64]
    relative: tuple[npt.NDArray[np.float64], ...]
    origins: int

    def offsets(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the errors at shares of their distribution, shape (L, H), of shares of shape (L, H) in [0, 1]."""
        # Hours of a day err alike, so that a day counts as one draw: the usual correction for few draws.
        wide = np.clip(0.5 + (shares - 0.5) * (self.origins + 1) / self.origins, 0.0, 1.0)
        out = np.empty_like(wide)
        for day, errors in enumerate(self.relative):
            hours = slice(day * DAY_H, min((day + 1) * DAY_H, out.shape[1]))
            out[:, hours] = np.interp(wide[:, hours], np.linspace(0.0, 1.0, len(errors)), errors)
        return out * self.size


def spread_at(errors: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], origin: int) -> Spread | None:
    """Return what is known at an origin of the errors of forecasts made before it, or None where they are too few.

    Args:
        errors: Actual less forecast of each, on the signal's scale, shape (m, H); NaN where no actual value came. What
            lies at or after `origin` is not looked at.
        origins: Positions of their origins, rising, shape (m,).
        origin: The hour from which on nothing is known.
    """
    horizon_h = errors.shape[1]
    n_days = -(-horizon_h // DAY_H)
    size, relative, fewest = np.empty(horizon_h), [], WINDOW
    for day in range(n_days):
        hours = slice(day * DAY_H, min((day + 1) * DAY_H, horizon_h))
        over = errors[origins + hours.stop <= origin, hours][-WINDOW:]
        over = over[~np.isnan(over).all(axis=1)]
        if len(over) < LEAST:
            return None
        missing = np.isnan(over)
        magnitude = np.where(missing, 0.0, np.abs(over))
        whole = magnitude.sum() / max(1, (~missing).sum())
        by_hour = magnitude.sum(axis=0) / np.maximum(1, (~missing).sum(axis=0))
        errs = (by_hour > 0.0) | missing.all(axis=0)
        size[hours] = np.where(errs, _HOUR_WEIGHT * by_hour + (1.0 - _HOUR_WEIGHT) * whole, 0.0)
        counted = ~missing & errs
        scaled = over[counted] / np.broadcast_to(size[hours], over.shape)[counted]
        relative.append(np.sort(scaled) if len(scaled) else np.zeros(1))
        fewest = min(fewest, len(over))
    return Spread(size, tuple(relative), fewest)
