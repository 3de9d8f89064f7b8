"""What the report says, as words and rows: the page itself only lays it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.carbon_budget import budget_missed
from planner.evaluate import Evaluation
from planner.export import moves_view, own_supply, power_view, wording
from planner.gang_facts import chance, failure_note
from planner.moves import moving_runs
from planner.timegrid import horizon_name, iso

if TYPE_CHECKING:
    from datetime import datetime

    from planner.evaluate import RunResult, StageResult
    from planner.outcome import Counterfactual, Outcome
    from planner.week import Block, Provenance
    from thermal.limit import PlanLimit

TOLD = {
    "asap": "as soon as possible, by priority, at full power",
    "steady": "each run spread evenly up to its deadline",
}
"""How each way of working without a plan is told."""


SIGNALS = {
    "ci_gco2_per_kwh": "Carbon intensity",
    "price_per_kwh": "Energy price",
    "dry_bulb_c": "Dry bulb",
    "wet_bulb_c": "Wet bulb",
    "ghi_w_per_m2": "Sun (global horizontal)",
    "wind_speed_m_per_s": "Wind speed",
}
"""How each signal is told."""


@dataclass(frozen=True)
class Card:
    """One figure of the headline: its name, value, and a line beneath."""

    name: str
    value: str
    notes: tuple[str, ...]
    bad: bool = False


@dataclass(frozen=True)
class StageRow:
    """One promise of work: when it is due, how much room is left, and whether it is kept."""

    name: str
    due: str
    margin: str
    kept: bool


@dataclass(frozen=True)
class RunRow:
    """One run of the table of runs."""

    name: str
    gpus: str
    place: str
    tokens: str
    stages: tuple[StageRow, ...]
    hours: str
    pauses: str
    energy: str
    carbon: str
    tokens_per_joule: str
    why: str


@dataclass(frozen=True)
class CompareRow:
    """One quantity for the plan and each way without it."""

    name: str
    plan: str
    others: tuple[tuple[str, str], ...]


def title(outcome: Outcome) -> str:
    """Return the title, such as "lab-8gpu, week 2024-W20"."""
    week = outcome.week
    name = horizon_name(week.grid.start, week.grid.end, week.tz)
    return f"{week.site}, {'week' if 'W' in name else 'month'} {name}"


def span(outcome: Outcome) -> str:
    """Return the span of the plan in site time with the zone's name."""
    week = outcome.week
    first, last = (wording.local(t, week.tz) for t in (week.grid.start, week.grid.end))
    return f"{first} to {last}, {week.timezone}"


def moment(outcome: Outcome, t: datetime) -> str:
    """Return an instant in site time."""
    return wording.local(t, outcome.week.tz)


def cards(outcome: Outcome) -> tuple[Card, ...]:
    """Return the headline: carbon, cost, energy, deadlines."""
    found, currency = outcome.evaluation, outcome.week.prices.currency
    kept = found.deadlines - found.deadlines_missed
    every = found.deadlines_missed == 0
    return (
        Card("Carbon", wording.carbon(found.carbon_kg), saved_lines(outcome, "carbon_pct")),
        Card("Cost", wording.money(found.cost, currency), saved_lines(outcome, "cost_pct")),
        Card(
            "Energy",
            wording.energy(found.energy_kwh),
            (
                f"PUE {found.pue:.3f}, highest import {wording.power(found.peak_kw)}",
                f"{wording.energy(found.it_energy_kwh)} of it IT, {wording.tokens(found.tokens)} tokens",
                *_heat_line(outcome),
            ),
        ),
        Card(
            "Deadlines",
            f"{kept} of {found.deadlines} kept",
            ("every promise of work is kept",) if every else (f"{found.deadlines_missed} not kept, named below",),
            bad=not every,
        ),
    )


def _heat_line(outcome: Outcome) -> tuple[str, ...]:
    found = outcome.evaluation
    if all(block.heat is None for block in outcome.week.blocks):
        return ()
    sold = wording.energy(found.heat_sold_kwh_th)
    return (f"{sold} of heat sold: ERF {found.erf:.3f}, ERE {found.ere:.3f}",)


def saved_lines(outcome: Outcome, name: str) -> tuple[str, ...]:
    """Return one line per way without a plan: how much less the plan takes, for the same tokens."""
    lines = []
    for other in outcome.counterfactuals:
        saved = None if other.savings is None else getattr(other.savings, name)
        lines.append(
            f"no figure against {other.name}: {other.reason or 'its own figure is not above zero'}"
            if saved is None
            else wording.compared(saved, other.name)
        )
    return tuple(lines)


def run_rows(outcome: Outcome) -> tuple[RunRow, ...]:
    """Return the table of runs in the week's order."""
    why = {
        run.run: next((w.why for w in run.windows if w.state == "run" and w.why), run.windows[0].why)
        for run in outcome.runs
    }
    return tuple(_run_row(outcome, result, why.get(result.run, "")) for result in outcome.evaluation.runs)


