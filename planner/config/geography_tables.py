"""What a site file may say of further sites, of the links between sites and of where a run's data lies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.config.fields import Money, Name, Signed, Table
from planner.config.source_tables import SourcesTable

Rate = Annotated[float, Field(gt=0, le=1e6)]
Size = Annotated[float, Field(gt=0, le=1e6)]


class OtherTariffTable(Table):
    """The contract for grid energy of a further site, in its own currency."""

    energy_per_kwh: Signed | None = Field(
        default=None, description="flat energy price, money per kWh; the price source's series where left out"
    )
    adder_per_kwh: Signed = Field(default=0.0, description="fees on top of the energy price, money per kWh")


class OtherSiteTable(Table):
    """A further site: blocks name it, runs choose among its pools."""

    name: Name = Field(description="name of the site")
    timezone: str = Field(description="IANA time zone of the site, such as Europe/London")
    latitude: float = Field(ge=-90, le=90, description="degrees north")
    longitude: float = Field(ge=-180, le=180, description="degrees east")
    zone: Name = Field(description="grid zone, as the carbon and price sources name it")
    currency: str | None = Field(
        default=None,
        pattern="^[A-Z]{3}$",
        description="ISO 4217 code of its prices and tariff; that of [site] where left out",
    )
    exchange_rate: Rate | None = Field(
        default=None, description="money of [site] for one unit of that currency, where it is another"
    )
    sources: SourcesTable | None = Field(
        default=None, description="where its series come from; the bundled synthetic demo where left out"
    )
    tariff: OtherTariffTable | None = Field(default=None, description="its contract for grid energy")


class LinkTable(Table):
    """A link between two sites, over which the data of runs is brought."""

    between: list[Name] = Field(min_length=2, max_length=2, description="names of the two sites")
    rate_gb_per_s: Rate = Field(description="what one transfer gets of it, GB/s")
    energy_kwh_per_tb: Money = Field(default=0.0, description="energy of the network, kWh per TB")
    cost_per_tb: Money = Field(default=0.0, description="money per TB, in the currency of [site]")


class DataTable(Table):
    """The data that a run needs."""

    site: Name = Field(description="name of the site where it lies as the horizon starts")
    size_tb: Size = Field(description="its size, TB of 1e12 bytes")
