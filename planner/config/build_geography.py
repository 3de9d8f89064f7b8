"""From the tables of further sites, links and data to what a plan is made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.config import model
from planner.config.build_supply import place_of
from planner.config.other_site import OtherPlace
from planner.errors import ConfigError
from planner.geography import Transfer
from power.tariff import Tariff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from zoneinfo import ZoneInfo

    from planner.config.build_supply import Place
    from planner.config.geography_tables import DataTable, LinkTable, OtherSiteTable
    from planner.pool import Pool
    from planner.run import PoolOption, Run

GB_PER_TB = 1000.0
SECONDS_PER_H = 3600.0


def site_table(table: OtherSiteTable, first: model.SiteTable) -> model.SiteTable:
    """Return what a further site says of its place, in the form of [site]."""
    return model.SiteTable(
        name=table.name,
        timezone=table.timezone,
        latitude=table.latitude,
        longitude=table.longitude,
        zone=table.zone,
        currency=table.currency or first.currency,
    )


def other_place(table: OtherSiteTable, first: model.SiteTable) -> OtherPlace:
    """Return a further site; its tariff in the plan's currency."""
    rate = table.exchange_rate or 1.0
    tariff = table.tariff
    return OtherPlace(
        place=site_table(table, first),
        sources=table.sources or model.SourcesTable(),
        flat_price_per_kwh=None if tariff is None else tariff.energy_per_kwh,
        tariff=Tariff() if tariff is None else Tariff(adder_per_kwh=rate * tariff.adder_per_kwh),
        exchange_rate=rate,
    )


def places_of(others: Iterable[OtherPlace], carbon: model.CarbonTable, tz: ZoneInfo) -> dict[str, Place]:
    """Return what of each further site own supply depends on, by its name; `tz` is the one of the file's dates."""
    return {other.name: place_of(other.place, carbon, tz) for other in others}


def with_data(
    run: Run,
    data: DataTable | None,
    pools: Mapping[str, Pool],
    site_of_block: Mapping[str, str],
    links: Iterable[LinkTable],
) -> Run:
    """Return a run with what brings its data to each of its pools; pools that no link reaches are left out.

    The data is there already in the pool in which the run is running as the horizon starts.

    Args:
        run: The run.
        data: Where its data lies, or None where it lies everywhere.
        pools: Pools by name.
        site_of_block: Name of the site of each block.
        links: Links between sites.

    Raises:
        ConfigError: No pool is left.
    """
    if data is None:
        return run
    by_ends = {frozenset(link.between): link for link in links}
    options: list[PoolOption] = []
    for option in run.options:
        sites = {site_of_block[block] for block, _ in pools[option.pool].shares} - {data.site}
        if option.pool == run.running_in:
            sites = set()
        reached = [by_ends.get(frozenset((data.site, site))) for site in sorted(sites)]
        found = tuple(
            _transfer(data, site, link) for site, link in zip(sorted(sites), reached, strict=True) if link is not None
        )
        if len(found) == len(sites):
            options.append(replace(option, transfers=found))
    if not options:
        raise ConfigError(
            f"no link brings the data of run {run.name!r} from {data.site!r} to any of its pools",
            fix="add a [[link]], or a pool at that site",
        )
    return replace(run, options=tuple(options))


def _transfer(data: DataTable, target: str, link: LinkTable) -> Transfer:
    return Transfer(
        origin=data.site,
        target=target,
        size_tb=data.size_tb,
        hours=data.size_tb * GB_PER_TB / link.rate_gb_per_s / SECONDS_PER_H,
        energy_kwh=data.size_tb * link.energy_kwh_per_tb,
        cost=data.size_tb * link.cost_per_tb,
    )
