"""Made-up hours of a zone for tests of forecasts: wind drives carbon intensity, days and weeks have their shape."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from scipy.signal import lfilter

from planner.forecast.backtest import Backtest, Scored
from planner.forecast.history import History

START = datetime(2023, 1, 2, tzinfo=UTC)  # a Monday


def made_up(days: int, seed: int = 0) -> History:
    """Return a zone of some days: carbon, price, dry bulb and wind."""
    rng = np.random.default_rng(seed)
    h = np.arange(days * 24)
    wind = np.exp(2.0 + 0.5 * lfilter([0.2], [1.0, -0.98], rng.standard_normal(len(h))))
    dry_bulb = 10.0 + 5.0 * np.sin(2 * np.pi * (h - 9) / 24) + lfilter([0.3], [1.0, -0.95], rng.standard_normal(len(h)))
    carbon = 350.0 + 60.0 * np.sin(2 * np.pi * (h - 14) / 24) - 15.0 * wind + 8.0 * rng.standard_normal(len(h))
    price = 0.0002 * (carbon - 150.0) + 0.01 * rng.standard_normal(len(h))
    return History(
        START,
        {"carbon": np.maximum(carbon, 20.0), "price": price, "dry_bulb": dry_bulb, "wind_speed_10m": wind},
    )


def scored(found: Backtest, signal: str, model: str) -> Scored:
    """Return the scores of a model on a signal."""
    return next(one for one in found.scored if (one.signal, one.model) == (signal, model))
