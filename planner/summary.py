"""A planned week in figures for machines, and in a few lines for people."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planner.carbon_budget import budget_missed
from planner.export import agreements_view, geography_view, moves_view, own_supply, power_view, wording
from planner.gang_facts import failure_note, gang_facts, points_left_out
from planner.timegrid import horizon_name, iso

if TYPE_CHECKING:
    from planner.evaluate import Evaluation
    from planner.outcome import Outcome, Savings
    from planner.schedule import CoolingFit, Plan

HEADLINE = "asap"
"""The way of working without a plan that savings are stated against first."""

_NAMED = 3
_LEFT_OFF_S = 2.0
"""A search leaves off a little before its limit; one that ends earlier than that ended by itself."""


def summary(outcome: Outcome, plan: Plan, files: Mapping[str, str]) -> dict[str, Any]:
    """Return a planned week as one JSON object.

    Args:
        outcome: The week, its calendar and the judge's figures.
        plan: What the program says about its quality.
        files: What was written: name -> path.

    Returns:
        Figures with their unit in the name: energy in kWh, carbon in kg CO2e, cost in the site's currency, water in L,
        power in kW, durations in s, shares of savings in %. `violations` counts broken promises, `shortfalls` names
        the promises that the plan itself does not keep.
    """
    week, found = outcome.week, outcome.evaluation
    savings = {other.name: _savings(other.savings, other.reason) for other in outcome.counterfactuals}
    headline = savings.get(HEADLINE, _savings(None, "no counterfactual was made"))
    return {
        "calendar_id": outcome.calendar.calendar_id,
        "site": week.site,
        "week": horizon_name(week.grid.start, week.grid.end, week.tz),
        "issued_at": iso(week.issued_at),
        "valid_from": iso(week.grid.start),
        "valid_until": iso(week.grid.end),
        "labels": list(outcome.labels),
        "status": plan.status,
        "mip_gap": plan.mip_gap,
        "objective": plan.objective,
        "bound": plan.bound,
        "build_s": round(plan.build_s, 3),
        "solve_s": round(plan.solve_s, 3),
        "size": dict(plan.size),
        "currency": week.prices.currency,
        "ci_basis": week.signals.ci_basis,
        "violations": len(found.violations),
        "violation_sentences": [violation.sentence for violation in found.violations],
        "deadlines": found.deadlines,
        "deadlines_kept": found.deadlines - found.deadlines_missed,
        **_budget(outcome),
        "shortfalls": [{**asdict(short), "deadline": iso(short.deadline)} for short in outcome.calendar.shortfalls],
        **_figures(found),
        "it_energy_kwh": found.it_energy_kwh,
        "import_kwh": found.import_kwh,
        "solar_kwh": found.solar_kwh,
        "curtailed_kwh": found.curtailed_kwh,
        **own_supply.figures(week, found),
        **power_view.figures(found),
        **agreements_view.figures(outcome),
        **geography_view.figures(found),
        **moves_view.totals(outcome),
        "battery_change_kwh": found.battery_change_kwh,
        "water_l": found.water_l,
        "peak_kw": found.peak_kw,
        "pue": found.pue,
        **_reuse(outcome),
        "cooling": [_cooling(fit, found) for fit in plan.cooling],
        "terms": asdict(found.terms),
        "baseline": {
            other.name: {
                **_figures(other.evaluation),
                "peak_kw": other.evaluation.peak_kw,
                "deadlines_kept": other.evaluation.deadlines - other.evaluation.deadlines_missed,
            }
            for other in outcome.counterfactuals
        },
        "saved": {"against": HEADLINE, **headline, **savings},
        "runs": [
            {
                "run": run.run,
                "pool": run.pool,
                "tokens": run.tokens,
                "energy_kwh": run.energy_kwh,
                "carbon_kg": run.carbon_kg,
                "tokens_per_joule": run.tokens_per_joule,
                "hours": run.hours,
                "pauses": run.pauses,
                **moves_view.figures(outcome, run),
                **gang_facts(week, run),
            }
            for run in found.runs
        ],
        "failures": failure_note(week),
        "points_left_out": points_left_out(week),
        "files": dict(files),
    }


def _budget(outcome: Outcome) -> dict[str, Any]:
    """Return what the plan says of its carbon budget, where it has one."""
    plan = outcome.calendar.carbon_budget
    return {} if plan is None else {"carbon_budget": asdict(plan)}


def _figures(found: Evaluation) -> dict[str, float]:
    return {
        "energy_kwh": found.energy_kwh,
        "carbon_kg": found.carbon_kg,
        "cost": found.cost,
        "tokens": found.tokens,
    }


def _reuse(outcome: Outcome) -> dict[str, float]:
    """Return the figures of tanks and of heat sold, where the site has any."""
    found, blocks = outcome.evaluation, outcome.week.blocks
    told = {"cold_change_kwh_th": found.cold_change_kwh_th} if any(block.has_tank for block in blocks) else {}
    if any(block.heat is not None for block in blocks):
        told |= {
            "heat_sold_kwh_th": found.heat_sold_kwh_th,
            "heat_pump_kwh": found.heat_pump_kwh,
            "erf": found.erf,
            "ere": found.ere,
        }
    return told


def _cooling(fit: CoolingFit, found: Evaluation) -> dict[str, float | str | None]:
    """Return how well the program followed a block's cooling, with the replay's cooling energy beside its own."""
    (block,) = (block for block in found.blocks if block.block == fit.block)
    replay_kwh = float(block.cooling_kw.sum()) * found.slot_h
    off_pct = 100.0 * (fit.energy_kwh / replay_kwh - 1.0) if replay_kwh else None
    return {**asdict(fit), "replay_kwh": replay_kwh, "off_pct": off_pct}


def _savings(savings: Savings | None, reason: str) -> dict[str, float | str | None]:
    if savings is None:
        return {"carbon_pct": None, "cost_pct": None, "energy_pct": None, "reason": reason}
    return asdict(savings)


def fault_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return a line for each promise that a plan does not keep, and what becomes of one that breaks any in silence."""
    left = "note: the calendar in force stays as it was; this one is published beside it and not followed."
    return (
        *(f"not kept: {short.sentence}" for short in outcome.calendar.shortfalls),
        *(f"not kept: {sentence}" for sentence in budget_missed(outcome.calendar)),
        *(f"broken: {violation.sentence}" for violation in outcome.evaluation.violations),
        *(() if outcome.evaluation.clean else (left,)),
    )


