"""Weeks of the past replayed at a site: forecasts as issued, plans in every way, what came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.backtest_kept import CARBON, MONEY
from planner.backtest_plans import weighed
from planner.backtest_weeks import HORIZON, weather_of, week_at
from planner.band import Band
from planner.errors import DataUnavailable
from planner.forecast.spread import LEVELS
from planner.outlook import FIELDS
from planner.replay.outcome import Replay, ways_of
from planner.replay.roll import Manner
from planner.replay.task import ReplayTask
from planner.site_options import site_options
from planner.stochastic.of_bands import with_uncertainty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.config.site import Site
    from planner.forecast.history import History
    from planner.replay.issue import Ahead, Daily
    from planner.replay.outcome import ReplayedWeek
    from planner.stochastic.of_bands import Asked
    from planner.week import Week

    Floats = npt.NDArray[np.float64]

DAY = timedelta(days=1)
N_HOURS = HORIZON // timedelta(hours=1)


@dataclass(frozen=True)
class How:
    """How weeks are replayed.

    Args:
        zone: Whose grid came, for people.
        basis: Basis of its carbon intensity.
        weight: What plans make small: CARBON or MONEY.
        every_days: Days between two weeks' starts.
        replan_days: Days between two plans of a week.
        asked: What the stochastic plans look at.
        manner: How plans go on.
    """

    zone: str
    basis: str
    weight: str
    every_days: int
    replan_days: int
    asked: Asked
    manner: Manner


def signals_of(weight: str) -> tuple[str, ...]:
    """Return the signals of the grid that plans by a weight need forecasts of."""
    return ("carbon", "price") if weight == MONEY else ("carbon",)


def starts_of(first: datetime, last: datetime, every_days: int) -> list[datetime]:
    """Return the starts of the weeks from one day to another, UTC."""
    return [first + i * DAY for i in range(0, (last - first).days + 1, every_days)]


def replayed(
    site: Site,
    history: History,
    daily: Daily,
    starts: Sequence[datetime],
    how: How,
    run: Callable[[Sequence[ReplayTask]], Iterable[ReplayedWeek]],
) -> Replay:
    """Return what weeks of the past came to by every way of planning.

    Args:
        site: The site, found fit by `planner.backtest_plans.check_site`.
        history: What came.
        daily: Forecasts of each day, from the first start to six days after the last one.
        starts: Starts of the weeks, UTC.
        how: How they are replayed.
        run: Carries the weeks out, in order.

    Raises:
        DataUnavailable: No week has all hours of what came.
    """
    options = site_options(site)
    tasks = []
    for start in starts:
        came = came_in(site, history, start, how)
        if any(np.isnan(values).any() for values in came.values()):
            continue
        known = weighed(week_at(site, start, came, how.basis), how.weight)
        days = tuple(known_on(site, daily, start, day, came, how) for day in range(0, N_HOURS // 24, how.replan_days))
        tasks.append(ReplayTask(how.weight, known, days, how.manner, options))
    if not tasks:
        raise DataUnavailable(
            f"no week of {len(starts)} has all hours of what came", fix="choose other days, or a source without gaps"
        )
    weeks = tuple(run(tasks))
    return Replay(
        site=site.name,
        zone=how.zone,
        currency=site.place.currency,
        weight=how.weight,
        every_days=how.every_days,
        model=daily.model,
        scenarios=how.asked.scenarios,
        weeks=weeks,
        left_out=len(starts) - len(tasks),
        ways=ways_of(weeks),
    )


def came_in(site: Site, history: History, start: datetime, how: How) -> dict[str, Floats]:
    """Return the hours of a week as they came, by signal; a price that no plan looks at is zero.

    Args:
        site: The site.
        history: What came.
        start: Start of the week, UTC.
        how: How it is replayed.
    """
    at = history.position(start)
    hours = {name: history.signals[name][at : at + N_HOURS] for name in (*signals_of(how.weight), *weather_of(site))}
    return {"price": np.zeros(N_HOURS)} | hours


def known_on(site: Site, daily: Daily, start: datetime, day: int, came: Mapping[str, Floats], how: How) -> Week:
    """Return a week as it was known at the start of one of its days: what came until then, and the forecast of then.

    Args:
        site: The site.
        daily: Forecasts of each day.
        start: Start of the week, UTC.
        day: The day, from 0 on.
        came: The week's hours as they came; those from the day on are not looked at.
        how: How it is replayed.
    """
    now, passed_h = start + day * DAY, 24 * day
    ahead = daily.at(now)
    hours = {
        name: np.concatenate([values[:passed_h], ahead[name].point[: N_HOURS - passed_h]]) if name in ahead else values
        for name, values in came.items()
    }
    week = replace(week_at(site, start, hours, how.basis), issued_at=now)
    bands = tuple(_band(name, one, hours[name], passed_h, week, daily.model[name], now) for name, one in ahead.items())
    looked = with_uncertainty(replace(week, bands=bands), how.asked)
    return _weighed(replace(looked, bands=()), how.weight)


def _band(name: str, ahead: Ahead, hours: Floats, passed_h: int, week: Week, model: str, now: datetime) -> Band:
    minutes = week.grid.slot_minutes

    def on_slots(values: Floats) -> Floats:
        passed = np.broadcast_to(hours[:passed_h], (len(values), passed_h))
        joined = np.concatenate([passed, values[:, : N_HOURS - passed_h]], axis=1)
        return np.repeat(joined, 60 // minutes, axis=1)

    return Band(FIELDS[name], model, now, LEVELS, on_slots(ahead.quantiles), on_slots(ahead.paths))


def _weighed(week: Week, weight: str) -> Week:
    """Return a week in which one weight alone counts, in its paths too."""
    seen = weighed(week, weight)
    if weight != CARBON or seen.uncertainty is None:
        return seen
    paths = tuple(
        replace(one, signals=replace(one.signals, price_per_kwh=seen.signals.price_per_kwh))
        for one in seen.uncertainty.scenarios
    )
    return replace(seen, uncertainty=replace(seen.uncertainty, scenarios=paths))
