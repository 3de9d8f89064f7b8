"""One signal over time as a provider delivered it, each row with its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

SIGNALS = {
    "carbon": "gCO2e/kWh",
    "price": "money/kWh",
    "dry_bulb": "degC",
    "wet_bulb": "degC",
    "ghi": "W/m2",
    "wind_speed_100m": "m/s",
    "wind_speed_10m": "m/s",
    "cloud_cover": "%",
    "wind_generation": "kW",
    "solar_generation": "kW",
    "generation": "kW",
}
"""Name of each signal and the one unit it has inside."""


BASES = ("direct", "lifecycle", "marginal")
"""What a carbon intensity counts: combustion only, the whole life of the plants, or the next kWh."""

CLIPPED = "clipped"
DERIVED = "derived"
DUPLICATE_RESOLVED = "duplicate_resolved"
ESTIMATED = "estimated"
EXTRAPOLATED = "extrapolated"
FALLBACK = "fallback"
FILLED = "filled"
PARTIAL_MIX = "partial_mix"
PROFILE = "profile"
STALE = "stale"
SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Series:
    """One signal of one zone.

    Args:
        signal: Key of SIGNALS.
        zone: Zone or place it holds for.
        unit: Unit of `rows.value`: always SIGNALS[signal], with the currency's code for money.
        basis: "direct", "lifecycle" or "marginal" for carbon, "" otherwise.
        source: Provider and what was asked, for people.
        licence: Licence and attribution.
        rows: One row per interval by rising, unique `t_start`: columns t_start, t_end (datetime64 UTC), value (float,
            NaN never: a missing interval has no row), kind ("actual" | "forecast" | "modelled"), flags (str: "" or
            names joined by ";": "clipped" a small negative irradiance set to zero, "derived" computed from other
            variables, "duplicate_resolved" delivered twice alike, "estimated" by the provider itself, "extrapolated"
            by our forecast after the provider's end, "fallback" from another source than the first, "partial_mix" made
            from a mix that lacks a small part, "stale" from the last good answer, "synthetic" not measured;
            `planner.sources.align` adds "filled" and "profile" for what has no row).
        issued_at: When the provider issued it, UTC, or None.
        fetched_at: When it was fetched, UTC, or None for data that stands in a file.
        told: Sentences about how it was had that every output must show.
    """

    signal: str
    zone: str
    unit: str
    basis: str
    source: str
    licence: str
    rows: pd.DataFrame
    issued_at: datetime | None
    fetched_at: datetime | None
    told: tuple[str, ...] = ()


class Source(Protocol):
    """A provider."""

    @property
    def name(self) -> str:
        """The provider, for people."""
        ...

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return what the provider has of `signal` in [start, end), UTC; it may end earlier.

        Raises:
            DataUnavailable: Nothing usable came.
        """
        ...
