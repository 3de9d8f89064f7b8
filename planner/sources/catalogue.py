"""What is known of every provider before it is asked."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import ConfigError
from planner.sources.keys import find_key
from planner.sources.options import did_you_mean


@dataclass(frozen=True)
class Facts:
    """A provider.

    Args:
        name: As a site file names it.
        gives: Groups of signals that a site file may ask it for: "carbon", "price", "weather".
        also: What else it gives, for people.
        coverage: Where, for people.
        horizon: How far ahead, for people.
        licence: Licence and attribution.
        upstream: On whose data it stands: providers of one upstream fail together.
        stamps: What its times mean, for people; rows inside are from their start to their end, UTC.
        keyed: Whether it needs a key.
        based: Whether it can be told the basis of the carbon intensity.
    """

    name: str
    gives: tuple[str, ...]
    also: str
    coverage: str
    horizon: str
    licence: str
    upstream: str
    stamps: str = "starts of intervals, UTC"
    keyed: bool = False
    based: bool = False

    @property
    def key_state(self) -> str:
        """Such as "not needed", "set (environment)", "missing"."""
        if not self.keyed:
            return "not needed"
        _, place = find_key(self.name)
        return f"set ({place})" if place else "missing"


_ALL = ("carbon", "price", "weather")

FACTS = {
    facts.name: facts
    for facts in (
        Facts("csv", _ALL, "", "your own file", "as the file", "your own", "the file", "as you declare them"),
        Facts(
            "demo", _ALL, "", "three made-up zones", "four weeks of 2024", "Apache-2.0, synthetic", "demo", based=True
        ),
        Facts(
            "electricity-maps",
            ("carbon", "price"),
            "",
            "carbon worldwide, prices where there is an exchange, zones as DE, US-CAL-CISO",
            "72 h, published prices to the end of the next day",
            "by contract",
            "Electricity Maps",
            keyed=True,
            based=True,
        ),
        Facts(
            "eia",
            ("carbon",),
            "solar generation",
            "United States, zones as CISO, ERCO, PJM",
            "the past, some hours late",
            "public domain",
            "EIA",
            "ends of hours, UTC",
            keyed=True,
            based=True,
        ),
        Facts(
            "energy-charts",
            ("carbon", "price"),
            "solar generation",
            "Europe, zones as DE-LU, FR",
            "prices to the end of the next day, carbon the past",
            "differs by zone, mostly CC BY 4.0",
            "ENTSO-E",
            based=True,
        ),
        Facts(
            "entsoe",
            ("carbon", "price"),
            "forecasts of wind, solar and all generation",
            "Europe, zones as DE-LU, NO2",
            "prices and forecasts to the end of the next day, carbon the past",
            "CC BY 4.0",
            "ENTSO-E",
            keyed=True,
            based=True,
        ),
        Facts(
            "open-meteo",
            ("weather",),
            "wind speed at 100 m",
            "worldwide, by latitude and longitude",
            "16 days",
            "CC BY 4.0, free for non-commercial use",
            "Open-Meteo",
            "starts of hours, of irradiance ends, UTC",
        ),
        Facts(
            "uk-carbon-intensity",
            ("carbon",),
            "",
            "Great Britain: GB, and regions GB-1 to GB-17",
            "48 h",
            "CC BY 4.0",
            "NESO",
            based=True,
        ),
        Facts(
            "watttime",
            (),
            "marginal carbon",
            "North America, Europe and others, regions as CAISO_NORTH",
            "72 h",
            "by contract",
            "WattTime",
            keyed=True,
        ),
    )
}
"""Every provider by its name."""

PROVIDERS = tuple(FACTS)


def facts_of(provider: str) -> Facts:
    """Return what is known of a provider.

    Raises:
        ConfigError: There is none of that name.
    """
    if provider not in FACTS:
        raise ConfigError(
            f"there is no source {provider!r}",
            fix=f"{did_you_mean(provider, PROVIDERS)}known are {', '.join(PROVIDERS)}",
        )
    return FACTS[provider]
