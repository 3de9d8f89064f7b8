"""The carbon of a schedule by site: of what each site imports and makes, shared out by IT energy, and of data moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.geography import transfer_kg
from planner.moved import moves_of
from planner.moves import way_kg
from power.carbon import carbon_kg
from power.generation import generation_kg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.dispatch import BlockFlows
    from planner.geography import Transfer
    from planner.moved import Moved
    from planner.moves import Stay
    from planner.schedule import Schedule
    from planner.week import Week


def site_carbon_kg(week: Week, flows: Sequence[BlockFlows]) -> dict[str, npt.NDArray[np.float64]]:
    """Return each site's carbon in each slot, kgCO2e, shape (T,), by what its blocks carry.

    Args:
        week: All inputs.
        flows: Power of every block, in the week's order.
    """
    slot_h, found = week.grid.slot_h, {}
    for site in ("", *(other.name for other in week.others)):
        ci_gco2_per_kwh = week.seen_from(site).signals.ci_gco2_per_kwh
        here = [(block, f) for block, f in zip(week.blocks, flows, strict=True) if block.site == site]
        kg = sum((carbon_kg(ci_gco2_per_kwh, f.import_kw, slot_h) for _, f in here), np.zeros(week.grid.n_slots))
        for block, f in here:
            for group, kw in zip(block.generators, f.groups_kw, strict=True):
                kg = kg + generation_kg(group, kw, slot_h)
        found[site] = kg
    return found


def site_kg_per_kwh(
    week: Week, flows: Sequence[BlockFlows], site_kg: Mapping[str, npt.NDArray[np.float64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return each site's carbon per kWh of IT energy in each slot, kg/kWh, shape (T,), by what its blocks carry.

    Args:
        week: All inputs.
        flows: Power of every block, in the week's order.
        site_kg: Its carbon, from `site_carbon_kg`.
    """
    found = {}
    for site, kg in site_kg.items():
        here = [f.it_kw for block, f in zip(week.blocks, flows, strict=True) if block.site == site]
        kwh = sum(here, np.zeros(week.grid.n_slots)) * week.grid.slot_h
        found[site] = np.divide(kg, kwh, out=np.zeros(week.grid.n_slots), where=kwh > 0.0)
    return found


def gang_kg_per_kwh(
    week: Week, stays: Sequence[Stay], by_site: Mapping[str, npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """Return what that makes for a gang where it is, by its pool's shares, kg/kWh, shape (T,).

    Args:
        week: All inputs.
        stays: Where the gang is on, in order; none for a run that does not run.
        by_site: Carbon per kWh of each site, from `site_kg_per_kwh`.
    """
    if not stays:
        return by_site[""]
    found = _pool_rate(week, stays[0].pool, by_site)
    for stay in stays[1:]:
        found[stay.first : stay.after] = _pool_rate(week, stay.pool, by_site)[stay.first : stay.after]
    return found


def _pool_rate(week: Week, pool: str, by_site: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    parts = [share * by_site[week.block(name).site] for name, share in week.pool(pool).shares]
    return np.array(np.sum(parts, axis=0))


def moved_kg(week: Week, schedule: Schedule) -> float:
    """Return the carbon of all moves of a schedule, kgCO2e."""
    return sum(way_kg(week, move.way, move.slot) for move in moves_of(week, schedule) if move.way is not None)


def moved_sentences(week: Week, schedule: Schedule) -> list[str]:
    """Return one sentence for each move of a schedule."""
    return [_moved_sentence(week, move) for move in moves_of(week, schedule)]


def _moved_sentence(week: Week, move: Moved) -> str:
    when = week.grid.starts[move.slot].astimezone(week.tz).strftime("%a %d %b %H:%M %Z")
    before = f" on {move.gpus_before:,} GPUs" if move.gpus_before not in {None, move.gpus} else ""
    told = f"Run {move.run!r} goes on {when}"
    if move.target == move.origin:
        return f"{told} on {move.gpus:,} GPUs of pool {move.target} after {move.gpus_before:,}."
    took = ""
    if move.way is not None and (move.way.time_s or move.way.energy_kwh or move.way.cost):
        way = move.way
        took = f": {way.time_s:,.0f} s, {way.energy_kwh:,.0f} kWh, {way.cost:,.2f} {week.prices.currency}"
    return f"{told} on {move.gpus:,} GPUs of pool {move.target} after pool {move.origin}{before}{took}."


def brought_kg(week: Week, schedule: Schedule) -> float:
    """Return the carbon of all transfers of a schedule, kgCO2e."""
    return sum(transfer_kg(week, one) for _, one in _brought(week, schedule))


def brought_sentences(week: Week, schedule: Schedule) -> list[str]:
    """Return one sentence for each transfer of a schedule."""
    return [
        f"The data of run {run!r}, {one.size_tb:g} TB, goes from {one.origin} to {one.target}: {one.hours:.1f} h "
        f"from the start of the week, {one.energy_kwh:,.0f} kWh, {one.cost:,.2f} {week.prices.currency}."
        for run, one in _brought(week, schedule)
    ]


def _brought(week: Week, schedule: Schedule) -> list[tuple[str, Transfer]]:
    pools = {run.run: {run.pool, *(stay.pool for stay in run.stays)} for run in schedule.runs}
    return [
        (run.name, one)
        for run in week.runs
        for option in {option.pool: option for option in run.options}.values()
        for one in (option.transfers if option.pool in pools[run.name] else ())
    ]
