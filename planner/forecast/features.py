"""What the boosted trees see of an hour ahead: the recent past of the signal, the calendar, and the weather ahead."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import numpy.typing as npt

from planner.forecast.history import PROFILE_DAYS, ahead, calendar, profiles
from planner.forecast.lead_error import with_lead_error
from planner.forecast.naive import naive_paths

_SMOOTH_H = (6, 24)


def features(
    start: datetime,
    values: npt.NDArray[np.float64],
    weather: Mapping[str, npt.NDArray[np.float64]],
    origins: npt.NDArray[np.int64],
    horizon_h: int,
    seed: int | None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Return the features of each hour ahead of each origin, and the profile that the trees add to.

    Args:
        start: Start of the first hour, UTC.
        values: The signal, one value per hour, without NaN, shape (n,); nothing from an origin on is looked at.
        weather: Weather by name, one value per hour, also ahead of the origins, shape (n,) each.
        origins: First hours that are not known yet, shape (m,).
        horizon_h: Hours ahead.
        seed: Of the errors that are laid on the weather ahead; None where it is a forecast already.

    Returns:
        Features, shape (m x horizon_h, features), and profiles, shape (m, horizon_h).
    """
    shape = (len(origins), horizon_h)
    hours = origins[:, None] + np.arange(horizon_h)
    profile = profiles(values, origins)
    last_week = profiles(values, origins, 7, median=False)
    last_day = profiles(values, origins, 1)
    three_days = profiles(values, origins, 3, median=False)
    columns = [
        np.broadcast_to(np.arange(horizon_h), shape),
        *calendar(start, hours),
        ahead(profile, horizon_h),
        ahead(last_week - profile, horizon_h),
        ahead(last_day - profile, horizon_h),
        *(np.broadcast_to((past - profile).mean(axis=1)[:, None], shape) for past in (last_day, three_days, last_week)),
        naive_paths(values, origins, horizon_h) - ahead(profile, horizon_h),
    ]
    for name, series in weather.items():
        by_hour = profiles(series, origins, PROFILE_DAYS, median=False)
        usual = ahead(by_hour, horizon_h)
        past = np.broadcast_to((profiles(series, origins, 1) - by_hour).mean(axis=1)[:, None], shape)
        seen = series[hours]
        if seed is not None:
            seen = with_lead_error(name, seen, origins, seed)
        daily = _smoothed(seen, _SMOOTH_H[1])
        columns += [seen, _smoothed(seen, _SMOOTH_H[0]), daily, daily - usual, seen - usual, past]
    return np.stack([column.ravel() for column in columns], axis=1).astype(np.float32), ahead(profile, horizon_h)


def _smoothed(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Return centred means over `width` hours, narrower at both ends, along each row."""
    n = values.shape[1]
    total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    i = np.arange(n)
    first, end = np.maximum(0, i - width // 2), np.minimum(n, i + (width + 1) // 2)
    return np.asarray((total[:, end] - total[:, first]) / (end - first))
