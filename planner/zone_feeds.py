"""Which sources a zone's forecast is made from: those of the zone, those that a file names, or those of a site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planner.config import model
from planner.config.providers import GROUPS, WIND, providers
from planner.errors import ConfigError
from planner.forecast.yields import SOLAR_YIELD, WIND_YIELD
from planner.forecast_history import NO_OPTIONS, csv_signals, read_document, source_tables
from planner.source_probe import zone_names
from planner.sources.catalogue import FACTS, facts_of
from planner.sources.chain import Chain, Link
from planner.sources.csv_file import CsvFile
from planner.sources.long_past import BUDGET_S
from planner.sources.registry import SourceSpec, open_source
from planner.yield_bands import name_of

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from planner.config import Site
    from planner.sources.cache import ResponseCache
    from power.renewables import SolarArray
    from power.wind import WindTurbines

HISTORY_DAYS = model.ForecastTable().history_days
"""How far back sources are asked where nothing else is said."""
_WEATHER, _MARGINAL = "weather", "watttime"
# Those that forecast stand before those that tell the past, published prices before modelled ones.
_IN_TURN = {
    "carbon": ("electricity-maps", "uk-carbon-intensity", "energy-charts", "entsoe", "eia"),
    "price": ("energy-charts", "entsoe", "electricity-maps"),
    _WEATHER: ("open-meteo",),
}


@dataclass(frozen=True)
class Feed:
    """A chain of sources and what it is asked for.

    Args:
        chain: The chain.
        signals: Keys of `planner.sources.series.SIGNALS`.
    """

    chain: Chain
    signals: tuple[str, ...]


@dataclass(frozen=True)
class Feeds:
    """All that a zone's forecast is made from.

    Args:
        feeds: Chains of sources.
        place: Latitude and longitude, degrees, for sun and wind; None where it is not known.
        plants: Name -> solar array or wind turbines whose yield is forecast; where empty, a kilowatt of each.
        history_days: How far back sources are asked.
        budget_s: Time that providers on the network have for it, s.
    """

    feeds: tuple[Feed, ...]
    place: tuple[float, float] | None
    history_days: int
    plants: Mapping[str, SolarArray | WindTurbines] = field(default_factory=dict)
    budget_s: float = BUDGET_S


@dataclass(frozen=True)
class Opener:
    """How sources are opened.

    Args:
        cache: Answers kept from earlier, or None.
        offline: Whether to keep off the network.
        clock: Gives the present time, UTC.
    """

    cache: ResponseCache | None
    offline: bool
    clock: Callable[[], datetime]

    def link(self, provider: str, options: Mapping[str, object], zone: str) -> Link:
        """Return a provider as a link of a chain."""
        source = open_source(SourceSpec(provider, options), cache=self.cache, offline=self.offline, clock=self.clock)
        return Link(provider, source, zone)


def feeds_of_zone(
    zone: str, opener: Opener, *, place: tuple[float, float] | None, basis: str, history_days: int
) -> Feeds:
    """Return the providers on the network that serve a listed zone and need no key or have one.

    Args:
        zone: A zone of `data/zones.toml`.
        opener: How sources are opened.
        place: Latitude and longitude of the weather, degrees; those of the zone's middle where None.
        basis: Basis of the average carbon intensity, "direct" or "lifecycle".
        history_days: How far back they are asked.

    Raises:
        ConfigError: The zone is not listed.
    """
    names = zone_names(zone)
    if "latitude" not in names:
        raise ConfigError(
            f"zone {zone!r} is not listed, so its sources are not known",
            fix="name them in a file: --sources sources.toml, or --sources with a site file",
        )
    middle = place or (float(names["latitude"]), float(names["longitude"]))
    feeds = []
    for group, in_turn in _IN_TURN.items():
        usable = [p for p in in_turn if group in FACTS[p].gives and _usable(p, names, group)]
        links = []
        for provider in usable:
            options: dict[str, object] = {"basis": basis} if group == "carbon" and FACTS[provider].based else {}
            if group == _WEATHER:
                options = {"latitude": middle[0], "longitude": middle[1]}
            try:
                links.append(opener.link(provider, options, str(names.get(provider, zone))))
            except ConfigError:
                continue  # an extra that it needs is not installed
        if links:
            feeds.append(Feed(Chain(tuple(links), opener.clock), GROUPS[group]))
    if _usable(_MARGINAL, names, "carbon"):
        marginal = Chain((opener.link(_MARGINAL, {}, str(names[_MARGINAL])),), opener.clock)
        feeds.append(Feed(marginal, GROUPS["carbon"]))
    return Feeds(tuple(feeds), middle, history_days)


def _usable(provider: str, names: Mapping[str, Any], group: str) -> bool:
    return (provider in names or group == _WEATHER) and FACTS[provider].key_state != "missing"


def feeds_of_file(
    file: Path, zone: str, opener: Opener, *, place: tuple[float, float] | None, history_days: int | None
) -> Feeds:
    """Return the sources that a site file or a file of [sources.NAME] tables names.

    Args:
        file: The file; relative paths in it start from its folder.
        zone: Zone of tables that name none.
        opener: How sources are opened.
        place: Latitude and longitude, degrees; those of a site, or none, where None.
        history_days: How far back they are asked; as a site file says, or two years, where None.

    Raises:
        ConfigError: The file or a table is wrong.
    """
    document = read_document(file)
    if "site" in document:
        from planner.config import load_site

        found = _of_site(load_site(file), file.parent, opener)
        return replace(
            found, place=place or found.place, history_days=found.history_days if history_days is None else history_days
        )
    feeds = tuple(_of_table(file, name, table, zone, opener) for name, table in source_tables(file, document).items())
    return Feeds(feeds, place, history_days or HISTORY_DAYS)


def _of_table(file: Path, name: str, table: Mapping[str, Any], zone: str, opener: Opener) -> Feed:
    links = _links(file, name, table, zone, opener)
    own = links[0]
    groups = [name] if name in GROUPS else [*FACTS[own.provider].gives] or ["carbon"]
    signals = tuple(signal for group in groups for signal in GROUPS[group])
    if isinstance(own.source, CsvFile):
        signals = tuple(csv_signals(own.source))
    return Feed(Chain(links, opener.clock, str(getattr(own.source, "basis", ""))), signals)


def _links(file: Path, name: str, table: Mapping[str, Any], zone: str, opener: Opener) -> tuple[Link, ...]:
    """Return the source that a table names, and those that stand in for it."""
    options = {key: value for key, value in table.items() if key not in NO_OPTIONS}
    if "provider" not in table:
        raise ConfigError(f"{file}: sources.{name} names no provider", fix='write provider = "csv", or another')
    provider = facts_of(str(table["provider"])).name
    if provider == "csv" and isinstance(options.get("path"), str):
        options["path"] = str(file.parent / options["path"])
    own, instead = opener.link(provider, options, str(table.get("zone", zone))), table.get("fallback", [])
    if not isinstance(instead, list) or not all(isinstance(one, dict) for one in instead):
        raise ConfigError(
            f"{file}: fallback of sources.{name} is no list of tables", fix=f"[[sources.{name}.fallback]]"
        )
    return (own, *(link for one in instead for link in _links(file, f"{name}.fallback", one, zone, opener)))


def _of_site(site: Site, folder: Path, opener: Opener) -> Feeds:
    groups = providers(
        site.sources,
        site.place,
        site.carbon.basis,
        folder,
        price_wanted=site.flat_price_per_kwh is None,
        sun_wanted=site.has_solar,
        wind_wanted=site.has_wind,
    )
    feeds = []
    for group in groups.values():
        links = [opener.link(one.spec.provider, one.spec.options, one.zone) for one in group.chain]
        signals = group.signals
        if isinstance(links[0].source, CsvFile) and group.group == _WEATHER:
            signals = tuple(dict.fromkeys([*signals, *csv_signals(links[0].source)]))  # more weather helps
        feeds.append(Feed(Chain(tuple(links), opener.clock, site.carbon.basis, site.place.currency), signals))
    plants = {
        name_of(kind, block.power.name): plant
        for block in site.blocks
        for kind, plant in ((SOLAR_YIELD, block.solar), (WIND_YIELD, block.wind))
        if plant is not None
    }
    return Feeds(tuple(feeds), (site.place.latitude, site.place.longitude), site.history_days, plants)


def wind_of(signals: Mapping[str, object]) -> str | None:
    """Return the wind signal that turbines turn in: at 100 m, else at 10 m, else None."""
    return next((name for name in (WIND, "wind_speed_10m") if name in signals), None)
