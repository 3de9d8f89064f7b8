"""What a site file may say of the providers of its series."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from planner.config.fields import Table


class ProviderTable(Table):
    """A provider of series; its own options, which it reads and checks itself, stand beside these keys."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, frozen=True)

    provider: Literal[
        "csv",
        "demo",
        "electricity-maps",
        "eia",
        "energy-charts",
        "entsoe",
        "open-meteo",
        "uk-carbon-intensity",
        "watttime",
    ] = Field(description="name of the provider")
    zone: str | None = Field(default=None, description="zone as the provider names it; the site's zone where left out")
    fallback: list[ProviderTable] = Field(
        default=[], description="providers that are asked in turn where it has nothing fresh"
    )


class SourcesTable(Table):
    """Where the series come from; the bundled synthetic demo where left out."""

    carbon: ProviderTable | None = Field(default=None, description="carbon intensity")
    price: ProviderTable | None = Field(default=None, description="energy price")
    weather: ProviderTable | None = Field(default=None, description="dry bulb, wet bulb, sun and wind")
