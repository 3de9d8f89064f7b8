"""The baseline of a site by what its meter read on the days before an event."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.timegrid import local_midnight
from power.baseline_load import DAYS, ten_of_ten

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy.typing as npt

    from planner.week import Week


def measured_baseline(
    week: Week,
    by_day: Mapping[date, npt.NDArray[np.float64]],
    start: datetime,
) -> tuple[npt.NDArray[np.float64], str] | None:
    """Return the 10-of-10 baseline of the day on which an event starts, with its day-of adjustment.

    Args:
        week: All inputs.
        by_day: Local day -> import per slot of that day, kW, NaN where nothing was measured.
        start: When the event starts, UTC.

    Returns:
        Import per slot of the horizon, kW, shape (T,), and how it was made; None where fewer than ten like days, or
        the hours before the event, are not measured throughout.
    """
    day = start.astimezone(week.tz).date()
    whole = {d: kw for d, kw in by_day.items() if d < day and not np.isnan(kw).any()}
    today = by_day.get(day)
    steps = round(24.0 / week.grid.slot_h)
    first = int((start - local_midnight(day, week.tz)) / week.grid.slot)
    today_kw = np.full(steps, np.nan) if today is None else today
    found = ten_of_ten(whole, day, first, steps, today_kw=today_kw)
    if found is None or not np.isfinite(found.adjustment):
        return None
    mean_kw = np.mean([whole[d] for d in found.days], axis=0) * found.adjustment
    slots = [_step(week, t, steps) for t in week.grid.starts]
    told = (
        f"the baseline is the mean of {DAYS} like days, {found.days[-1]:%Y-%m-%d} to {found.days[0]:%Y-%m-%d}, times "
        f"{found.adjustment:.3f} for the day itself"
    )
    return np.asarray(mean_kw[slots]), told


def _step(week: Week, at: datetime, steps: int) -> int:
    local = at.astimezone(week.tz)
    since = timedelta(hours=local.hour, minutes=local.minute)
    return min(int(since / week.grid.slot), steps - 1)
