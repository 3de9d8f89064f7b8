"""What further sites, links and data must be to each other and to the rest of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from planner.config.build_geography import site_table
from planner.config.faults import did_you_mean
from planner.config.providers import providers
from planner.errors import ConfigError
from planner.timegrid import zone

if TYPE_CHECKING:
    from planner.config import model
    from planner.config.draft import Draft, Placed
    from planner.config.geography_tables import LinkTable, OtherSiteTable

ALONE = ("contract", "ppa", "accounts", "demand_response")
"""Tables that a file of several sites does not have yet: they are of one site."""
CHARGES = ("demand_charge_per_kw_month", "contracted")


def check_geography(draft: Draft, folder: Path) -> tuple[str, ...]:
    """Note every fault of further sites, links, and what names them; return what is allowed but looks wrong.

    Args:
        draft: The tables that could be read.
        folder: Folder of the site file.
    """
    first = draft.single.get("site")
    own = "" if first is None else first.table.name
    names = [own, *(placed.table.name for placed in draft.other_sites)]
    for i, placed in enumerate(draft.other_sites, start=1):
        if placed.sound("name") and placed.table.name in names[:i]:
            placed.fault(
                ("name",), f"{placed.table.name!r} is the name of an earlier site", "give each site its own name"
            )
    for block in draft.blocks:
        _known(block, ("site",), block.table.site, names)
    for link in draft.links:
        _check_link(link, names)
    told = [text for run in draft.runs for text in _check_data(draft, run, names, own)]
    if draft.other_sites:
        _check_alone(draft)
    warnings: list[str] = []
    for placed in draft.other_sites:
        if _sound_place(placed) and first is not None and first.sound("currency"):
            _check_currency(placed, first.table)
            warnings += _check_sources(draft, placed, first.table, folder)
    return (*told, *warnings)


def _known(
    placed: Placed[model.BlockTable] | Placed[LinkTable] | Placed[model.RunTable],
    key: tuple[str | int, ...],
    name: str | None,
    names: list[str],
) -> None:
    if name is not None and name not in names:
        placed.fault(key, f"there is no site {name!r}", did_you_mean(name, names))


def _check_link(placed: Placed[LinkTable], names: list[str]) -> None:
    if not placed.sound("between"):
        return
    for i, name in enumerate(placed.table.between):
        _known(placed, ("between", i), name, names)
    if len(set(placed.table.between)) < len(placed.table.between):
        placed.fault(("between",), "names one site twice", "name the two sites that it lies between")


def _check_data(draft: Draft, placed: Placed[model.RunTable], names: list[str], own: str) -> list[str]:
    """Note a run whose data no link brings to its pools, and return what is said of those left out."""
    data = placed.table.data
    if data is None or not placed.sound("data"):
        return []
    _known(placed, ("data", "site"), data.site, names)
    if data.site not in names:
        return []
    sites = {block.table.name: block.table.site or own for block in draft.blocks}
    linked = {frozenset(link.table.between) for link in draft.links}
    allowed = [pool.table for pool in draft.pools_named(placed.table.pools)]
    out = []
    for pool in allowed:
        at = {sites.get(name, data.site) for name in (pool.block, *(part.block for part in pool.split))} - {data.site}
        if pool.name != placed.table.running_in and any(frozenset((data.site, site)) not in linked for site in at):
            out.append(pool.name)
    if allowed and len(out) == len(allowed):
        placed.fault(
            ("data",),
            f"lies at {data.site!r}, and no link brings it to any of its pools {out}",
            "add a [[link]], or a pool at that site",
        )
        return []
    return [f"run {placed.table.name!r}: no link brings its data from {data.site!r} to pool {name!r}." for name in out]


def _check_alone(draft: Draft) -> None:
    for key in ALONE:
        if key in draft.raw:
            draft.faults.add((key,), "stands in a file of several sites; it is of one site", "leave it out here")
    tariff = draft.single.get("tariff")
    if tariff is None:
        return
    for key in CHARGES:
        if getattr(tariff.table, key):
            tariff.fault((key,), "is of one site, and the file has several", "leave it out here")
    for i, period in enumerate(tariff.table.period):
        if period.demand_charge_per_kw_month:
            tariff.fault(
                ("period", i, "demand_charge_per_kw_month"),
                "is of one site, and the file has several",
                "leave it out here",
            )


def _sound_place(placed: Placed[OtherSiteTable]) -> bool:
    if placed.sound("timezone"):
        try:
            zone(placed.table.timezone)
        except ConfigError as error:
            placed.fault(("timezone",), error.what, did_you_mean(placed.table.timezone, sorted(available_timezones())))
            return False
    return not placed.wrong


def _check_currency(placed: Placed[OtherSiteTable], first: model.SiteTable) -> None:
    table = placed.table
    other = table.currency is not None and table.currency != first.currency
    if other and table.exchange_rate is None:
        placed.fault(
            ("exchange_rate",),
            f"is missing: prices are in {table.currency}, the plan counts {first.currency}",
            f"add exchange_rate = ... {first.currency} for one {table.currency}",
        )
    if not other and table.exchange_rate is not None:
        placed.fault(
            ("exchange_rate",), f"stands beside prices in {first.currency}, the plan's own money", "leave it out"
        )


def _check_sources(
    draft: Draft, placed: Placed[OtherSiteTable], first: model.SiteTable, folder: Path
) -> tuple[str, ...]:
    table, carbon = placed.table, draft.single["carbon"]
    if not carbon.sound("basis"):
        return ()
    owners = [block.table for block in draft.blocks if block.table.site == table.name]
    sunny, windy = (any(getattr(owner, key) is not None for owner in owners) for key in ("solar", "wind"))
    flat = table.tariff is not None and table.tariff.energy_per_kwh is not None
    groups = providers(
        table.sources or draft.single["sources"].table.__class__(),
        site_table(table, first),
        carbon.table.basis,
        folder,
        price_wanted=not flat,
        sun_wanted=sunny,
        wind_wanted=windy,
    )
    for provider in groups.values():
        for path, what, fix in provider.faults():
            key = path[1:] if path[0] == "site" else path
            placed.fault(key, what, fix)
    return tuple(warning for provider in groups.values() for warning in provider.warnings())
