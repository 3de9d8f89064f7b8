"""What a site would have drawn without an event: the customer baseline that delivery is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

DAYS = 10
LOOK_BACK_DAYS = 45
ADJUST_FROM_H = 4.0
ADJUST_TO_H = 1.0
MOST_CHANGE = 0.2
"""The day-of adjustment moves the baseline by a fifth at most, either way."""
SATURDAY = 5


@dataclass(frozen=True)
class LoadBaseline:
    """The baseline of one event.

    Args:
        import_kw: Import without the event, kW, per step of the event, shape (N,).
        days: Days whose mean it is.
        adjustment: Factor that the day's own hours before the event put on that mean.
    """

    import_kw: npt.NDArray[np.float64]
    days: tuple[date, ...]
    adjustment: float


def like_days(event_day: date, known: Sequence[date], left_out: Sequence[date] = ()) -> tuple[date, ...]:
    """Return the ten days before an event that are like its day: working days, or days of a weekend.

    Args:
        event_day: Local day on which the event starts.
        known: Days with measured import throughout.
        left_out: Days with an event of their own, or a holiday.

    Returns:
        Up to ten days, the latest first.
    """
    weekend = event_day.weekday() >= SATURDAY
    have = set(known) - set(left_out)
    back = (event_day - timedelta(days=n) for n in range(1, LOOK_BACK_DAYS + 1))
    return tuple(day for day in back if day in have and (day.weekday() >= SATURDAY) == weekend)[:DAYS]


def ten_of_ten(
    measured: Mapping[date, npt.NDArray[np.float64]],
    event_day: date,
    first: int,
    after: int,
    *,
    today_kw: npt.NDArray[np.float64],
    left_out: Sequence[date] = (),
) -> LoadBaseline | None:
    """Return the 10-of-10 baseline with its day-of adjustment.

    The mean of the last ten like days, times what the event's own day drew over what they drew from four hours to one
    hour before the event, within 0.8 and 1.2. The hour before the event does not count: a site that knows what is
    coming may already be moving.

    Args:
        measured: Local day -> import per step from its midnight, kW, all of the same length.
        event_day: Local day on which the event starts.
        first: First step of the event, counted from that day's midnight.
        after: The step after its last, at most the day's end.
        today_kw: Import of the event's day up to the event at least, kW, shape (steps of a day,).
        left_out: Days with an event of their own, or a holiday.

    Returns:
        The baseline, or None where fewer than ten like days are known.

    Source: the 10-of-10 method with same-day adjustment of the North American system operators, as in NAESB's business
        practice standards for measurement and verification of demand response (2010); for working days and weekends.
    """
    days = like_days(event_day, list(measured), left_out)
    if len(days) < DAYS:
        return None
    mean_kw = np.mean([measured[day] for day in days], axis=0)
    steps_per_h = len(mean_kw) / 24.0
    window = slice(max(0, round(first - ADJUST_FROM_H * steps_per_h)), max(0, round(first - ADJUST_TO_H * steps_per_h)))
    usual_kw, drawn_kw = float(mean_kw[window].sum()), float(today_kw[window].sum())
    asked = drawn_kw / usual_kw if usual_kw > 0.0 else 1.0
    adjustment = min(max(asked, 1.0 - MOST_CHANGE), 1.0 + MOST_CHANGE)
    return LoadBaseline(np.asarray(mean_kw[first:after] * adjustment), days, adjustment)
