"""What is not known of a week, from the bands of its forecasts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.stochastic.reduction import kept_paths, recentred
from planner.uncertainty import Heat, Scenario, Uncertainty

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.band import Band
    from planner.week import Signals, Week

    Floats = npt.NDArray[np.float64]

KEPT_DIGITS = 6
"""Significant digits of bands in a calendar's series."""
DRY, WET = "dry_bulb_c", "wet_bulb_c"
FORECAST_ALONE = "Planned on the forecast alone, without the weighted paths that gridpace plan looks at."
_ANY_SIGN = ("price_per_kwh", DRY, WET)


@dataclass(frozen=True)
class Asked:
    """How far a plan looks at what is not known.

    Args:
        scenarios: Weighted paths that it is made on; 0 for the forecast alone.
        cvar_alpha: Share of paths that the mean of the worst leaves out.
        cvar_weight: Weight of that mean, for carbon and for lateness.
        w_max_quantile: Level of the weather in which limits must hold too, or None for the forecast alone.
    """

    scenarios: int = 0
    cvar_alpha: float = 0.9
    cvar_weight: float = 0.05
    w_max_quantile: float | None = None


def with_uncertainty(week: Week, asked: Asked) -> Week:
    """Return the week with the paths and the heat that its plan is to look at; as it is where none is asked or known.

    Forecasts of further sites of the same file have no bands: they count as they stand.

    Args:
        week: The week, with the bands of its forecasts.
        asked: What is asked.
    """
    bands = {band.signal: band for band in week.bands if band.signal in {one.name for one in fields(week.signals)}}
    heat = None if asked.w_max_quantile is None else heat_at(week.signals, bands, asked.w_max_quantile)
    scenarios = scenarios_of(week.signals, bands, asked.scenarios) if asked.scenarios else ()
    if heat is None and not scenarios:
        return week
    return replace(week, uncertainty=Uncertainty(scenarios, asked.cvar_alpha, asked.cvar_weight, heat))


def looked_at(week: Week, asked: Asked) -> Week:
    """Return the week as `with_uncertainty` does, with a sentence about what was asked, also where nothing is known.

    Bands count as they are kept beside a calendar, so that it can be made again from what was kept.

    Args:
        week: The week, with the bands of its forecasts.
        asked: What is asked.
    """
    if not asked.scenarios and asked.w_max_quantile is None:
        return week
    kept = tuple(replace(band, quantiles=_as_kept(band.quantiles), paths=_as_kept(band.paths)) for band in week.bands)
    looked = replace(with_uncertainty(replace(week, bands=kept), asked), bands=week.bands)
    known, labels = looked.uncertainty or Uncertainty(), []
    if asked.scenarios:
        labels.append(
            _on_paths(len(known.scenarios))
            if known.scenarios
            else "Planned on the forecast alone: the errors of no forecast are known, so there are no paths."
        )
    if asked.w_max_quantile is not None:
        labels.append(
            f"Limits of cooling and power hold in weather of the {asked.w_max_quantile:.0%} level of its forecast."
            if known.heat is not None
            else "Limits hold in the weather as forecast: the errors of its forecast are not known."
        )
    # A week that is gathered again from what was kept has these sentences already.
    return replace(looked, labels=tuple(dict.fromkeys((*looked.labels, *labels))))


def on_forecast(week: Week) -> Week:
    """Return the week as one that looks at no paths, with a sentence about that where it was to look at some."""
    known = week.uncertainty
    if known is None or not known.scenarios:
        return week
    on_paths = _on_paths(len(known.scenarios))
    labels = tuple(FORECAST_ALONE if label == on_paths else label for label in week.labels)
    return replace(week, uncertainty=replace(known, scenarios=()), labels=labels)


def heat_at(signals: Signals, bands: dict[str, Band], level: float) -> Heat | None:
    """Return the weather at a level of its distribution, nowhere cooler than the forecast; None where no band is known.

    Args:
        signals: The forecast.
        bands: Signal -> what is not known of it.
        level: Level of dry and wet bulb.
    """
    hot = {name: np.maximum(getattr(signals, name), _at(bands[name], level)) for name in (DRY, WET) if name in bands}
    if not hot:
        return None
    dry = hot.get(DRY, signals.dry_bulb_c)
    return Heat(dry.copy(), np.minimum(hot.get(WET, signals.wet_bulb_c), dry))


def scenarios_of(signals: Signals, bands: dict[str, Band], count: int) -> tuple[Scenario, ...]:
    """Return weighted paths of all signals, reduced to a count; none where no band is known.

    Args:
        signals: The forecast; a signal without a band keeps its values in every path.
        bands: Signal -> what is not known of it.
        count: Paths to keep.
    """
    if not bands:
        return ()
    n_paths = min(len(band.paths) for band in bands.values())
    paths = {name: band.paths[:n_paths] for name, band in bands.items()}
    chosen, weights = kept_paths(paths, count)
    kept = {
        name: recentred(values[chosen], weights, getattr(signals, name), -np.inf if name in _ANY_SIGN else 0.0)
        for name, values in paths.items()
    }
    if DRY in kept or WET in kept:
        kept[WET] = np.minimum(kept.get(WET, signals.wet_bulb_c), kept.get(DRY, signals.dry_bulb_c))
        kept[WET] = np.broadcast_to(kept[WET], (len(chosen), len(signals.dry_bulb_c)))
    return tuple(
        Scenario(float(weight), replace(signals, **{name: values[i].copy() for name, values in kept.items()}))
        for i, weight in enumerate(weights)
    )


def _on_paths(count: int) -> str:
    return f"Starts, stops and pools are planned on {count} weighted paths of the forecast."


def _at(band: Band, level: float) -> Floats:
    """Return a band's values at a level; beyond its outermost levels those of the outermost."""
    return np.array([np.interp(level, band.levels, column) for column in band.quantiles.T])


def _as_kept(values: Floats) -> Floats:
    return np.array([float(f"{value:.{KEPT_DIGITS}g}") for value in values.ravel()]).reshape(values.shape)
