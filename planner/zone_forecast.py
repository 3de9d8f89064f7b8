"""The forecast of a zone as people ask for it: every signal that its sources know, with what it stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.errors import DataUnavailable
from planner.extension import first_whole_day
from planner.forecast.bridge import FADE_H, bias_corrected
from planner.forecast.history import DAY_H, WEATHER, History
from planner.forecast.issued import WITH_TREES
from planner.forecast.yields import SOLAR_YIELD, UNIT, WIND_YIELD, needs, yield_forecast
from planner.forecast.zone import LEAST_DAYS, Provided, SignalForecast, forecast_zone, no_warmer
from planner.forecast_history import HOUR, hour_means
from planner.issued_errors import issued_errors
from planner.sources.issued import IssuedForecasts
from planner.timegrid import iso
from planner.zone_feeds import wind_of
from planner.zone_series import SPOKEN, this_hour
from power.renewables import SolarArray
from power.sun import Plane, cloudy_ghi_w_per_m2
from power.wind import WindTurbines

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.sources.cache import ResponseCache
    from planner.sources.series import Series
    from planner.zone_feeds import Feeds

_TILT_DEG, _SOUTH_DEG = 30.0, 180.0
_DC_TO_AC = 1.2  # usual for large arrays
_HUB_M, _MAST_M = 100.0, 10.0
_SKY = {*WEATHER, "wet_bulb"}
_BRIDGED_H = 3  # as many hours late as a source may be without a word


@dataclass(frozen=True)
class Told:
    """The forecast of one signal with what it stands on.

    Args:
        ahead: The forecast.
        unit: Unit of its values.
        basis: Of carbon intensity, else "".
        source: Whose past it was made from, and whose forecast it follows.
        licence: Licence and attribution.
        past_days: Whole days of the past that it was made from.
        provider_until: End of the source's own forecast, UTC; None where it has none.
        shift: What was added to the source's forecast, its usual error, in the unit.
        missing_h: Hours of this past that are not known and were taken from the days before.
    """

    ahead: SignalForecast
    unit: str
    basis: str
    source: str
    licence: str
    past_days: int
    provider_until: datetime | None = None
    shift: float = 0.0
    missing_h: int = 0


@dataclass(frozen=True)
class ZoneForecast:
    """What is expected of a zone.

    Args:
        zone: The zone.
        origin: First hour ahead, UTC.
        horizon_h: Hours ahead.
        signals: By name.
        labels: Sentences that must be shown with it.
    """

    zone: str
    origin: datetime
    horizon_h: int
    signals: Mapping[str, Told]
    labels: tuple[str, ...]

    @property
    def starts(self) -> tuple[datetime, ...]:
        """Start of every hour ahead, UTC."""
        return tuple(self.origin + h * HOUR for h in range(self.horizon_h))


def zone_forecast(
    zone: str,
    series: Mapping[str, Series],
    feeds: Feeds,
    now: datetime,
    *,
    origin: datetime | None = None,
    horizon_h: int = 168,
    n_paths: int = 100,
    seed: int = 0,
    cache: ResponseCache | None = None,
    told: Sequence[str] = (),
) -> ZoneForecast:
    """Return the forecast of all signals of a zone from one origin on.

    Each is forecast from all of its own past; path i of one signal belongs to path i of all others, because the same
    days of the past are drawn for all.

    Args:
        zone: The zone.
        series: By `planner.forecast_history.signal_key`.
        feeds: Place and plants for the yields.
        now: The present instant.
        origin: First hour that counts as not known, UTC. Where None, this hour, or where all that is forecast ends
            before, its end.
        horizon_h: Hours ahead.
        n_paths: Count of joint scenario paths.
        seed: Of the draw of scenarios and of the errors laid on past weather.
        cache: Where forecasts are kept as they were issued, or None.
        told: Sentences about the series.

    Raises:
        DataUnavailable: No signal has a past of 7 days.
    """
    at = origin or _last_known(series, now)
    begin = at - timedelta(days=feeds.history_days)
    issued = None if cache is None else IssuedForecasts(cache.folder)
    if origin is not None:
        series = {key: _as_known(one, origin, issued) for key, one in series.items()}
    series = {key: replace(one, rows=one.rows[one.rows.t_end > begin]) for key, one in series.items()}
    made: dict[str, Told] = {}
    labels = [*dict.fromkeys(told)]
    for key, one in series.items():
        known = _known(one, at)
        start = None if known.empty else first_whole_day(known, at)
        if start is None or at - known.t_end.iloc[-1] > timedelta(days=LEAST_DAYS):
            lacks = _lacks(known, at, feeds.history_days)
            labels.append(f"No forecast of {SPOKEN[key]}: {one.source} {lacks}.")
            continue
        made[key] = _signal(key, start, series, at, horizon_h, n_paths, seed, issued)
        if made[key].missing_h > _BRIDGED_H:
            labels.append(
                f"Gaps filled: {made[key].missing_h} of {made[key].past_days * DAY_H} hours of {SPOKEN[key]} before "
                f"{iso(at)} are not known of {one.source}, and are taken from the same hours of the days before."
            )
    if not made:
        raise DataUnavailable(
            f"no series of {zone} can be forecast from {iso(at)}",
            why="; ".join(label.rstrip(".") for label in labels if label.startswith("No forecast")),
            fix="give a longer past, or another origin",
        )
    if "wet_bulb" in made and "dry_bulb" in made:
        made["wet_bulb"] = replace(made["wet_bulb"], ahead=no_warmer(made["wet_bulb"].ahead, made["dry_bulb"].ahead))
    if feeds.place is None:
        labels.append("No forecast of solar and wind yield: the place is not known; --at says it.")
    made |= _yields(made, feeds, at)
    order = [*SPOKEN]
    shown = sorted(made, key=lambda name: order.index(name.split(":")[0]))
    return ZoneForecast(zone, at, horizon_h, {name: made[name] for name in shown}, tuple(labels))


def _last_known(series: Mapping[str, Series], now: datetime) -> datetime:
    ends: list[datetime] = []
    for key, one in series.items():
        known = one.rows[one.rows["kind"] != "forecast"]
        if not known.empty and (key not in _SKY or set(series) <= _SKY):
            ends.append(known.t_end.iloc[-1].floor("h").to_pydatetime())
    return min(this_hour(now), max(ends, default=this_hour(now)))


def _as_known(one: Series, origin: datetime, issued: IssuedForecasts | None) -> Series:
    """Return a series without the forecast that its source made after the origin: with the last one kept before it."""
    if one.fetched_at is None or this_hour(one.fetched_at) <= origin:
        return one
    parts = [one.rows[one.rows["kind"] != "forecast"]]
    if issued is not None:
        then = issued.as_issued(one.signal, one.zone, origin, source=one.source, basis=one.basis)
        parts += [] if then is None else [then.rows]
    return replace(one, rows=pd.concat(parts, ignore_index=True))


def _known(one: Series, at: datetime) -> pd.DataFrame:
    """Return the rows that tell what was before the origin."""
    return one.rows[(one.rows["kind"] != "forecast") & (one.rows.t_end <= at)]


def _lacks(known: pd.DataFrame, at: datetime, days: int) -> str:
    """Return why nothing can be forecast from what is known."""
    if known.empty or at - known.t_end.iloc[-1] <= timedelta(days=LEAST_DAYS):
        return f"has less than {LEAST_DAYS} days, the first of them whole, in the {days} days before {iso(at)}"
    return f"ends {iso(known.t_end.iloc[-1].to_pydatetime())}, more than {LEAST_DAYS} days before {iso(at)}"


def _signal(
    key: str,
    start: datetime,
    series: Mapping[str, Series],
    at: datetime,
    horizon_h: int,
    n_paths: int,
    seed: int,
    issued: IssuedForecasts | None,
) -> Told:
    one, rows = series[key], series[key].rows
    n_past = int((at - start) / HOUR)
    past = _past(rows, start, n_past, at)
    signals = {key: past}
    if key in WITH_TREES:
        weather = {name: _past(series[name].rows, start, n_past, at) for name in WEATHER if name in series}
        signals |= {
            name: np.concatenate([came, _ahead(series[name].rows, at, horizon_h)])
            for name, came in weather.items()
            if not np.isnan(came[:DAY_H]).any()
        }
    provider = _ahead(rows, at, horizon_h)
    errors = np.empty((0, horizon_h))
    if issued is not None and not np.isnan(provider).all():
        errors = issued_errors(issued, replace(one, rows=_known(one, at)), horizon_h)
    fade_h = FADE_H if np.isnan(provider[-1]) else 0
    ahead = forecast_zone(
        History(start, signals),
        [key],
        at,
        horizon_h=horizon_h,
        n_paths=n_paths,
        provided={key: Provided(provider, errors, dark=key == "ghi", fade_h=fade_h)},
        seed=seed,
    ).signals[key]
    last = np.flatnonzero(~np.isnan(provider))
    return Told(
        ahead,
        one.unit,
        one.basis,
        one.source,
        one.licence,
        n_past // DAY_H,
        at + int(last[-1] + 1) * HOUR if last.size else None,
        float(bias_corrected(np.zeros(1), errors)[0]),
        int(np.isnan(past).sum()),
    )


def _past(rows: pd.DataFrame, start: datetime, n: int, at: datetime) -> npt.NDArray[np.float64]:
    """Return the hours before the origin as they were; what the source only forecast of them stands in the gaps."""
    before = rows[rows.t_end <= at]
    came = hour_means(before[before["kind"] != "forecast"], start, n)
    return np.where(np.isnan(came), hour_means(before[before["kind"] == "forecast"], start, n), came)


def _ahead(rows: pd.DataFrame, at: datetime, horizon_h: int) -> npt.NDArray[np.float64]:
    """Return the source's own forecast; what it measured after the origin is not looked at."""
    return hour_means(rows[rows["kind"] == "forecast"], at, horizon_h)


