"""One hour of each source that can serve a zone: what came, or what stood in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from planner.errors import ConfigError, GridpaceError
from planner.sources.catalogue import FACTS
from planner.sources.registry import SourceSpec, open_source
from planner.sources.resample import compress
from planner.sources.solar_noon import check_noon, noon_shift
from planner.sources.zones import listed_zones
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.cache import ResponseCache
    from planner.sources.series import Series, Source

_HOUR = timedelta(hours=1)
_BACK = timedelta(hours=24)  # some providers are hours late
_SUN_BACK = timedelta(days=28)
_SUN = ("ghi", "solar_generation")  # what the sun makes tells if stamps mean what they are taken for
_SIGNALS = {
    "uk-carbon-intensity": ("carbon",),
    "energy-charts": ("carbon", "price", "solar_generation"),
    "entsoe": ("carbon", "price", "wind_generation", "solar_generation", "generation"),
    "eia": ("carbon", "solar_generation"),
    "electricity-maps": ("carbon", "price"),
    "watttime": ("carbon",),
    "open-meteo": ("dry_bulb", "wet_bulb", "ghi", "wind_speed_100m"),
}


@dataclass(frozen=True)
class Probe:
    """What one source said of one signal.

    Args:
        provider: Name of the provider.
        signal: Key of SIGNALS.
        hour: Start of the last whole hour that is not ahead, UTC; "" after an error.
        value: Its value with unit.
        basis: Basis of a carbon intensity, or "".
        kind: "actual", "forecast" or "modelled".
        age: How long ago it was fetched.
        flags: Flags of the hour, and what the noon of sunshine says.
        error: What stood in the way, in one line, or "".
    """

    provider: str
    signal: str
    hour: str = ""
    value: str = ""
    basis: str = ""
    kind: str = ""
    age: str = ""
    flags: str = ""
    error: str = ""


def zone_names(zone: str) -> Mapping[str, Any]:
    """Return what each provider calls a zone, by provider; with latitude and longitude where the zone is listed."""
    listed = listed_zones().get(zone)
    if listed is not None:
        return listed
    return {name: zone for name in _SIGNALS if name != "open-meteo"}


def probe(
    zone: str,
    *,
    place: tuple[float, float] | None = None,
    offline: bool = False,
    cache: ResponseCache | None = None,
    clock: Callable[[], datetime],
) -> list[Probe]:
    """Fetch one hour of each signal from each source that can serve a zone.

    Args:
        zone: A zone of `data/zones.toml`, or a zone as a provider names it.
        place: Latitude and longitude for the weather, degrees; those of the zone's middle where None.
        offline: Whether to serve from the cache alone.
        cache: Answers kept from earlier.
        clock: Gives the present time, UTC.

    Returns:
        One entry for each provider and signal; providers that have no such zone are left out.
    """
    names = dict(zone_names(zone))
    if place is None and "latitude" in names:
        place = (names["latitude"], names["longitude"])
    found: list[Probe] = []
    for provider, signals in _SIGNALS.items():
        own = zone if provider == "open-meteo" else names.get(provider)
        if own is None:
            continue
        options: dict[str, object] = {}
        if provider == "open-meteo":
            if place is None:
                found.append(Probe(provider, "weather", error="where? say --at LATITUDE,LONGITUDE"))
                continue
            options = {"latitude": place[0], "longitude": place[1]}
        spec = SourceSpec(provider, options)
        try:
            source = open_source(spec, cache=cache, offline=offline, clock=clock)
        except ConfigError as error:
            found.append(Probe(provider, ", ".join(FACTS[provider].gives), error=_line(error)))
            continue
        for signal in signals:
            got = _one(provider, source, signal, own, place, clock())
            if got is not None:
                found.append(got)
    return found


def _one(
    provider: str, source: Source, signal: str, zone: str, place: tuple[float, float] | None, now: datetime
) -> Probe | None:
    this_hour = now.replace(minute=0, second=0, microsecond=0)
    back = _SUN_BACK if signal in _SUN else _BACK
    try:
        series = source.fetch(signal, zone, this_hour - back, this_hour + _HOUR)
        noon = _noon(series, place) if signal in _SUN and place is not None else ""
    except ConfigError:
        return None  # it has no such zone
    except GridpaceError as error:
        return Probe(provider, signal, error=_line(error))
    hours = compress(series.rows, _HOUR)
    if hours.empty:
        return Probe(provider, signal, error=f"{series.source} has no whole hour of {signal}")
    last = hours.iloc[-1]
    age = "" if series.fetched_at is None else f"{(now - series.fetched_at) / _HOUR:.1f} h"
    flags = ", ".join(part for part in (str(last["flags"]).replace(";", ", "), noon) if part)
    value = f"{last.value:.4g} {series.unit}"
    hour = iso(last.t_start.to_pydatetime())
    return Probe(provider, signal, hour, value, series.basis, str(last.kind), age, flags)


def _noon(series: Series, place: tuple[float, float]) -> str:
    check_noon(series, place[1])
    shift = noon_shift(series.rows, place[1])
    return "too little sun to check the noon" if shift is None else f"noon off by {shift.hours:+.1f} h"


def _line(error: GridpaceError) -> str:
    return " ".join(": ".join(part for part in (error.what, error.why) if part).split())
