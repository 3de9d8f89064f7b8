"""Every provider by its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.sources.options import Options, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.sources.cache import ResponseCache
    from planner.sources.series import Source

PROVIDERS = ("csv", "demo", "open-meteo", "uk-carbon-intensity")


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
    options = Options(f"source {spec.provider!r}", spec.options)
    if spec.provider == "csv":
        from planner.sources.csv_file import CsvFile

        return CsvFile.from_options(options)
    if spec.provider == "demo":
        from planner.sources.demo import Demo

        return Demo.from_options(options)
    if spec.provider in PROVIDERS:
        from planner.sources.http import Http
        from planner.sources.open_meteo import OpenMeteo
        from planner.sources.uk_carbon_intensity import UkCarbonIntensity

        http = Http(cache=cache, offline=offline, clock=clock)
        network = OpenMeteo if spec.provider == "open-meteo" else UkCarbonIntensity
        return network.from_options(options, http)
    raise ConfigError(
        f"there is no source {spec.provider!r}",
        fix=f"{did_you_mean(spec.provider, PROVIDERS)}known are {', '.join(PROVIDERS)}",
    )