def _run_row(outcome: Outcome, result: RunResult, why: str) -> RunRow:
    week = outcome.week
    pauses = "no pause" if result.pauses == 0 else "1 pause" if result.pauses == 1 else f"{result.pauses} pauses"
    return RunRow(
        name=result.run,
        gpus=wording.count(week.run(result.run).gpus),
        place=moves_view.place(outcome, result),
        tokens=wording.tokens(result.tokens),
        stages=tuple(_stage_row(outcome, stage) for stage in result.stages),
        hours=wording.hours(result.hours),
        pauses=pauses if result.hours else "",
        energy=wording.energy(result.energy_kwh),
        carbon=wording.carbon(result.carbon_kg),
        tokens_per_joule=wording.number(result.tokens_per_joule) if result.energy_kwh else "\u2013",
        why=why,
    )


def failures(outcome: Outcome) -> str:
    """Return what is said of failures beneath the table of runs."""
    return f"Failures: {failure_note(outcome.week)}."


def _stage_row(outcome: Outcome, stage: StageResult) -> StageRow:
    week = outcome.week
    due = wording.local(stage.deadline, week.tz)
    if stage.deadline == week.grid.end:
        due = "end of the week"
    if stage.margin_h is None:
        margin = "not reached this week"
    elif stage.margin_h >= 0:
        margin = f"{wording.duration(stage.margin_h)} early" if stage.margin_h > 0.5 / 60 else "just in time"
    else:
        margin = f"{wording.duration(-stage.margin_h)} late"
    told = chance(stage)
    return StageRow(stage.stage, due, f"{margin}; {told}" if told else margin, stage.met)


def compare_rows(outcome: Outcome) -> tuple[CompareRow, ...]:
    """Return the plan beside each way without it, one row per quantity."""
    currency = outcome.week.prices.currency

    def money(amount: float) -> str:
        return wording.money(amount, currency)

    def row(name: str, tell: str, saved: str = "") -> CompareRow:
        def told(found: Evaluation) -> str:
            return _TELLERS[tell](found, money)

        return CompareRow(
            name,
            told(outcome.evaluation),
            tuple((told(other.evaluation), _saved(other, saved)) for other in outcome.counterfactuals),
        )

    week = outcome.week
    made, moving = any(block.generators for block in week.blocks), bool(moving_runs(week))
    sells, stores = any(b.heat is not None for b in week.blocks), any(b.has_tank for b in week.blocks)
    return (
        row(f"Carbon of the grid import{' and of generators' if made else ''}", "carbon", "carbon_pct"),
        row("Money paid", "cost", "cost_pct"),
        row("of which energy", "energy_cost"),
        *(row(name, tell) for name, tell in power_view.told_costs(week) + own_supply.told_costs(week)),
        row("of which demand charge", "demand"),
        row("of which battery wear and water", "other_cost"),
        *([row("of which bringing data to other sites", "transfer_cost")] if week.others and not moving else []),
        *([row("of which moves and bringing data to other sites", "transfer_cost")] if moving else []),
        *([row("of which heat sold", "heat_income")] if sells else []),
        row("Carbon at the plan's price (not paid)", "carbon_cost"),
        row("Facility energy", "energy", "energy_pct"),
        row("Grid import", "import"),
        *([row("Solar energy used", "solar")] if any(block.solar is not None for block in week.blocks) else []),
        *(row(name, tell) for name, tell in own_supply.told_energy(week)),
        row("Highest import", "peak"),
        row("Water", "water"),
        *(row(name, tell) for name, tell in _SOLD if sells),
        *([row("Cold in the tanks, change", "cold")] if stores else []),
        row("Tokens", "tokens"),
        row("Deadlines not kept", "missed"),
    )


_SOLD = (("Heat sold", "heat"), ("Heat pumps", "heat_pumps"), ("ERF", "erf"), ("ERE", "ere"))
"""Rows of heat sold: how each is told, and its teller."""

_Money = Callable[[float], str]
_TELLERS: dict[str, Callable[[Evaluation, _Money], str]] = {
    "carbon": lambda found, _: wording.carbon(found.carbon_kg),
    "cost": lambda found, money: money(found.cost),
    "energy_cost": lambda found, money: money(found.terms.energy),
    "demand": lambda found, money: money(found.terms.demand),
    "other_cost": lambda found, money: money(found.terms.wear + found.terms.water),
    "transfer_cost": lambda found, money: money(found.terms.transfer),
    "carbon_cost": lambda found, money: money(found.terms.carbon),
    "energy": lambda found, _: wording.energy(found.energy_kwh),
    "import": lambda found, _: wording.energy(found.import_kwh),
    "solar": lambda found, _: wording.energy(found.solar_kwh),
    "peak": lambda found, _: wording.power(found.peak_kw),
    "water": lambda found, _: wording.water(found.water_l),
    "heat_income": lambda found, money: money(found.terms.heat),
    "heat": lambda found, _: wording.energy(found.heat_sold_kwh_th),
    "heat_pumps": lambda found, _: wording.energy(found.heat_pump_kwh),
    "erf": lambda found, _: f"{found.erf:.3f}",
    "ere": lambda found, _: f"{found.ere:.3f}",
    "cold": lambda found, _: wording.energy(found.cold_change_kwh_th),
    "tokens": lambda found, _: wording.tokens(found.tokens),
    "missed": lambda found, _: f"{found.deadlines_missed} of {found.deadlines}",
    **own_supply.TELLERS,
    **power_view.TELLERS,
}


