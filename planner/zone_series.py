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
from planner.sources.series import FALLBACK, STALE, SYNTHETIC

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
    "wind_generation": "wind generation",
    "solar_generation": "solar generation",
    "generation": "all generation",
    SOLAR_YIELD: "solar yield",
    WIND_YIELD: "wind yield",
}
"""Each signal in a sentence, in the order in which they are shown."""


def fetch_series(
    feeds: Feeds, now: datetime, origin: datetime | None, horizon_h: int, *, least_days: int = SPREAD_DAYS
) -> tuple[dict[str, Series], list[str]]:
    """Return what a zone's sources know, by signal, and sentences about what they do not.

    Args:
        feeds: The sources.
        now: The present instant.
        origin: First hour ahead, UTC; this hour where None.
        horizon_h: Hours ahead.
        least_days: Days before it of signals that no trees see; never more than `feeds.history_days`.

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
                series = _fetched(feed, signal, feeds.history_days, at, horizon_h)
                labels += _doubts(series, now)
                series, shorter = _reached(feed, series, (feeds.history_days, least_days), at, budget)
                labels += shorter
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


def _fetched(feed: Feed, signal: str, days: int, at: datetime, horizon_h: int) -> Series:
    own, *instead = feed.chain.links
    end = at + horizon_h * HOUR
    from_file = isinstance(own.source, CsvFile)
    if from_file and not instead:
        return feed.chain.fetch(signal, _EVER, end)  # it may end long ago, and then the forecast begins there
    if any(on_network(link.source) for link in feed.chain.links):
        days = min(days, PROFILE_DAYS)
    series = feed.chain.fetch(signal, at - timedelta(days=days), end)
    if from_file and FALLBACK not in str(series.rows["flags"].iloc[-1]).split(";"):
        return own.source.fetch(signal, own.zone, _EVER, end)
    return series


def _doubts(series: Series, now: datetime) -> list[str]:
    """Return what a reader must see about a series that is made up, old or from elsewhere."""
    labels = [*series.told]
    flags = {flag for text in series.rows["flags"].unique() for flag in text.split(";")}
    if SYNTHETIC in flags:
        labels.append(f"Synthetic data: {series.source} is made up, not measured.")
    if STALE in flags and series.fetched_at is not None:
        age_h = (now - series.fetched_at) / HOUR
        spoken = SPOKEN[signal_key(series)]
        labels.append(f"Stale data: {spoken} of {series.source} is the last good answer, {age_h:.1f} h old.")
    return labels


def _reached(
    feed: Feed, series: Series, reach: tuple[int, int], at: datetime, budget: Budget
) -> tuple[Series, list[str]]:
    """Return a series with its past from further back, and a sentence where less of it is there than was asked for."""
    days, least_days = reach
    link, key = feed.chain.links[0], signal_key(series)
    if not on_network(link.source):
        return series, []
    fitted = boosted.available() and (key in WITH_TREES or key in WEATHER)
    wanted = days if fitted else min(days, least_days)
    reached = reach_back(link.source, series, link.zone, at - timedelta(days=wanted), budget)
    if not reached.stopped:
        return reached.series, []
    known = (at - reached.series.rows.t_start.iloc[0].to_pydatetime()) // timedelta(days=1)
    told = f"The forecast of {SPOKEN[key]} sees {known} of {wanted} days of {series.source}: {reached.stopped}."
    return reached.series, [told]


def this_hour(now: datetime) -> datetime:
    """Return the start of the hour that an instant lies in."""
    return now.replace(minute=0, second=0, microsecond=0)
