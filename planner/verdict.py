"""What `gridpace check` says: the judge's verdict, and the plan beside its replay on the series as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.carbon_budget import budget_missed
from planner.export import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.evaluate import Evaluation, Violation
    from planner.outcome import Hindsight
    from trainer_hooks.contract import Calendar

FEW = 5
"""Sentences told of a calendar that is judged by other inputs than its own: the rest only repeats the cause."""

OTHER_INPUTS = "inputs"
_DIFFERENCES = {
    "run-unknown": ("run", "only in the calendar"),
    "run-missing": ("run", "only in the site file"),
    "block-unknown": ("block", "only in the calendar"),
    "block-missing": ("block", "only in the site file"),
}
"""What of the judge's findings says that a site file is another one: a noun, and where the name stands."""


def verdict(header: Calendar, found: Evaluation, hindsight: Hindsight | None) -> dict[str, Any]:
    """Return the verdict as one JSON object.

    Args:
        header: The calendar's header.
        found: The judge's figures on the series that the calendar was made from.
        hindsight: The same on the series as they were, or None where nobody asked.

    Returns:
        `clean` and `violations` by what the plan knew; with a hindsight also `planned` and `actual`: carbon in
        kg CO2e, cost in the site's currency, energy in kWh, highest import in kW.
    """
    told: dict[str, Any] = {
        "calendar_id": header.calendar_id,
        "clean": found.clean,
        "violations": _named(found.violations),
        "shortfalls": [short.sentence for short in header.shortfalls],
    }
    if hindsight is not None:
        told["planned"] = _figures(found)
        told["actual"] = {
            **_figures(hindsight.evaluation),
            "clean": not hindsight.broken,
            "violations": _named(hindsight.broken),
            "labels": list(hindsight.labels),
        }
    return told


def verdict_lines(header: Calendar, found: Evaluation, hindsight: Hindsight | None, currency: str) -> tuple[str, ...]:
    """Return the verdict for people; arguments as in `verdict`, and the ISO 4217 currency of the site's money.

    Where the calendar was made from other inputs than those it is judged by, that comes first, and of what follows from
    it only a few sentences.
    """
    kept = found.deadlines - found.deadlines_missed
    result = "clean" if found.clean else f"{len(found.violations)} broken"
    lines = _broken_lines(found.violations)
    lines += [f"announced: {short.sentence}" for short in header.shortfalls]
    lines += [f"announced: {sentence}" for sentence in budget_missed(header)]
    lines.append(f"{header.calendar_id}: {result}; {len(found.runs)} runs, {kept} of {found.deadlines} deadlines kept")
    if hindsight is not None:
        lines += _side_by_side(found, hindsight.evaluation, currency)
        lines += [f"on the actual series, {broken.kind}: {broken.sentence}" for broken in hindsight.broken]
    return tuple(lines)


def _broken_lines(broken: Sequence[Violation]) -> list[str]:
    if all(one.kind != OTHER_INPUTS for one in broken):
        return [f"{one.kind}: {one.sentence}" for one in broken]
    lines = [f"{one.kind}: {one.sentence}" for one in broken if one.kind not in {OTHER_INPUTS, *_DIFFERENCES}]
    rest = [f"and {len(lines) - FEW} more; --json has all {len(broken)}"] if len(lines) > FEW else []
    return [f"{OTHER_INPUTS}: {_cause(broken)}", *lines[:FEW], *rest]


def _cause(broken: Sequence[Violation]) -> str:
    """Return why a calendar and the inputs that it is judged by do not fit."""
    differ = []
    for kind, (noun, where) in _DIFFERENCES.items():
        names = [one.subject for one in broken if one.kind == kind]
        if names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            nouns, are = (noun, "is") if len(names) == 1 else (f"{noun}s", "are")
            differ.append(f"{nouns} {', '.join(names[:FEW])}{more} {are} {where}")
    if differ:
        return f"the site file is not the calendar's: {'; '.join(differ)}"
    return "the calendar was made from other inputs: the site file or its series have changed since"


def _side_by_side(planned: Evaluation, actual: Evaluation, currency: str) -> Iterable[str]:
    def line(name: str, plan: str, replay: str, change: str) -> str:
        return f"{name:<10} planned {plan}, on the actual series {replay}{f' ({change})' if change else ''}"

    difference = wording.difference
    yield line(
        "carbon",
        wording.carbon(planned.carbon_kg),
        wording.carbon(actual.carbon_kg),
        difference(planned.carbon_kg, actual.carbon_kg),
    )
    yield line(
        "cost",
        wording.money(planned.cost, currency),
        wording.money(actual.cost, currency),
        difference(planned.cost, actual.cost),
    )
    yield line(
        "energy",
        wording.energy(planned.energy_kwh),
        wording.energy(actual.energy_kwh),
        difference(planned.energy_kwh, actual.energy_kwh),
    )
    yield line(
        "peak",
        wording.power(planned.peak_kw),
        wording.power(actual.peak_kw),
        difference(planned.peak_kw, actual.peak_kw),
    )


def _named(broken: Iterable[Violation]) -> list[dict[str, str]]:
    return [{"kind": v.kind, "subject": v.subject, "sentence": v.sentence} for v in broken]


def _figures(found: Evaluation) -> dict[str, float]:
    return {
        "carbon_kg": found.carbon_kg,
        "cost": found.cost,
        "energy_kwh": found.energy_kwh,
        "peak_kw": found.peak_kw,
    }