def _saved(other: Counterfactual, name: str) -> str:
    if not name or other.savings is None:
        return ""
    saved = getattr(other.savings, name)
    return "" if saved is None else f"plan: {wording.change(saved)}"


_REPLAYED = (
    ("Carbon of the grid import", "carbon", "carbon_kg"),
    ("Money paid", "cost", "cost"),
    ("Facility energy", "energy", "energy_kwh"),
    ("Grid import", "import", "import_kwh"),
    ("Solar energy used", "solar", "solar_kwh"),
    ("Highest import", "peak", "peak_kw"),
)
"""What is laid beside its replay: how it is told, and the judge's figure."""


def hindsight_rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return the plan beside its replay on the series as they were: quantity, planned, replayed, change."""
    if outcome.hindsight is None:
        return ()
    planned, actual = outcome.evaluation, outcome.hindsight.evaluation

    def money(amount: float) -> str:
        return wording.money(amount, outcome.week.prices.currency)

    return tuple(
        (
            name,
            _TELLERS[tell](planned, money),
            _TELLERS[tell](actual, money),
            wording.difference(getattr(planned, figure), getattr(actual, figure)),
        )
        for name, tell, figure in _REPLAYED
    )


def account_rows(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Return plan and telemetry side by side, one row per run: tokens, energy, tokens per joule, carbon, adherence."""
    return tuple(
        (
            account.run,
            _beside(account.planned_tokens, account.tokens, wording.tokens),
            _beside(account.planned_energy_kwh, account.energy_kwh, wording.energy) + _error(account.energy_error_kwh),
            _beside(account.planned_tokens_per_joule, account.tokens_per_joule, wording.number),
            _beside(account.planned_carbon_kg, account.carbon_kg, wording.carbon),
            "nothing reported" if account.adherence is None else wording.percent(account.adherence),
        )
        for account in outcome.accounts
    )


def _beside(planned: float | None, actual: float | None, tell: Callable[[float], str]) -> str:
    return " / ".join("\u2013" if value is None else tell(value) for value in (planned, actual))


def _error(energy_kwh: float) -> str:
    return f" \u00b1 {wording.energy(energy_kwh)}" if energy_kwh > 0 else ""


def unkept(outcome: Outcome) -> tuple[str, ...]:
    """Return one sentence per promise of work that the plan does not keep, and one of a carbon budget missed."""
    calendar = outcome.calendar
    return (*(short.sentence for short in calendar.shortfalls), *budget_missed(calendar))


def violations(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """Return (kind, sentence) of every promise that the judge finds broken."""
    return tuple((found.kind, found.sentence) for found in outcome.evaluation.violations)


def cooling_limit_told(block: Block, allowed: PlanLimit) -> str:
    """Return in a sentence what the cooling lets the plan take at the least, and what keeps it from more."""
    least = int(np.argmin(allowed.it_kw))
    least_kw, cause = float(allowed.it_kw[least]), str(allowed.cause[least])
    if not cause:
        return f"Its cooling lets the plan take {wording.power(block.plant.rated_it_kw)} of IT power in every hour."
    return (
        f"Its cooling lets the plan take {wording.power(least_kw)} of IT power at the least: "
        f"{wording.limit_cause(cause)}."
    )


def provenance_rows(entries: Sequence[Provenance]) -> tuple[tuple[str, ...], ...]:
    """Return one row per signal: name, source, unit, basis, licence, issued, flags, digest."""
    return tuple(
        (
            SIGNALS.get(entry.signal, entry.signal),
            entry.source,
            entry.unit,
            entry.basis or "\u2013",
            entry.licence or "not stated",
            iso(entry.issued_at) if entry.issued_at else "not stated",
            ", ".join(f"{flag}: {count} slots" for flag, count in entry.flags) or "none",
            entry.sha256[:12],
        )
        for entry in entries
    )


def facts(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """Return what identifies the plan: name and value."""
    week, calendar = outcome.week, outcome.calendar
    gap = "not proven" if calendar.certified_gap is None else f"within {wording.percent(calendar.certified_gap, 2)}"
    versions = ", ".join(f"{name} {number}" for name, number in sorted(calendar.inputs.get("versions", {}).items()))
    options = ", ".join(f"{name} {value}" for name, value in sorted(calendar.inputs.get("options", {}).items()))
    return (
        ("Calendar", calendar.calendar_id),
        ("Issued", iso(calendar.issued_at)),
        ("Valid (UTC)", f"{iso(calendar.valid_from)} to {iso(calendar.valid_until)}"),
        ("Slots", f"{calendar.n_slots} of {calendar.slot_minutes} min"),
        ("Status", calendar.status),
        ("Certified distance from the best plan", gap),
        ("Carbon intensity", f"average, {week.signals.ci_basis}, location-based"),
        ("Digest of the inputs", week.sha256[:24]),
        ("Options", options or "none"),
        ("Versions", versions or "not stated"),
    )
