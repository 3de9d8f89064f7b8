"""Several sites in words and rows: carbon and money of each, what was brought where, and who runs where."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planner.export import wording
from planner.geography import site_parts

if TYPE_CHECKING:
    from planner.evaluate import Evaluation
    from planner.outcome import Outcome
    from planner.week import Provenance

HEADS = ("Site", "Zone", "Grid", "Price", "IT energy", "Import", "Carbon", "Energy paid", "Brought", "Runs")


def site_rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return one row per site and one for all; none where the week has one site."""
    found, week = outcome.evaluation, outcome.week
    if not found.sites:
        return ()
    currency = week.prices.currency
    homes = {block.name: part.name for part in site_parts(week) for block in part.blocks}
    runs: dict[str, list[str]] = {}
    for run in outcome.runs:
        pools = dict.fromkeys(window.pool for window in run.windows if window.pool is not None)
        for name in {homes[block]: 0 for pool in pools for block, _ in week.pool(pool).shares}:
            runs.setdefault(name, []).append(run.run)
    rows = [
        (
            site.site,
            site.zone,
            f"{site.mean_gco2_per_kwh:.0f} g/kWh",
            f"{site.mean_price_per_kwh:.3f} {currency}/kWh",
            wording.energy(site.it_energy_kwh),
            wording.energy(site.import_kwh),
            wording.carbon(site.carbon_kg),
            wording.money(site.energy_cost, currency),
            f"{site.brought_tb:g} TB" if site.brought_tb else "nothing",
            ", ".join(runs.get(site.site, [])) or "none",
        )
        for site in found.sites
    ]
    moved = (found.transfer_kwh, found.transfer_kg, found.terms.transfer)
    if any(moved):
        told = (wording.energy(moved[0]), wording.carbon(moved[1]), wording.money(moved[2], currency))
        rows.append(("between sites", "\u2013", "\u2013", "\u2013", "\u2013", *told, "\u2013", "\u2013"))
    return tuple(rows)


def against_heads(outcome: Outcome) -> tuple[str, ...]:
    """Return the heads of `against_rows`."""
    return ("", *(site.site for site in outcome.evaluation.sites))


def against_rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return IT energy by site for the plan and each way without it: name, then one cell per site."""
    told = [("plan", outcome.evaluation), *((other.name, other.evaluation) for other in outcome.counterfactuals)]
    return tuple((name, *(_share(found, i) for i in range(len(found.sites)))) for name, found in told if found.sites)


def _share(found: Evaluation, i: int) -> str:
    site = found.sites[i]
    return f"{wording.energy(site.it_energy_kwh)} IT, {wording.carbon(site.carbon_kg)}"


def provenance(outcome: Outcome) -> tuple[tuple[str, tuple[Provenance, ...]], ...]:
    """Return where the series of each further site come from: name of the site, one entry per signal."""
    return tuple((other.name, other.provenance) for other in outcome.week.others)


def figures(found: Evaluation) -> dict[str, Any]:
    """Return the figures of several sites for machines; nothing where there is one."""
    if not found.sites:
        return {}
    return {
        "sites": [asdict(site) for site in found.sites],
        "transfer_kwh": found.transfer_kwh,
        "transfer_kg": found.transfer_kg,
    }


def closing_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return one line per site for the end of a planning."""
    currency = outcome.week.prices.currency
    return tuple(
        f"site       {site.site} ({site.zone}): {wording.energy(site.it_energy_kwh)} IT, "
        f"{wording.carbon(site.carbon_kg)}, {wording.money(site.energy_cost, currency)} for energy"
        for site in outcome.evaluation.sites
    )
