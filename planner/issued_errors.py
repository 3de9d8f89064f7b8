"""How far the forecasts were off that a provider issued before, as they were issued."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.forecast_history import hour_means

if TYPE_CHECKING:
    from datetime import datetime

    import numpy.typing as npt

    from planner.sources.issued import IssuedForecasts
    from planner.sources.series import Series

MOST = 28
"""Forecasts of the past that count, one a day."""


def issued_errors(issued: IssuedForecasts, series: Series, horizon_h: int) -> npt.NDArray[np.float64]:
    """Return actual less forecast of the last forecast that the provider issued on each of the last days.

    Args:
        issued: Forecasts as they were issued.
        series: What the provider says now; its rows that are no forecasts say what came.
        horizon_h: Hours ahead.

    Returns:
        Shape (m, horizon_h), the first column being the first whole hour after the forecast was known; NaN where
        nothing was forecast or nothing has come yet.
    """
    came = series.rows[series.rows["kind"] != "forecast"]
    if came.empty:
        return np.empty((0, horizon_h))
    end = came.t_end.iloc[-1]
    last_of_day: dict[str, datetime] = {
        f"{known_at:%Y-%m-%d}": known_at
        for known_at, source in issued.issues(series.signal, series.zone)
        if source == series.source and pd.Timestamp(known_at) + timedelta(hours=1) <= end
    }
    errors = []
    for known_at in list(last_of_day.values())[-MOST:]:
        then = issued.as_issued(series.signal, series.zone, known_at, source=series.source, basis=series.basis)
        if then is not None:
            first = pd.Timestamp(known_at).ceil("h").to_pydatetime()
            errors.append(hour_means(came, first, horizon_h) - hour_means(then.rows, first, horizon_h))
    return np.array(errors).reshape(-1, horizon_h)
