"""Hourly values of the past, and what was known of them when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from planner.errors import GapInSeries
from planner.timegrid import iso

DAY_H = 24
PROFILE_DAYS = 28
"""Days that a profile looks back."""
PROFILE_H = PROFILE_DAYS * DAY_H
WEATHER = ("dry_bulb", "wind_speed_100m", "wind_speed_10m", "cloud_cover", "ghi")
"""Signals that help to forecast carbon intensity and price; a provider knows them ahead."""
MARGINAL = "carbon_marginal"
"""Marginal carbon intensity, a signal of its own: it is never averaged into, or mixed with, `carbon`."""
_Value = TypeVar("_Value", np.float64, np.bool_)
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True)
class History:
    """Signals of one zone on one row of hours.

    Args:
        start: Start of the first hour, UTC.
        signals: Name -> value of each hour in its unit of `planner.sources.series.SIGNALS`, shape (n,); NaN where it
            is not known.
    """

    start: datetime
    signals: Mapping[str, npt.NDArray[np.float64]]

    def __post_init__(self) -> None:
        for value in self.signals.values():
            value.setflags(write=False)
        object.__setattr__(self, "signals", MappingProxyType(dict(self.signals)))

    def __reduce__(self) -> tuple[type[History], tuple[datetime, dict[str, npt.NDArray[np.float64]]]]:
        """Return how worker processes get a copy: a mapping proxy does not travel by itself."""
        return History, (self.start, dict(self.signals))

    @property
    def n_hours(self) -> int:
        """Count of hours."""
        return len(next(iter(self.signals.values())))

    @property
    def weather(self) -> dict[str, npt.NDArray[np.float64]]:
        """The signals that help to forecast others, by name."""
        return {name: self.signals[name] for name in WEATHER if name in self.signals}

    def at(self, hour: int) -> datetime:
        """Return the start of the hour at a position, UTC."""
        return self.start + timedelta(hours=hour)

    def position(self, t: datetime) -> int:
        """Return the position of the hour in which the instant lies; it may lie outside."""
        return int((t - self.start) // timedelta(hours=1))


def filled(values: npt.NDArray[np.float64], subject: str, start: datetime) -> npt.NDArray[np.float64]:
    """Return the values with each missing hour taken from the same hour of the day before; nothing looks ahead.

    Args:
        values: One value per hour, NaN where there is none, shape (n,).
        subject: What the series is, for the error.
        start: Start of the first hour, for the error.

    Returns:
        Shape (n,), never NaN.

    Raises:
        GapInSeries: The first day has missing hours.
    """
    if np.isnan(values[:DAY_H]).any():
        raise GapInSeries(
            f"{subject} has missing hours in its first day, from {iso(start)} on",
            why="a missing hour is taken from the day before, and there is none",
            fix="begin with the first whole day",
        )
    out = values.copy()
    for i in np.flatnonzero(np.isnan(values)):
        out[i] = out[i - DAY_H]
    return out


def profiles(
    values: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], days: int = PROFILE_DAYS, *, median: bool = True
) -> npt.NDArray[np.float64]:
    """Return the middle of each hour of the day over the days before each origin.

    Args:
        values: One value per hour, without NaN, shape (n,).
        origins: First hours that are not known yet, each at least `days` days in, shape (m,).
        days: Days looked back.
        median: Whether the middle is the median, else the mean.

    Returns:
        Shape (m, 24), the first being the hour of the origin.
    """
    by_day = _by_day(values, origins, days)
    return np.asarray(np.median(by_day, axis=1) if median else by_day.mean(axis=1))


def steady(values: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], days: int) -> npt.NDArray[np.bool_]:
    """Return which hours of the day had one value on all days before each origin, as the sun has at night.

    Args:
        values: One value per hour, without NaN, shape (n,).
        origins: First hours that are not known yet, each at least `days` days in, shape (m,).
        days: Days looked back.

    Returns:
        Shape (m, 24), the first being the hour of the origin.
    """
    by_day = _by_day(values, origins, days)
    return np.asarray((by_day == by_day[:, :1]).all(axis=1))


def _by_day(values: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], days: int) -> npt.NDArray[np.float64]:
    """Return the days before each origin, shape (m, days, 24)."""
    past = np.lib.stride_tricks.sliding_window_view(values, days * DAY_H)[origins - days * DAY_H]
    return np.asarray(past.reshape(len(origins), days, DAY_H))


def ahead(by_hour: npt.NDArray[_Value], horizon_h: int) -> npt.NDArray[_Value]:
    """Return values of 24 hours, shape (m, 24), repeated over a horizon, shape (m, horizon_h)."""
    return np.tile(by_hour, (1, -(-horizon_h // DAY_H)))[:, :horizon_h]


def calendar(start: datetime, hours: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
    """Return hour of the day, day of the week (Monday is 0) and day of the year of hours counted from `start`, UTC."""
    stamps = np.datetime64(start.replace(tzinfo=None), "h") + hours.astype("timedelta64[h]")
    days = stamps.astype("datetime64[D]")
    hour = (stamps - days).astype(np.int64)
    weekday = (days.astype(np.int64) + _EPOCH_WEEKDAY) % 7
    return hour, weekday, (days - days.astype("datetime64[Y]")).astype(np.int64)
