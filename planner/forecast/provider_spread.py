"""How far a provider's own forecasts of late were off: the errors that lie around its forecast as far as it goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.forecast.bridge import FADE_H, provider_weight
from planner.forecast.history import DAY_H
from planner.forecast.spread import LEAST, Spread, spread_at


@dataclass(frozen=True)
class ProviderSpread:
    """What is known of a provider's errors to come.

    Args:
        spread: By lead, in the signal's unit, of the first hours ahead.
        weight: How much it counts against our own errors in each hour, shape (H,); 0 where too little is known.
    """

    spread: Spread
    weight: npt.NDArray[np.float64]

    def offsets(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the errors at shares of their distribution, shape (L, H); 0 where too little is known."""
        out = np.zeros_like(shares)
        known_h = len(self.spread.size)
        out[:, :known_h] = self.spread.offsets(shares[:, :known_h])
        return out


def provider_spread(
    provider: npt.NDArray[np.float64], past_errors: npt.NDArray[np.float64], fade_h: int = FADE_H
) -> ProviderSpread | None:
    """Return the errors of a provider's forecasts as issued, of the lead days of which enough is known, or None.

    Args:
        provider: Its forecast, NaN after its end, shape (H,).
        past_errors: Actual less forecast of those it issued before, as they would be corrected now, by lead, NaN where
            unknown, shape (m, H).
        fade_h: Hours over which it gives way to ours before its end.
    """
    horizon_h = len(provider)
    known_h = 0
    while known_h < horizon_h:
        day = past_errors[:, known_h : known_h + DAY_H]
        if (~np.isnan(day).all(axis=1)).sum() < LEAST:
            break
        known_h = min(known_h + DAY_H, horizon_h)
    if not known_h:
        return None
    over = -horizon_h - DAY_H * np.arange(len(past_errors), 0, -1, dtype=np.int64)  # all of them have come
    spread = spread_at(past_errors[:, :known_h], over, 0)
    if spread is None:
        return None
    weight = np.where(np.isnan(provider), 0.0, provider_weight(provider, fade_h))
    weight[known_h:] = 0.0
    return ProviderSpread(spread, weight)
