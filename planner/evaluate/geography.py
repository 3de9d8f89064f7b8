"""Several sites, judged one by one: carbon, energy and money of each, and whether a run's data was there in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.accounts import carbon_per_it_kwh
from planner.evaluate.bill import Bill
from planner.evaluate.moves import migrated, where
from planner.evaluate.record import SiteResult, Violation
from planner.geography import key_of, site_parts
from planner.timegrid import iso
from power.carbon import carbon_kg
from power.export import export_price_per_kwh
from power.tariff import energy_cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from planner.evaluate.record import BlockResult
    from planner.evaluate.trace import RunTrace
    from planner.geography import SitePart, Transfer
    from planner.week import Signals, Week

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Moved:
    """A run's data that was brought to another site.

    Args:
        run: Name of the run.
        transfer: The transfer.
        carbon_kg: Its carbon within the horizon, kgCO2e.
    """

    run: str
    transfer: Transfer
    carbon_kg: float


def seen_by_site(week: Week, signals: Signals | None) -> tuple[SitePart, ...]:
    """Return every site with its blocks; the one that the week is named after by other signals where given."""
    first, *others = site_parts(week)
    if signals is not None:
        first = replace(first, week=replace(first.week, signals=signals))
    return (first, *others)


def rates_by_site(
    week: Week, signals: Signals | None, blocks: Sequence[BlockResult]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return each site's carbon over its IT energy per slot, kg/kWh, shape (T,), by what its blocks carry."""
    results = {block.block: block for block in blocks}
    return {
        key_of(week, part.name): carbon_per_it_kwh(
            part.week, part.week.signals, [results[block.name] for block in part.blocks]
        )
        for part in seen_by_site(week, signals)
    }


