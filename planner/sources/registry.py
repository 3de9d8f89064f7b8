"""Every provider by its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

from planner.sources.catalogue import PROVIDERS, facts_of
from planner.sources.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.sources.cache import ResponseCache
    from planner.sources.series import Source

__all__ = ["PROVIDERS", "SourceSpec", "open_source", "utc_now"]

_NETWORK = {
    "electricity-maps": ("electricity_maps", "ElectricityMaps"),
    "eia": ("eia", "Eia"),
    "energy-charts": ("energy_charts", "EnergyCharts"),
    "entsoe": ("entsoe", "Entsoe"),
    "open-meteo": ("open_meteo", "OpenMeteo"),
    "uk-carbon-intensity": ("uk_carbon_intensity", "UkCarbonIntensity"),
    "watttime": ("watttime", "WattTime"),
}
"""Module and class of each provider on the network."""


@dataclass(frozen=True)
class SourceSpec:
    """Which provider, and what it is told.

    Args:
        provider: One of PROVIDERS.
        options: Options of that provider, as a site file writes them.
    """

    provider: str
    options: Mapping[str, object] = field(default_factory=dict)


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def open_source(
    spec: SourceSpec,
    *,
    cache: ResponseCache | None = None,
    offline: bool = False,
    clock: Callable[[], datetime] = utc_now,
) -> Source:
    """Return the provider that a spec names; nothing is fetched yet.

    Args:
        spec: Provider and options.
        cache: Answers kept from earlier, for providers on the network; none are kept by default.
        offline: Whether to serve from the cache alone and never open a socket.
        clock: Gives the present time, UTC.

    Raises:
        ConfigError: There is no such provider, or an option is unknown, missing or of the wrong kind.
    """
    name = facts_of(spec.provider).name
    options = Options(f"source {name!r}", spec.options)
    if name == "csv":
        from planner.sources.csv_file import CsvFile

        return CsvFile.from_options(options)
    if name == "demo":
        from planner.sources.demo import Demo

        return Demo.from_options(options)
    from planner.sources.http import Http

    module, noun = _NETWORK[name]
    kind = getattr(import_module(f"planner.sources.{module}"), noun)
    source: Source = kind.from_options(options, Http(cache=cache, offline=offline, clock=clock))
    return source
