"""The verdict: replay a calendar, check every promise, add up what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.accounts import check_accounts, cost_terms, window_carbon_kg
from planner.evaluate.agreements import agreement_money, check_agreements, ppa_flows
from planner.evaluate.bill import check_contracts, settle_bill
from planner.evaluate.budget import check_budget
from planner.evaluate.chances import SIMULATED_WEEKS, check_chances, with_chances
from planner.evaluate.cold import cold_change_kwh
from planner.evaluate.event_limits import promised_limits
from planner.evaluate.events import check_limits
from planner.evaluate.geography import (
    bill_of_sites,
    check_data,
    emitted_kg,
    export_money,
    moved,
    rates_by_site,
    run_rate,
    seen_by_site,
    site_results,
)
from planner.evaluate.header import check_header, check_names
from planner.evaluate.moves import changes, check_moves, migrated
from planner.evaluate.own_supply import check_own
from planner.evaluate.precedence import check_precedence
from planner.evaluate.promises import (
    check_deadlines,
    check_places,
    check_shortfalls,
    check_spells,
    check_windows,
    check_work,
    stages,
)
from planner.evaluate.record import Evaluation, RunResult
from planner.evaluate.replay import load, pieces, replay_block
from planner.evaluate.supply import check_block, check_pool, check_setpoint, check_stated
from planner.evaluate.trace import RunTrace, trace
from trainer_hooks.calendar import BlockPlan, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.evaluate.record import StageResult, Violation
    from planner.evaluate.replay import BlockReplay
    from planner.week import Signals, Week
    from power.events import ImportLimit
    from trainer_hooks.calendar import Calendar, RunCalendar


def evaluate(
    calendar: Calendar,
    runs: Sequence[RunCalendar],
    week: Week,
    signals: Signals | None = None,
    simulated_weeks: int = SIMULATED_WEEKS,
    limits: Sequence[ImportLimit] | None = None,
) -> Evaluation:
    """Replay a calendar on the physics and check every promise.

    What the calendar states is held against the week's own signals, which it was made from. Physical limits and all
    figures of the result follow `signals` where they are given. Starts and stops off the planner's coarser on-off grid
    break no promise: the grid is a means of planning.

    Args:
        calendar: The header.
        runs: The windows of every run.
        week: The inputs that the calendar was made from.
        signals: Grid and weather as they were, or None for the week's own.
        simulated_weeks: Weeks with failures to simulate for each run whose failures are known.
        limits: Most import that events ask for, over stretches of time, or None for what the calendar says it promised.
    """
    found = check_header(calendar, runs, week)
    found += check_names(calendar, runs, week)
    given = {r.run: r.windows for r in runs}
    for run in week.runs:
        found += check_windows(week, run, given.get(run.name, ()))
    traces = [trace(week, run, given.get(run.name) or (_off(week),)) for run in week.runs]
    cut = pieces(week, traces)
    asked = load(week, traces, cut)
    plans = _plans(week, calendar)
    stated = [replay_block(week.here(b), b, plans[b.name], asked.it_kw[b.name], cut, None) for b in week.blocks]
    seen = stated
    if signals is not None:
        seen = [replay_block(week.here(b), b, plans[b.name], asked.it_kw[b.name], cut, signals) for b in week.blocks]
    for pool in week.pools:
        found += check_pool(week, pool, asked, cut)
    for block, by_plan, by_actual in zip(week.blocks, stated, seen, strict=True):
        found += check_block(week.here(block), block, by_actual, cut)
        found += check_setpoint(week, block, plans[block.name])
        found += check_stated(week, plans[block.name], by_plan)
        found += check_own(week.here(block), block, plans[block.name], by_actual)
    found += check_limits(week, promised_limits(calendar) if limits is None else limits, seen, cut)
    stated_rates = rates_by_site(week, None, [s.result for s in stated])
    rates = rates_by_site(week, signals, [s.result for s in seen])
    stated_kw = np.sum([s.result.import_kw for s in stated], axis=0)
    found += check_contracts(week, calendar.contracts, stated_kw)
    found += check_budget(week, calendar.carbon_budget, emitted_kg(week, None, traces, [s.result for s in stated]))
    taken_kw = sum((np.array(plan.take_kw) for plan in calendar.contracts), np.zeros(week.grid.n_slots))
    found += check_agreements(week, calendar, stated_kw, taken_kw)
    results: list[RunResult] = []
    by_name = {run_trace.run.name: run_trace for run_trace in traces}
    for run_trace in traces:
        stated_kg_per_kwh, kg_per_kwh = (run_rate(week, run_trace, by_site) for by_site in (stated_rates, rates))
        gang_kw = asked.gang_kw[run_trace.run.name]
        energy_kwh = run_trace.gang_kw * (run_trace.end_s - run_trace.start_s) / 3600.0
        done = stages(week, run_trace, calendar.shortfalls)
        done = with_chances(week, run_trace, done, calendar.calendar_id, simulated_weeks)
        found += [
            *check_places(week, run_trace),
            *check_data(week, run_trace),
            *check_moves(week, run_trace),
            *check_precedence(week, run_trace, by_name),
            *check_spells(week, run_trace),
            *check_work(week, run_trace),
            *check_deadlines(run_trace.run, done),
            *check_chances(run_trace.run.name, done),
            *check_accounts(run_trace, energy_kwh, window_carbon_kg(run_trace, gang_kw, stated_kg_per_kwh, cut)),
        ]
        carbon = float(window_carbon_kg(run_trace, gang_kw, kg_per_kwh, cut).sum())
        results.append(_run_result(run_trace, energy_kwh, carbon, done))
    found += check_shortfalls(week, calendar, {r.run: r for r in results})
    return _totals(week, signals or week.signals, traces, results, seen, found, calendar)


def _run_result(
    seen: RunTrace, energy_kwh: npt.NDArray[np.float64], carbon: float, done: tuple[StageResult, ...]
) -> RunResult:
    return RunResult(
        run=seen.run.name,
        pool=next((pool for pool in seen.pools if pool is not None), None),
        tokens=float(seen.tokens.sum()),
        energy_kwh=float(energy_kwh.sum()),
        carbon_kg=carbon,
        hours=float((seen.end_s - seen.start_s)[seen.running].sum()) / 3600.0,
        pauses=max(0, len(seen.spells) - 1),
        moves=changes(seen) if seen.run.moves else 0,
        stages=done,
    )


def _totals(
    week: Week,
    signals: Signals,
    traces: Sequence[RunTrace],
    results: Sequence[RunResult],
    seen: Sequence[BlockReplay],
    found: Sequence[Violation],
    calendar: Calendar,
) -> Evaluation:
    blocks = tuple(s.result for s in seen)
    slot_h = week.grid.slot_h
    site_kw = np.sum([b.import_kw for b in blocks], axis=0)
    flows = ppa_flows(week, calendar, None if signals is week.signals else signals, site_kw)
    generation_kg = sum(float(b.generation_kg.sum()) for b in blocks)
    parts = seen_by_site(week, None if signals is week.signals else signals)
    several, brought = len(parts) > 1, moved(week, traces)
    carried = migrated(week, None if signals is week.signals else signals, traces)
    bill = bill_of_sites(parts, blocks, slot_h) if several else settle_bill(week, signals, calendar.contracts, site_kw)
    site_kg = emitted_kg(week, None if signals is week.signals else signals, traces, blocks)
    stored = [
        float(result.battery_kwh[-1]) - block.battery.initial_share * block.battery.energy_kwh
        for block, result in zip(week.blocks, blocks, strict=True)
        if block.battery is not None
    ]

    def energy_kwh(name: str) -> float:
        return sum(float(getattr(b, name).sum()) for b in blocks) * slot_h

    return Evaluation(
        energy_kwh=energy_kwh("facility_kw"),
        import_kwh=energy_kwh("import_kw"),
        it_energy_kwh=energy_kwh("it_kw"),
        solar_kwh=energy_kwh("solar_kw"),
        curtailed_kwh=energy_kwh("curtailed_kw"),
        carbon_kg=site_kg,
        terms=cost_terms(
            week,
            seen,
            traces,
            bill,
            site_kg,
            export=export_money(parts, blocks, slot_h),
            ppa=agreement_money(week, signals, flows),
            transfer=sum(m.transfer.cost for m in brought) + sum(m.way.cost for m in carried),
        ),
        water_l=sum(float(b.water_l.sum()) for b in blocks),
        tokens=sum(r.tokens for r in results),
        peak_kw=float(site_kw.max()),
        battery_change_kwh=sum(stored),
        slot_h=slot_h,
        runs=tuple(results),
        blocks=blocks,
        violations=tuple(found),
        contracts=bill.contracts,
        wind_kwh=energy_kwh("wind_kw"),
        generation_kwh=energy_kwh("generation_kw"),
        generation_carbon_kg=generation_kg,
        export_kwh=energy_kwh("export_kw"),
        heat_sold_kwh_th=energy_kwh("heat_sold_kw_th"),
        heat_pump_kwh=energy_kwh("heat_pump_kw"),
        cold_change_kwh_th=sum(cold_change_kwh(b, r) for b, r in zip(week.blocks, blocks, strict=True)),
        sites=site_results(parts, blocks, slot_h, brought),
        transfer_kg=sum(m.carbon_kg for m in brought) + sum(m.carbon_kg for m in carried),
        transfer_kwh=sum(m.transfer.energy_kwh for m in brought) + sum(m.way.energy_kwh for m in carried),
    )


def _plans(week: Week, calendar: Calendar) -> dict[str, BlockPlan]:
    still = (0.0,) * week.grid.n_slots
    plans = {b.block: b for b in calendar.blocks if len(b.it_kw) == week.grid.n_slots}
    return {
        b.name: plans.get(b.name)
        or BlockPlan(b.name, still, still, still, still, still, still, still, still, (None,) * week.grid.n_slots)
        for b in week.blocks
    }


def _off(week: Week) -> Window:
    return Window(week.grid.start, week.grid.end, "off", None, None, 0, None, "none", 0.0, 0.0, 0.0, "")
