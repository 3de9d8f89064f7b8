"""A series that ends before the week does, carried on by a forecast of our own, with the seam marked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.band import Band
from planner.errors import DataUnavailable
from planner.forecast.bridge import FADE_H, bias_corrected
from planner.forecast.history import DAY_H, WEATHER, History
from planner.forecast.issued import WITH_TREES
from planner.forecast.spread import LEVELS
from planner.forecast.zone import LEAST_DAYS, Provided, SignalForecast, forecast_zone
from planner.forecast_history import HOUR, hour_means
from planner.issued_errors import issued_errors
from planner.sources.rows import add_flag
from planner.sources.series import EXTRAPOLATED, FALLBACK, STALE, SYNTHETIC
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.sources.issued import IssuedForecasts
    from planner.sources.series import Series
    from planner.timegrid import TimeGrid

LONGEST = timedelta(days=16)
"""Furthest that a forecast goes, as far as weather forecasts do; beyond, a series is left to its profile."""
_DIGITS = 9  # the scale of a forecast and back costs the last bits of a value
_ANY_SIGN = ("price", "dry_bulb", "wet_bulb")
_INHERITED = (FALLBACK, STALE, SYNTHETIC)  # what is made from such rows is so itself


@dataclass(frozen=True)
class Extended:
    """A series carried on to the end of a week.

    Args:
        series: The provider's rows, then ours, of kind "forecast" and flagged "extrapolated".
        seam: Where the provider's rows end, UTC.
        cut: Where ours begin, UTC: before the seam where both are cross-faded.
        origin: First hour of our forecast, UTC: the provider's own forecast may lie between it and the cut.
        past_days: Whole days before the origin that it was made from.
        ahead: Our forecast from the origin on, cross-faded with the provider's.
        shift: What was added to the provider's forecast, in its unit.
        n_issued: Forecasts as issued from which the shift is known.
    """

    series: Series
    seam: datetime
    cut: datetime
    origin: datetime
    past_days: int
    ahead: SignalForecast
    shift: float
    n_issued: int


def extended(
    series: Series,
    grid: TimeGrid,
    *,
    longer: Series | None = None,
    weather: Sequence[Series] = (),
    issued: IssuedForecasts | None = None,
) -> Extended | None:
    """Return a series carried on to the grid's end, or None where nothing is to be done or can be.

    Nothing is done where the series reaches the end, where it ends more than 16 days before it, and where it has less
    than 7 days of a past.

    Args:
        series: What a source delivered.
        grid: The slots.
        longer: The same signal from further back, where the source has it.
        weather: Weather that helps to forecast, with its past, as far ahead as it is known.
        issued: Forecasts as they were issued, by which the provider's usual error is taken off its forecast.
    """
    rows = series.rows
    seam = rows.t_end.iloc[-1].to_pydatetime()
    if not ends_early(series, grid):
        return None
    origin = _origin(rows, seam)
    made = forecast_from(series, origin, grid, longer=longer, weather=weather, issued=issued)
    if made is None:
        return None
    known_h = int((seam - origin) / HOUR)
    corrected = ~np.isnan(made.errors).all(axis=1)
    cut = origin + (0 if corrected.any() else max(0, known_h - FADE_H)) * HOUR
    joined = pd.concat([rows[rows.t_end <= cut], _own_rows(rows, made.ahead.point, origin, cut)], ignore_index=True)
    shift = float(bias_corrected(np.zeros(1), made.errors)[0])
    return Extended(
        replace(series, rows=joined), seam, cut, origin, made.past_days, made.ahead, shift, int(corrected.sum())
    )


@dataclass(frozen=True)
class Made:
    """A forecast of a series from one origin on.

    Args:
        ahead: The forecast, around the provider's own as far as it goes.
        past_days: Whole days before the origin that it was made from.
        errors: Actual less forecast of what the provider issued before, shape (m, H).
    """

    ahead: SignalForecast
    past_days: int
    errors: npt.NDArray[np.float64]


def forecast_from(
    series: Series,
    origin: datetime,
    grid: TimeGrid,
    *,
    longer: Series | None = None,
    weather: Sequence[Series] = (),
    issued: IssuedForecasts | None = None,
) -> Made | None:
    """Return the forecast of a series from an origin to a grid's end, or None where its past is too short.

    Args:
        series: What a source delivered; its rows after the origin are its own forecast.
        origin: First hour that was not measured, UTC.
        grid: The slots.
        longer: The same signal from further back, where the source has it.
        weather: Weather that helps to forecast, with its past, as far ahead as it is known.
        issued: Forecasts as they were issued.
    """
    rows = series.rows
    past = (series if longer is None else longer).rows
    start = first_whole_day(past, origin)
    if start is None:
        return None
    n_past = int((origin - start) / HOUR)
    horizon_h = -int(-(grid.end - origin) // HOUR)
    signals = {series.signal: hour_means(past, start, n_past + horizon_h)}
    signals |= {one.signal: hour_means(one.rows, start, n_past + horizon_h) for one in weather}
    signals = {name: hours for name, hours in signals.items() if not np.isnan(hours[:DAY_H]).any()}
    errors = np.empty((0, horizon_h))
    if issued is not None and origin < rows.t_end.iloc[-1]:
        errors = issued_errors(issued, series, horizon_h)
    fade_h = FADE_H if rows.t_end.iloc[-1] < grid.end else 0
    path = hour_means(rows, origin, horizon_h)
    provided = {series.signal: Provided(path, errors, dark=series.signal == "ghi", fade_h=fade_h)}
    try:
        found = forecast_zone(History(start, signals), [series.signal], origin, horizon_h=horizon_h, provided=provided)
    except DataUnavailable:
        return None
    return Made(found.signals[series.signal], n_past // DAY_H, errors)


def ends_early(series: Series, grid: TimeGrid) -> bool:
    """Return whether a series ends before a grid does, and not so long before that it is left to its profile."""
    end: datetime = series.rows.t_end.iloc[-1].to_pydatetime()
    return timedelta(0) < grid.end - end <= LONGEST


def _origin(rows: pd.DataFrame, seam: datetime) -> datetime:
    """Return where our forecast begins: after the last row that is none, else after the last row."""
    known = rows[rows["kind"] != "forecast"]
    if known.empty or (known.t_end.iloc[-1] - known.t_start.iloc[0]) < pd.Timedelta(days=LEAST_DAYS):
        return seam
    origin: datetime = known.t_end.iloc[-1].to_pydatetime()
    return origin


def first_whole_day(rows: pd.DataFrame, origin: datetime) -> datetime | None:
    """Return the earliest start, a whole number of days before the origin, of a day known whole; None if too late."""
    n_days = int((origin - rows.t_start.iloc[0].to_pydatetime()) / timedelta(days=1))
    start = origin - timedelta(days=n_days)
    hours = hour_means(rows, start, n_days * DAY_H).reshape(n_days, DAY_H)
    whole = np.flatnonzero(~np.isnan(hours).any(axis=1))
    if not whole.size or n_days - whole[0] < LEAST_DAYS:
        return None
    return start + timedelta(days=int(whole[0]))


def _own_rows(rows: pd.DataFrame, point: npt.NDArray[np.float64], origin: datetime, cut: datetime) -> pd.DataFrame:
    first = int((cut - origin) / HOUR)
    t_start = pd.DatetimeIndex([origin + h * HOUR for h in range(first, len(point))])
    own = pd.DataFrame(
        {
            "t_start": t_start,
            "t_end": t_start + HOUR,
            "value": np.round(point[first:], _DIGITS),
            "kind": "forecast",
            "flags": EXTRAPOLATED,
        }
    ).astype({"t_start": rows.t_start.dtype, "t_end": rows.t_end.dtype})
    for flag in _INHERITED:
        if flag in str(rows["flags"].iloc[-1]).split(";"):
            own = add_flag(own, flag)
    return own


def carry_on(
    found: Sequence[Series],
    long: Mapping[str, Series],
    grid: TimeGrid,
    spoken: Mapping[str, str],
    issued: IssuedForecasts | None = None,
) -> list[tuple[Series, Extended | None]]:
    """Return series carried on to the grid's end where they end before it, each saying so, and how it was done.

    Args:
        found: One per signal.
        long: The same from further back, and weather that helps to forecast, where it is known.
        grid: The slots.
        spoken: Each signal in a sentence.
        issued: Forecasts as they were issued, where they are kept.
    """
    weather = [series for signal, series in long.items() if signal in WEATHER]
    done = {
        series.signal: extended(
            series,
            grid,
            longer=_same_source(long.get(series.signal), series),
            weather=weather if series.signal in WITH_TREES else (),
            issued=issued,
        )
        for series in found
    }
    alike: dict[str, list[str]] = {}
    for signal, one in done.items():
        if one is not None:
            alike.setdefault(_sentence(one), []).append(signal)
    told = {
        signal: f"Forecast by gridpace: {', '.join(spoken[s] for s in signals)} {sentence}"
        for sentence, signals in alike.items()
        for signal in signals
    }
    return [
        (series if one is None else replace(one.series, told=(*series.told, told[series.signal])), one)
        for series, one in zip(found, done.values(), strict=True)
    ]


def doubtful(series: Series, grid: TimeGrid) -> bool:
    """Return whether a series reaches the grid's end and a part of the grid is its source's own forecast."""
    rows = series.rows
    ahead = (rows["kind"] == "forecast") & (rows.t_end > grid.start) & (rows.t_start < grid.end)
    return bool(ahead.any()) and rows.t_end.iloc[-1] >= grid.end


def doubts(
    found: Sequence[Series],
    long: Mapping[str, Series],
    grid: TimeGrid,
    spoken: Mapping[str, str],
    issued: IssuedForecasts | None = None,
) -> dict[str, Extended]:
    """Return what is not known of forecasts that reach the grid's end, by signal.

    Where forecasts as issued tell their source's usual error, it is taken off and told; else the series stay as they
    are.

    Args:
        found: One per signal.
        long: The same from further back.
        grid: The slots.
        spoken: Each signal in a sentence.
        issued: Forecasts as they were issued, which tell the source's own errors.
    """
    out = {}
    for series in found:
        seam = series.rows.t_end.iloc[-1].to_pydatetime()
        origin = _origin(series.rows, seam)
        if not doubtful(series, grid) or not timedelta(0) < grid.end - origin <= LONGEST:
            continue
        longer = _same_source(long.get(series.signal), series)
        made = forecast_from(series, origin, grid, longer=longer, issued=issued)
        if made is not None:
            out[series.signal] = _corrected(series, seam, origin, made, spoken[series.signal])
    return out


def _corrected(series: Series, seam: datetime, origin: datetime, made: Made, spoken: str) -> Extended:
    """Return a series whose forecast reaches the grid's end, with its source's usual error taken off."""
    n_issued = int((~np.isnan(made.errors).all(axis=1)).sum())
    shift = float(bias_corrected(np.zeros(1), made.errors)[0])
    if shift:
        rows = series.rows
        value = rows["value"].to_numpy()
        said = (rows.t_start >= origin).to_numpy() & ((value != 0.0) | (series.signal != "ghi"))
        lowest = -np.inf if series.signal in _ANY_SIGN else 0.0
        moved = np.where(said, np.maximum(np.round(value + shift, _DIGITS), lowest), value)
        told = (
            f"The forecast of {spoken} of {series.source} is corrected by {shift:+.3g} {series.unit}, its usual "
            f"error of {n_issued} forecasts as issued."
        )
        series = replace(series, rows=rows.assign(value=moved), told=(*series.told, told))
    return Extended(series, seam, seam, origin, made.past_days, made.ahead, shift, n_issued)


def _same_source(longer: Series | None, series: Series) -> Series | None:
    return longer if longer is not None and longer.source == series.source else None


def _sentence(done: Extended) -> str:
    faded = f", cross-faded over {FADE_H} h before" if done.cut < done.seam else ""
    if done.n_issued:
        faded += (
            f", and the source's own forecast is corrected by {done.shift:+.3g} {done.series.unit}, its usual error of "
            f"{done.n_issued} forecasts as issued"
        )
    return (
        f"of {done.series.source} known until {iso(done.seam)}; what follows is {done.ahead.model}, made from "
        f"{done.past_days} days before {iso(done.origin)}{faded}."
    )


def band_of(signal: str, done: Extended, values: npt.NDArray[np.float64], grid: TimeGrid) -> Band | None:
    """Return the band of a series that was carried on, or None where too little is known of its errors.

    Args:
        signal: Field of `planner.week.Signals`.
        done: The series with its forecast, hourly from its origin on.
        values: The series on the slots, shape (T,).
        grid: The slots.
    """
    ahead = done.ahead
    if ahead.quantiles is None or ahead.paths is None:
        return None
    # A slot takes the hour in which its middle lies: an origin may lie between two hours of the clock.
    middle_h = (np.arange(grid.n_slots) + 0.5) * grid.slot_h + (grid.start - done.origin).total_seconds() / 3600
    hour = np.floor(middle_h).astype(np.int64)
    measured = hour < 0
    taken = np.clip(hour, 0, ahead.quantiles.shape[1] - 1)
    return Band(
        signal,
        ahead.model,
        done.origin,
        LEVELS,
        np.where(measured, values, ahead.quantiles[:, taken]),
        np.where(measured, values, ahead.paths[:, taken]),
    )
