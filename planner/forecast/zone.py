"""The forecast of a zone: every signal ahead of one origin, with quantiles and joint paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from planner.errors import DataUnavailable
from planner.forecast.blend import blend_paths
from planner.forecast.bridge import FADE_H, bias_corrected, cross_faded
from planner.forecast.history import DAY_H, PROFILE_DAYS, History, filled
from planner.forecast.issued import BLEND, Task, best_model, issue, scale_before, told, whole
from planner.forecast.provider_spread import ProviderSpread, provider_spread
from planner.forecast.scale import Scale
from planner.forecast.scenarios import draw_shares
from planner.forecast.spread import LEVELS, WINDOW, Spread, spread_at
from planner.timegrid import iso

LEAST_DAYS = 7
"""Days of history from which a profile is made."""


@dataclass(frozen=True)
class Provided:
    """A provider's own forecast of a signal.

    Args:
        path: Its values from the origin on, NaN after its end, shape (H,).
        past_errors: Actual less forecast of those it issued before, by lead, NaN where unknown, shape (m, H); m may
            be 0.
        dark: Whether an hour of which it says zero is sure, as the sun is at night.
        fade_h: Hours over which it gives way to ours before its end; 0 where it goes on after the horizon.
    """

    path: npt.NDArray[np.float64]
    past_errors: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    dark: bool = False
    fade_h: int = FADE_H

    @property
    def corrected(self) -> npt.NDArray[np.float64]:
        """Its forecast with its usual error taken off, shape (H,)."""
        shifted = bias_corrected(self.path, self.past_errors)
        return np.where(self.path == 0.0, 0.0, shifted) if self.dark else shifted

    @property
    def left_errors(self) -> npt.NDArray[np.float64]:
        """Its past errors without the shift that its forecast has had already, shape (m, H)."""
        left = self.past_errors - bias_corrected(np.zeros(1), self.past_errors)[0]
        return np.where(self.past_errors == 0.0, 0.0, left) if self.dark else left


@dataclass(frozen=True)
class SignalForecast:
    """What is expected of one signal.

    Args:
        model: Name and version of the model.
        point: Expected value of each hour, in the signal's unit, shape (H,).
        quantiles: At the levels of `planner.forecast.spread.LEVELS`, rising, shape (levels, H); None where too few
            past forecasts could be made to know their errors.
        paths: Joint scenarios; path i of one signal belongs to path i of all others, shape (N, H); None likewise.
    """

    model: str
    point: npt.NDArray[np.float64]
    quantiles: npt.NDArray[np.float64] | None
    paths: npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class Forecast:
    """What is expected of a zone.

    Args:
        origin: First hour ahead, UTC.
        signals: By name.
    """

    origin: datetime
    signals: Mapping[str, SignalForecast]

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", MappingProxyType(dict(self.signals)))


def forecast_zone(
    history: History,
    signals: Sequence[str],
    origin: datetime,
    *,
    horizon_h: int = 168,
    n_paths: int = 100,
    provided: Mapping[str, Provided] = MappingProxyType({}),
    seed: int = 0,
) -> Forecast:
    """Return the forecast of a zone.

    Where trees forecast (carbon intensity and prices, with some eight months of history and the extra `forecast`), they
    are fitted before the forecasts whose errors give the quantiles, so that these are errors of unseen days.

    Args:
        history: Hours up to the origin; weather also after it as far as its provider knows, NaN or nothing beyond.
        signals: Signals to forecast.
        origin: First hour that is not known, UTC.
        horizon_h: Hours ahead.
        n_paths: Count of joint scenario paths.
        provided: Forecasts of providers, by signal.
        seed: Of the errors laid on past weather ahead and of the draw of scenarios.

    Raises:
        DataUnavailable: There are less than 7 days before the origin.
    """
    at = history.position(origin)
    if at < LEAST_DAYS * DAY_H:
        raise DataUnavailable(
            f"the history before {iso(origin)} begins on {iso(history.start)}; {LEAST_DAYS} days are needed",
            fix="give a longer past",
        )
    whole = _with_weather_ahead(history, at, horizon_h)  # a signal that is weather itself is cut at the origin again
    origins = _past_origins(at, horizon_h)
    made = {signal: _points(whole, signal, at, origins, horizon_h, seed) for signal in signals}
    errors = {}
    for signal, (_, points, scale) in made.items():
        known = np.full(at + horizon_h, np.nan)
        known[:at] = history.signals[signal][:at]
        errors[signal] = scale.there(known)[origins[:, None] + np.arange(horizon_h)] - points[:-1]
    shares = draw_shares(errors, origins, at, n_paths, seed)
    found = {
        signal: _signal(made[signal], errors[signal], origins, at, shares.get(signal), provided.get(signal))
        for signal in signals
    }
    if "wet_bulb" in found and "dry_bulb" in found:
        found["wet_bulb"] = no_warmer(found["wet_bulb"], found["dry_bulb"])
    return Forecast(history.at(at), found)


def no_warmer(wet: SignalForecast, dry: SignalForecast) -> SignalForecast:
    """Return the wet bulb, nowhere above the dry bulb: in each hour, at each level and in each path."""
    pairs = {name: (getattr(wet, name), getattr(dry, name)) for name in ("point", "quantiles", "paths")}
    return replace(wet, **{name: np.minimum(*pair) for name, pair in pairs.items() if pair[0] is not None})


def _signal(
    made: tuple[str, npt.NDArray[np.float64], Scale],
    errors: npt.NDArray[np.float64],
    origins: npt.NDArray[np.int64],
    at: int,
    shares: npt.NDArray[np.float64] | None,
    provided: Provided | None,
) -> SignalForecast:
    model, points, scale = made
    point = points[-1]
    theirs = None
    if provided is not None:
        point = scale.there(cross_faded(provided.corrected, scale.back(point), provided.fade_h))
        theirs = provider_spread(provided.path, provided.left_errors, provided.fade_h)
    spread = spread_at(errors, origins, at) if len(origins) else None
    quantiles = paths = None
    if spread is not None:
        levels = np.repeat(np.array(LEVELS)[:, None], len(point), axis=1)
        quantiles = _around(point, spread, theirs, scale, levels)
        paths = None if shares is None else _around(point, spread, theirs, scale, shares)
    return SignalForecast(model, scale.back(point), quantiles, paths)


def _around(
    point: npt.NDArray[np.float64],
    spread: Spread,
    theirs: ProviderSpread | None,
    scale: Scale,
    shares: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return values at shares of their distribution, in the unit: around a provider's forecast its own errors lie."""
    own = scale.back(point + spread.offsets(shares))
    if theirs is None:
        return own
    middle = scale.back(point)
    mixed = middle + theirs.weight * theirs.offsets(shares) + (1.0 - theirs.weight) * (own - middle)
    return scale.within(mixed)


