"""A further site as the planner uses it: what the file says of it, resolved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.config.model import SiteTable, SourcesTable
    from planner.config.site import Site
    from power.tariff import Tariff


@dataclass(frozen=True)
class OtherPlace:
    """A further site of a file without faults.

    Args:
        place: Name, time zone, position, grid zone, currency.
        sources: Providers of its series.
        flat_price_per_kwh: Energy price of its tariff in its own currency, or None where the price source gives a
            series.
        tariff: Its contract for energy, in the plan's currency.
        exchange_rate: Money of the plan for one unit of its currency.
    """

    place: SiteTable
    sources: SourcesTable
    flat_price_per_kwh: float | None
    tariff: Tariff
    exchange_rate: float

    @property
    def name(self) -> str:
        """Its name."""
        return self.place.name


def alone(site: Site, other: OtherPlace) -> Site:
    """Return a further site as a site of its own, with all pools and runs of the file.

    Args:
        site: The whole file.
        other: One of its further sites.
    """
    return replace(
        site,
        place=other.place,
        sources=other.sources,
        flat_price_per_kwh=other.flat_price_per_kwh,
        tariff=other.tariff,
        blocks=tuple(block for block in site.blocks if block.site == other.name),
        others=(),
    )


def first_alone(site: Site) -> Site:
    """Return the site that a file is named after without the further ones."""
    return replace(site, blocks=tuple(block for block in site.blocks if not block.site), others=())