def run_rate(week: Week, seen: RunTrace, rates: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Return the carbon per kWh of IT energy where a run's gang sits, kg/kWh, shape (T,)."""
    found = np.zeros(week.grid.n_slots)
    for pool, slots in where(seen, week.grid.n_slots, 3600.0 * week.grid.slot_h):
        here = np.zeros(week.grid.n_slots)
        for block, share in week.pool(pool).shares:
            here = here + share * rates[week.block(block).site]
        found[slots] = here[slots]
    return found


def moved(week: Week, traces: Sequence[RunTrace]) -> tuple[Moved, ...]:
    """Return what was brought to another site for the runs that ran there; carbon by half at either end."""
    found = []
    slot_s, n_slots = 3600.0 * week.grid.slot_h, week.grid.n_slots
    for seen in traces:
        used = {pool for pool in seen.pools if pool is not None}
        for option in {option.pool: option for option in seen.run.options}.values():
            for one in option.transfers if option.pool in used else ():
                rest_s, kg = 3600.0 * one.hours, 0.0
                ends = [week.seen_from(key_of(week, name)).signals for name in (one.origin, one.target)]
                for t in range(n_slots):
                    kwh = one.energy_kwh * min(rest_s, slot_s) / (3600.0 * one.hours)
                    kg += sum(0.5 * kwh * float(end.ci_gco2_per_kwh[t]) / 1000.0 for end in ends)
                    rest_s = max(0.0, rest_s - slot_s)
                found.append(Moved(seen.run.name, one, kg))
    return tuple(found)


def check_data(week: Week, seen: RunTrace) -> Iterator[Violation]:
    """Yield where a run holds GPUs of a pool before its data is there."""
    for option in {option.pool: option for option in seen.run.options}.values():
        held = [w.start for w in seen.windows if w.pool == option.pool and w.state != "off"]
        for one in option.transfers:
            there = week.grid.start + timedelta(hours=one.hours)
            if held and min(held) < there - _SECOND:
                sentence = (
                    f"run {seen.run.name} starts in pool {option.pool} at {iso(min(held))}, before its "
                    f"{one.size_tb:g} TB from {one.origin} are there at {iso(there.replace(microsecond=0))}"
                )
                yield Violation("data", seen.run.name, min(held), iso(min(held)), iso(there), "", sentence)


def bill_of_sites(parts: Sequence[SitePart], blocks: Sequence[BlockResult], slot_h: float) -> Bill:
    """Return the bill of several sites, each at its own rates; there are no contracts and no demand charges there."""
    spot = adders = 0.0
    for part in parts:
        rates, import_kw = part.week.rates(), _sum(part, blocks, "import_kw")
        spot += energy_cost(rates.energy_per_kwh, import_kw, slot_h)
        adders += energy_cost(rates.adder_per_kwh, import_kw, slot_h)
    return Bill(spot=spot, adders=adders, demand=0.0, contracts=())


def import_carbon_kg(parts: Sequence[SitePart], blocks: Sequence[BlockResult], slot_h: float) -> float:
    """Return the carbon of the import of all sites, each by its own grid, kgCO2e."""
    return sum(
        float(carbon_kg(part.week.signals.ci_gco2_per_kwh, _sum(part, blocks, "import_kw"), slot_h).sum())
        for part in parts
    )


def emitted_kg(week: Week, signals: Signals | None, traces: Sequence[RunTrace], blocks: Sequence[BlockResult]) -> float:
    """Return all carbon that counts: of import of every site, of generators, of bringing data and of moves, kgCO2e.

    Args:
        week: All inputs.
        signals: Grid and weather as they were, or None for the week's own.
        traces: The replay of every run.
        blocks: The judge's figures of every block.
    """
    imported = import_carbon_kg(seen_by_site(week, signals), blocks, week.grid.slot_h)
    made = sum(float(block.generation_kg.sum()) for block in blocks)
    carried = sum(m.carbon_kg for m in migrated(week, signals, traces))
    return imported + made + sum(m.carbon_kg for m in moved(week, traces)) + carried


def export_money(parts: Sequence[SitePart], blocks: Sequence[BlockResult], slot_h: float) -> float:
    """Return what export comes to at each site's price, below zero where it earns."""
    results = {block.block: block for block in blocks}
    return sum(
        -float(export_price_per_kwh(b.export, part.week.signals.price_per_kwh) @ results[b.name].export_kw) * slot_h
        for part in parts
        for b in part.blocks
        if b.export is not None
    )


def site_results(
    parts: Sequence[SitePart], blocks: Sequence[BlockResult], slot_h: float, brought: Sequence[Moved]
) -> tuple[SiteResult, ...]:
    """Return each site's figures; none where the week has one site.

    Args:
        parts: The sites.
        blocks: The judge's figures of every block.
        slot_h: Length of a slot, h.
        brought: What was brought from site to site.
    """
    if len(parts) == 1:
        return ()
    found = []
    for part in parts:
        import_kw = _sum(part, blocks, "import_kw")
        bill = bill_of_sites([part], blocks, slot_h)
        found.append(
            SiteResult(
                site=part.name,
                zone=part.zone,
                energy_kwh=float(_sum(part, blocks, "facility_kw").sum()) * slot_h,
                it_energy_kwh=float(_sum(part, blocks, "it_kw").sum()) * slot_h,
                import_kwh=float(import_kw.sum()) * slot_h,
                carbon_kg=import_carbon_kg([part], blocks, slot_h) + float(_sum(part, blocks, "generation_kg").sum()),
                energy_cost=bill.energy + export_money([part], blocks, slot_h),
                mean_gco2_per_kwh=float(part.week.signals.ci_gco2_per_kwh.mean()),
                mean_price_per_kwh=float(part.week.rates().total_per_kwh.mean()),
                brought_tb=sum(m.transfer.size_tb for m in brought if m.transfer.target == part.name),
            )
        )
    return tuple(found)


def _sum(part: SitePart, blocks: Sequence[BlockResult], name: str) -> npt.NDArray[np.float64]:
    names = {block.name for block in part.blocks}
    still = np.zeros(part.week.grid.n_slots)
    return np.asarray(sum((getattr(b, name) for b in blocks if b.block in names), still))