def _past_origins(at: int, horizon_h: int) -> npt.NDArray[np.int64]:
    """Return the origins whose errors are known by now: a window of them, a day apart, as far as the past goes."""
    earlier = WINDOW + -(-horizon_h // DAY_H)
    first = at - earlier * DAY_H
    origins = np.arange(first, at, DAY_H, dtype=np.int64)
    return origins[origins >= PROFILE_DAYS * DAY_H]


def _points(
    history: History, signal: str, at: int, origins: npt.NDArray[np.int64], horizon_h: int, seed: int
) -> tuple[str, npt.NDArray[np.float64], Scale]:
    """Return the model, its forecasts at the past origins and at this one, shape (m + 1, H), and their scale."""
    first = int(origins[0]) if len(origins) else at
    scale = scale_before(history, signal, first)
    if at < PROFILE_DAYS * DAY_H:
        values = scale.there(filled(history.signals[signal][:at], signal, history.start))
        short = blend_paths(values, np.array([at]), horizon_h, days=at // DAY_H)
        return told(BLEND, weather=False), short, scale
    model = best_model(signal, first, horizon_h)
    task = Task(history, signal, model, (*map(int, origins), at), horizon_h, scale, first, seed, forecast_from=at)
    points = whole(task, np.append(origins, at), [issue(task)])
    return told(model, weather=bool(history.weather)), points, scale


def _with_weather_ahead(history: History, at: int, horizon_h: int) -> History:
    """Return the history with weather up to the horizon: the provider's as far as it goes, then ours."""
    values = dict(history.signals)
    for name, series in history.weather.items():
        known = filled(series[:at], name, history.start)
        days = min(PROFILE_DAYS, at // DAY_H)
        own = blend_paths(known, np.array([at]), horizon_h, days=days)[0]
        provided = np.full(horizon_h, np.nan)
        ahead = series[at : at + horizon_h]
        provided[: len(ahead)] = ahead
        values[name] = np.concatenate([known, cross_faded(provided, own)])
    return History(history.start, values)
