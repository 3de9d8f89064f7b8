"""The past of a zone as its own providers know it, as far back as a backtest needs it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from planner.errors import DataUnavailable
from planner.forecast import backtest, boosted
from planner.forecast.history import PROFILE_DAYS
from planner.forecast_history import HOUR, Past, hourly
from planner.timegrid import iso
from planner.zone_series import SPOKEN, fetch_series

if TYPE_CHECKING:
    from datetime import datetime

    from planner.sources.series import Series
    from planner.zone_feeds import Feeds

BUDGET_S = 300.0
"""Longest time that providers on the network have for the long past of one backtest, s."""


def past_of_zone(feeds: Feeds, now: datetime, first: datetime, last: datetime) -> Past:
    """Return what a zone's providers know of the span of a backtest and of the time that its forecasts look back on.

    A signal that is not known far enough back is left out, and a sentence says so.

    Args:
        feeds: The providers, and how far back from `first` they are asked where trees are fitted.
        now: The present instant.
        first: First origin, UTC.
        last: Last origin, UTC.

    Raises:
        DataUnavailable: No provider answers, or none goes back far enough.
    """
    end = last + backtest.HORIZON_H * HOUR
    least = PROFILE_DAYS + backtest.EARLIER_DAYS
    before = max(feeds.history_days, least) if boosted.available() else least
    days = before + -(-(end - first) // timedelta(days=1))
    asked = replace(feeds, history_days=days, budget_s=BUDGET_S)
    # All reach back alike: the past of a zone begins where the last of its signals begins.
    found, told = fetch_series(asked, now, end, 0, least_days=days)
    needed = first - timedelta(days=least)
    kept = {key: one for key, one in found.items() if (begin := _begin(one)) is not None and begin <= needed}
    told += [
        f"No backtest of {SPOKEN[key]}: {_known_from(one)}, and forecasts from {iso(first)} on need "
        f"{least} days before."
        for key, one in found.items()
        if key not in kept
    ]
    if not kept:
        raise DataUnavailable(
            f"no provider knows the past from {iso(needed)} on, which forecasts from {iso(first)} on need",
            why=" ".join(dict.fromkeys(told)),
            fix="run it again, which goes on from what came so far; or choose later days, or name files with --sources",
        )
    return Past(hourly(list(kept.values())), kept, tuple(dict.fromkeys(told)))


def _begin(series: Series) -> datetime | None:
    known = series.rows[series.rows["kind"] != "forecast"]
    return None if known.empty else known.t_start.iloc[0].to_pydatetime()


def _known_from(series: Series) -> str:
    begin = _begin(series)
    return f"{series.source} has only forecasts" if begin is None else f"{series.source} is known from {iso(begin)} on"
