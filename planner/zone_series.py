"""The series that a zone's forecast is made from, as far back as its sources know them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from planner.errors import ConfigError, DataUnavailable
from planner.far_past import SPREAD_DAYS
from planner.forecast import boosted
from planner.forecast.history import MARGINAL, PROFILE_DAYS, WEATHER
from planner.forecast.issued import WITH_TREES
from planner.forecast.yields import SOLAR_YIELD, WIND_YIELD
from planner.forecast_history import HOUR, signal_key
from planner.sources.csv_file import CsvFile
from planner.sources.long_past import Budget, on_network, reach_back
from planner.sources.series import STALE, SYNTHETIC

if TYPE_CHECKING:
    from planner.sources.series import Series
    from planner.zone_feeds import Feed, Feeds

_EVER = datetime(1970, 1, 1, tzinfo=UTC)
SPOKEN = {
    "carbon": "average carbon intensity",
    MARGINAL: "marginal carbon intensity",
    "price": "price",
    "dry_bulb": "dry bulb",
    "wet_bulb": "wet bulb",
    "ghi": "sunshine on the level",
    "wind_speed_100m": "wind at 100 m",
    "wind_speed_10m": "wind at 10 m",
    "cloud_cover": "cloud cover",
    SOLAR_YIELD: "solar yield",
    WIND_YIELD: "wind yield",
}
"""Each signal in a sentence, in the order in which they are shown."""


def fetch_series(
    feeds: Feeds, now: datetime, origin: datetime | None, horizon_h: int
) -> tuple[dict[str, Series], list[str]]:
    """Return what a zone's sources know, by signal, and sentences about what they do not.

    Args:
        feeds: The sources.
        now: The present instant.
        origin: First hour ahead, UTC; this hour where None.
        horizon_h: Hours ahead.

    Raises:
        ConfigError: Two sources give one signal.
        DataUnavailable: None of them knows anything.
    """
    at = origin or this_hour(now)
    found: dict[str, Series] = {}
    labels: list[str] = []
    failures: list[DataUnavailable] = []
    budget = Budget(feeds.budget_s)
    for feed in feeds.feeds:
        for signal in feed.signals:
            try:
                series = _fetched(feed, signal, feeds.history_days, at, horizon_h, budget, labels)
            except DataUnavailable as error:
                failures.append(error)
                labels.append(f"No forecast of {SPOKEN.get(signal, signal)}: {error.what}.")
                continue
            key = signal_key(series)
            if key in found:
                raise ConfigError(f"{SPOKEN[key]} is given twice", fix="leave it out of one of the sources")
            found[key] = series
    if not found:
        raise (
            failures[0]
            if failures
            else DataUnavailable(
                "no source serves the zone", why="none is listed, or keys are missing", fix="see gridpace sources"
            )
        )
    return found, labels


def _fetched(
    feed: Feed, signal: str, days: int, at: datetime, horizon_h: int, budget: Budget, labels: list[str]
) -> Series:
    first, last = at - timedelta(days=days), at + horizon_h * HOUR
    link = feed.chain.links[0]
    near = max(first, at - timedelta(days=PROFILE_DAYS)) if on_network(link.source) else first
    if isinstance(link.source, CsvFile):
        near = _EVER  # a file may end long ago, and then the forecast begins there
    series = feed.chain.fetch(signal, near, last)
    key = signal_key(series)
    labels += series.told
    flags = {flag for text in series.rows["flags"].unique() for flag in text.split(";")}
    if SYNTHETIC in flags:
        labels.append(f"Synthetic data: {series.source} is made up, not measured.")
    if STALE in flags:
        labels.append(f"Stale data: {SPOKEN[key]} of {series.source} is the last good answer.")
    if not on_network(link.source):
        return series
    fitted = boosted.available() and (key in WITH_TREES or key in WEATHER)
    wanted = days if fitted else min(days, SPREAD_DAYS)
    reached = reach_back(link.source, series, link.zone, at - timedelta(days=wanted), budget)
    if reached.stopped:
        known = (at - reached.series.rows.t_start.iloc[0].to_pydatetime()) // timedelta(days=1)
        labels.append(
            f"The forecast of {SPOKEN[key]} sees {known} of {wanted} days of {series.source}: {reached.stopped}."
        )
    return reached.series


def this_hour(now: datetime) -> datetime:
    """Return the start of the hour that an instant lies in."""
    return now.replace(minute=0, second=0, microsecond=0)
