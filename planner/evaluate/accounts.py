"""Energy, carbon and money of a replay, and the share of each run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.budget import over_budget_cost
from planner.evaluate.finding import figure
from planner.evaluate.own_supply import generation_money
from planner.evaluate.record import CostTerms, Violation
from planner.timegrid import iso
from power.battery import FREE
from power.carbon import carbon_kg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from planner.evaluate.bill import Bill
    from planner.evaluate.record import BlockResult
    from planner.evaluate.replay import BlockReplay, Pieces
    from planner.evaluate.trace import RunTrace
    from planner.week import Signals, Week

STATED_SHARE = 1e-4
_DAY = timedelta(hours=24)


def carbon_per_it_kwh(week: Week, signals: Signals, blocks: Sequence[BlockResult]) -> npt.NDArray[np.float64]:
    """Return the carbon of blocks over their IT energy per slot, kg/kWh, shape (T,); 0 where there is no IT energy.

    Args:
        week: All inputs; blocks of further sites count by these sites' own signals.
        signals: Grid and weather of the site that the week is named after.
        blocks: The judge's figures of the blocks.
    """
    slot_h = week.grid.slot_h
    kg, it_kwh = np.zeros(week.grid.n_slots), np.zeros(week.grid.n_slots)
    for block in blocks:
        site = week.block(block.block).site
        grid = week.seen_from(site).signals if site else signals
        kg += carbon_kg(grid.ci_gco2_per_kwh, block.import_kw, slot_h) + block.generation_kg
        it_kwh += block.it_kw * slot_h
    return np.divide(kg, it_kwh, out=np.zeros_like(kg), where=it_kwh > 0.0)


def window_carbon_kg(
    seen: RunTrace, gang_kw: npt.NDArray[np.float64], kg_per_kwh: npt.NDArray[np.float64], cut: Pieces
) -> npt.NDArray[np.float64]:
    """Return the carbon of each of a run's windows by its IT energy, kg, shape (W,)."""
    kg = gang_kw * cut.length_s / 3600.0 * kg_per_kwh[cut.slot]
    made = np.concatenate(([0.0], np.cumsum(kg)))
    at_s = np.append(cut.start_s, cut.start_s[-1] + cut.length_s[-1])
    return np.asarray(np.interp(seen.end_s, at_s, made) - np.interp(seen.start_s, at_s, made))


def check_accounts(
    seen: RunTrace, energy_kwh: npt.NDArray[np.float64], carbon: npt.NDArray[np.float64]
) -> Iterator[Violation]:
    """Yield where a window's stated energy or carbon differs from the replay by over 0.01 %."""
    for kind, stated, replayed, unit in (
        ("energy", np.array([w.energy_kwh for w in seen.windows]), energy_kwh, "kWh"),
        ("carbon", np.array([w.kgco2e for w in seen.windows]), carbon, "kg"),
    ):
        off = np.abs(stated - replayed) - 1e-5 - STATED_SHARE * np.abs(replayed)
        i = int(np.argmax(off))
        if off[i] > 0.0:
            at = seen.windows[i].start
            yield Violation(
                kind,
                seen.run.name,
                at,
                float(stated[i]),
                float(replayed[i]),
                unit,
                f"run {seen.run.name} states {figure(stated[i])} {unit} of {kind} in its window from {iso(at)}, "
                f"but the replay gives {figure(replayed[i])} {unit}",
            )


def lateness_cost(week: Week, seen: RunTrace) -> float:
    """Return the price of work missing at deadlines, and again each further day in the horizon while it is missing."""
    run, total = seen.run, 0.0
    tokens_per_h = run.best_tokens_per_gpu_s * 3600.0
    for _, deadline, due in week.due_tokens(run):
        looked_at = deadline
        while looked_at <= week.grid.end:
            missing = max(0.0, due - seen.tokens_by((looked_at - week.grid.start).total_seconds()))
            total += missing / tokens_per_h
            looked_at += _DAY
    return total * week.prices.lateness_per_gpu_h * run.lateness_weight


def cost_terms(
    week: Week, seen: Sequence[BlockReplay], traces: Sequence[RunTrace], bill: Bill, site_kg: float, **beside: float
) -> CostTerms:
    """Return the horizon's money by what it is for.

    Args:
        week: All inputs.
        seen: The replay of every block.
        traces: The replay of every run.
        bill: The bill of the import.
        site_kg: Carbon of all that counts, kgCO2e.
        beside: Terms that are worked out elsewhere: `export`, `ppa`, `transfer`.
    """
    slot_h, blocks = week.grid.slot_h, [replay.result for replay in seen]
    wear = sum(
        float(result.discharge_kw.sum()) * slot_h * block.battery.wear_cost_per_kwh
        for block, result in zip(week.blocks, blocks, strict=True)
        if block.battery is not None
    )
    return CostTerms(
        energy=bill.energy,
        demand=bill.demand,
        water=sum(float(b.water_l.sum()) for b in blocks) / 1000.0 * week.prices.water_per_m3,
        wear=wear,
        carbon=site_kg / 1000.0 * week.prices.carbon_per_t,
        lateness=sum(lateness_cost(week, t) for t in traces),
        over_budget=over_budget_cost(week, site_kg),
        contracts=bill.contracted,
        generation=sum(generation_money(week, b, replay.own) for b, replay in zip(week.blocks, seen, strict=True)),
        stored=sum(
            -float(result.battery_kwh[-1]) * b.battery.final_worth_per_kwh
            for b, result in zip(week.blocks, blocks, strict=True)
            if b.battery is not None and b.battery.final_rule == FREE
        ),
        heat=-sum(
            float(result.heat_sold_kw_th.sum()) * slot_h * block.heat.price_per_kwh
            for block, result in zip(week.blocks, blocks, strict=True)
            if block.heat is not None
        ),
        **beside,
    )
