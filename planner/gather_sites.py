"""The series of further sites, and what of them a week is made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.config.other_site import alone
from planner.geography import OtherSite
from planner.outlook import FIELDS, Gathered, gather_signals, series_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from planner.config.other_site import OtherPlace
    from planner.config.site import Site
    from planner.sources.cache import ResponseCache
    from planner.timegrid import TimeGrid

PRICE = FIELDS["price"]


def gather_others(
    site: Site,
    grid: TimeGrid,
    *,
    now: datetime,
    offline: bool,
    cache: ResponseCache | None,
    kept: Mapping[str, Gathered],
    fits: Callable[[Gathered, Site], bool],
) -> dict[str, Gathered]:
    """Return what the grid and the weather do at each further site, with prices in the plan's currency.

    Args:
        site: The whole file.
        grid: The slots.
        now: The present instant.
        offline: Whether to keep off the network.
        cache: Answers kept from earlier.
        kept: What was gathered for this week before, by name of the site.
        fits: Tells whether that is what a site asks for now.

    Raises:
        ConfigError: A source gives another basis or currency than the site asks for.
        DataUnavailable: A series cannot be had.
    """
    found = {}
    for other in site.others:
        there = alone(site, other)
        had = kept.get(other.name)
        if had is not None and fits(had, _paid(there, other.exchange_rate)):
            found[other.name] = had
        else:
            gathered = gather_signals(there, grid, now=now, offline=offline, cache=cache)
            found[other.name] = _converted(gathered, other, site.place.currency)
    return found


def other_sites(site: Site, gathered: Mapping[str, Gathered]) -> tuple[OtherSite, ...]:
    """Return the further sites of a week.

    Args:
        site: The whole file.
        gathered: Their series, from `gather_others`.
    """
    return tuple(
        OtherSite(
            name=other.name,
            timezone=other.place.timezone,
            zone=other.place.zone,
            signals=gathered[other.name].signals,
            tariff=other.tariff,
            provenance=gathered[other.name].provenance,
        )
        for other in site.others
    )


def _paid(there: Site, rate: float) -> Site:
    """Return a site whose flat price is in the plan's currency, as series that were kept have it."""
    flat = there.flat_price_per_kwh
    return there if flat is None else replace(there, flat_price_per_kwh=rate * flat)


def _converted(gathered: Gathered, other: OtherPlace, currency: str) -> Gathered:
    """Return series with prices in the plan's currency, which their provenance says."""
    if other.exchange_rate == 1.0:
        return gathered
    price_per_kwh = gathered.signals.price_per_kwh * other.exchange_rate
    told = f"at {other.exchange_rate:g} {currency} for 1 {other.place.currency}"
    return replace(
        gathered,
        signals=replace(gathered.signals, price_per_kwh=price_per_kwh),
        provenance=tuple(
            replace(entry, unit=f"{entry.unit} {told}", sha256=series_digest(price_per_kwh))
            if entry.signal == PRICE
            else entry
            for entry in gathered.provenance
        ),
        labels=(*gathered.labels, f"Prices of {other.name} are taken {told}."),
    )