def _yields(made: Mapping[str, Told], feeds: Feeds, at: datetime) -> dict[str, Told]:
    """Return the yield of each plant whose weather is forecast."""
    if feeds.place is None:
        return {}
    wind = wind_of(made) or ""
    plants = feeds.plants or reference_plants(feeds.place, wind)
    weather = dict(made)
    if "ghi" not in made and "cloud_cover" in made:
        weather["ghi"] = _sunshine(made["cloud_cover"], feeds.place, at)
    found = {}
    for name, plant in plants.items():
        drivers = needs(plant, wind)
        if not set(drivers) <= set(weather):
            continue
        ahead = yield_forecast(plant, feeds.place, at, 60, {key: weather[key].ahead for key in drivers}, wind)
        told = weather[drivers[0]]
        source = f"{told.source} through the physics of {plant.name!r}"
        found[name] = Told(ahead, UNIT, "", source, told.licence, told.past_days, told.provider_until)
    return found


def _sunshine(cloud: Told, place: tuple[float, float], at: datetime) -> Told:
    """Return the sunshine under the clouds that are forecast, where a zone's sources know no better."""

    def under(cover_pct: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return cloudy_ghi_w_per_m2(*place, at, 60, cover_pct)

    paths = cloud.ahead.paths
    ahead = SignalForecast(
        f"{cloud.ahead.model} of cloud cover", under(cloud.ahead.point), None, None if paths is None else under(paths)
    )
    return replace(cloud, ahead=ahead)


def reference_plants(place: tuple[float, float], wind: str) -> dict[str, SolarArray | WindTurbines]:
    """Return a kilowatt of sun and one of wind as they are usually built, where no plants are named.

    Args:
        place: Latitude and longitude, degrees.
        wind: The wind signal that there is, which says at what height it is measured.
    """
    facing = _SOUTH_DEG if place[0] >= 0.0 else 0.0
    plane = Plane(*place, tilt_deg=_TILT_DEG, azimuth_deg=facing)
    sun = SolarArray("1 kW fixed at 30 degrees", 1.0, 1.0 / _DC_TO_AC, 0.83, -0.0035, plane)
    measured_m = _MAST_M if wind == "wind_speed_10m" else _HUB_M
    turbines = WindTurbines("1 kW of NREL 5 MW turbines", 1.0, _HUB_M, measured_m)
    return {SOLAR_YIELD: sun, WIND_YIELD: turbines}
