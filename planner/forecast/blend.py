"""The robust blend: a profile of 28 days and what the last day differs from it, fading."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.forecast.history import PROFILE_DAYS, ahead, profiles, steady

NAME = "robust-blend/1"
"""Model and version."""

# Measured on hourly carbon intensity and prices of six zones, 2021-2023: the day's mean anomaly lasts for days, its
# shape for hours.
_LEVEL_WEIGHT = 0.7
_LEVEL_FADE_H = 48.0
_SHAPE_WEIGHT = 0.6
_SHAPE_FADE_H = 10.0


def blend_paths(
    values: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], horizon_h: int, days: int = PROFILE_DAYS
) -> npt.NDArray[np.float64]:
    """Return the profile by hour, plus the last day's mean anomaly and its shape, both fading with lead.

    An hour of the day that had one value on all days of the profile keeps it: a sunny day gives no sun at night.

    Args:
        values: One value per hour, without NaN, shape (n,).
        origins: First hours that are not known yet, each at least `days` days in, shape (m,).
        horizon_h: Hours ahead.
        days: Days of the profile.

    Returns:
        Shape (m, horizon_h).
    """
    profile = profiles(values, origins, days)
    anomaly = profiles(values, origins, 1) - profile
    level = anomaly.mean(axis=1, keepdims=True)
    lead = np.arange(horizon_h)
    usual = ahead(profile, horizon_h)
    path = (
        usual
        + _LEVEL_WEIGHT * np.exp(-lead / _LEVEL_FADE_H) * level
        + _SHAPE_WEIGHT * np.exp(-lead / _SHAPE_FADE_H) * ahead(anomaly - level, horizon_h)
    )
    return np.where(ahead(steady(values, origins, days), horizon_h), usual, path)
