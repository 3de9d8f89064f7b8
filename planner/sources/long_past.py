"""The long past of a provider on the network, piece by piece: what is settled comes from the cache the next time.

Forecasts want months or years. A provider is asked for them from near to far, in the windows in which its past is
always asked for, until all is there, the provider has no more, or the time for it is used up. Whatever came stays in
the cache, so that the next plan goes on from there and asks for the new days alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import DataUnavailable
from planner.sources.series import FALLBACK, STALE
from planner.sources.windows import floor

if TYPE_CHECKING:
    from planner.sources.series import Series, Source

PIECE = timedelta(days=28)
BUDGET_S = 45.0
"""Longest time that all pieces of all signals of one plan may take, s."""
_LEAST_S = 2.0  # below which nothing new is begun
_TOO_LONG = "the time for it was used up, and the next plan goes on from there"


class Budget:
    """Time that is left for the long past.

    Args:
        seconds: How much there is.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        """What is left, s."""
        return self._until - time.monotonic()


@dataclass(frozen=True)
class Reached:
    """A series with its longer past.

    Args:
        series: Its rows from further back on.
        stopped: Why they begin later than was asked, or "" where they do not.
    """

    series: Series
    stopped: str


def on_network(source: Source) -> bool:
    """Return whether a source is asked over the network and keeps its answers."""
    http = getattr(source, "http", None)
    return http is not None and http.cache is not None


def reach_back(source: Source, series: Series, zone: str, first: datetime, budget: Budget) -> Reached:
    """Return a series of a provider on the network with its past from further back.

    Args:
        source: Who delivered it.
        series: What it delivered.
        zone: The zone as the provider names it.
        first: How far back, UTC; rounded down to where windows are cut.
        budget: Time for it.
    """
    wanted, end = floor(first, PIECE), series.rows.t_start.iloc[0].to_pydatetime()
    parts, stopped = [series.rows], ""
    while end > wanted and not stopped:
        start = max(wanted, floor(end - timedelta(microseconds=1), PIECE))
        stopped = _cannot(series) or ("" if budget.left_s > _LEAST_S else _TOO_LONG)
        if stopped:
            break
        try:
            piece = _hurried(source, budget.left_s).fetch(series.signal, zone, start, end)
        except DataUnavailable as error:
            stopped = error.what if budget.left_s > _LEAST_S else _TOO_LONG
            break
        rows = piece.rows[piece.rows.t_end <= end]
        if (piece.source, piece.basis, piece.unit) != (series.source, series.basis, series.unit) or rows.empty:
            stopped = f"{piece.source} has nothing that goes with it before"
            break
        parts.append(rows)
        end = start
    rows = pd.concat(parts[::-1], ignore_index=True) if len(parts) > 1 else series.rows
    return Reached(replace(series, rows=rows), stopped)


def _cannot(series: Series) -> str:
    """Return why a provider is not asked for more than it gave, or ""."""
    flags = str(series.rows["flags"].iloc[-1]).split(";")
    if FALLBACK in flags or STALE in flags:
        return "the source did not answer afresh"
    return ""


def _hurried(source: Any, left_s: float) -> Source:
    """Return the source with no more time than is left."""
    hurried: Source = replace(source, http=replace(source.http, budget_s=min(source.http.budget_s, left_s)))
    return hurried