def closing_lines(outcome: Outcome, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is said at the end of a planning: carbon, cost, energy, deadlines, offers and agreements, files.

    Args:
        outcome: The week, its calendar and the judge's figures.
        files: What was written: name -> path.
    """
    found = outcome.evaluation
    kept = found.deadlines - found.deadlines_missed
    late = [f"{run.run} {stage.stage}" for run in found.runs for stage in run.stages if not stage.met]
    more = f" and {len(late) - _NAMED} more" if len(late) > _NAMED else ""
    names = f", late: {', '.join(late[:_NAMED])}{more}" if late else ""
    count = len(found.violations)
    broken = f"; the judge finds {count} broken {'promise' if count == 1 else 'promises'}" if count else ""
    peak = f"PUE {found.pue:.3f}, highest import {wording.power(found.peak_kw)}"
    reuse = f", heat sold {wording.energy(found.heat_sold_kwh_th)}" if found.heat_sold_kwh_th else ""
    return (
        f"carbon     {wording.carbon(found.carbon_kg)}{_against(outcome, 'carbon_pct')}",
        f"cost       {wording.money(found.cost, outcome.week.prices.currency)}{_against(outcome, 'cost_pct')}",
        f"energy     {wording.energy(found.energy_kwh)}{_against(outcome, 'energy_pct')}; {peak}{reuse}",
        f"deadlines  {kept} of {found.deadlines} kept{names}{broken}",
        *(f"offer      {sentence.removeprefix('Offer ')}" for sentence in power_view.offer_sentences(outcome)),
        *agreements_view.closing_lines(outcome),
        *geography_view.closing_lines(outcome),
        *moves_view.closing_lines(outcome),
        f"files      {_within(tuple(files.values()))}",
    )


def _against(outcome: Outcome, name: str) -> str:
    told = []
    for other in outcome.counterfactuals:
        saved = None if other.savings is None else getattr(other.savings, name)
        if saved is not None:
            told.append(wording.compared(saved, other.name))
    return f" ({', '.join(told)})" if told else ""


def _within(paths: tuple[str, ...]) -> str:
    """Return paths as their common folder, and each one's place in it."""
    folder = os.path.commonpath(paths)
    return f"{folder}: {', '.join(os.path.relpath(path, folder) for path in paths)}"


def ended_early(plan: Plan, time_limit_s: float) -> str:
    """Return a sentence about a search that ended above the gap asked for.

    Args:
        plan: What it found.
        time_limit_s: The time that it had, s.
    """
    reached = f"at a certified gap of {100 * plan.mip_gap:.2f} %"
    if plan.build_s + plan.solve_s < time_limit_s - _LEFT_OFF_S:
        return f"the search ended {reached} before its time was over: it knows no way to a better plan or bound."
    return f"the planning time ran out {reached}; --time-limit gives more."
