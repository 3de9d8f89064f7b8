"""The calendar that an answer makes of the one in force."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.agreements import ppa_plans
from planner.calendar_id import content_id
from planner.carbon_budget import budget_plan, emitted_kg
from planner.decimals import LAST, published
from planner.evaluate.promises import KEPT_SHARE
from planner.respond.course import made_by, windows_of
from planner.respond.site_load import block_plan, carbon_per_it_kwh
from planner.takes import best_takes
from planner.timegrid import iso
from power.event_limits import as_text
from trainer_hooks.calendar import RunCalendar, Shortfall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.respond.answer import Answer
    from planner.respond.course import Course
    from planner.week import Week
    from power.events import ImportLimit
    from trainer_hooks.contract import BlockPlan, Calendar, ContractPlan

_UNNAMED = "0"


def new_calendar(
    answer: Answer, before: Calendar, events: Sequence[str], asked_sha256: str, promised: Sequence[ImportLimit]
) -> tuple[Calendar, list[RunCalendar]]:
    """Return the calendar of an answer, the same for the same inputs.

    Args:
        answer: The answer; its week is made at the instant of decision.
        before: The calendar in force.
        events: Names of the events.
        asked_sha256: Digest of what they ask for.
        promised: Most import that it keeps to, those of earlier events too.

    Returns:
        The header and the windows of every run in the week's order.
    """
    week, pieces = answer.question.week, answer.question.pieces
    plans: dict[str, BlockPlan] = {
        block.name: block_plan(
            week,
            block,
            answer.question.plans[block.name],
            answer.flows[block.name],
            answer.loads[block.name],
            pieces,
        )
        for block in week.blocks
    }
    kg_per_kwh = carbon_per_it_kwh(week, plans)
    import_kw = np.sum([np.array(plan.import_kw) for plan in plans.values()], axis=0)
    contracts = _contracts(week, before, import_kw)
    taken_kw = np.sum([plan.take_kw for plan in contracts], axis=0)
    named = " and ".join(events)
    asked = {"sha256": asked_sha256, "name": named, "answered_from": before.calendar_id}
    if promised:
        asked["limits"] = as_text(promised)
    header = replace(
        before,
        calendar_id=_UNNAMED,
        issued_at=week.issued_at,
        inputs={
            **{key: value for key, value in before.inputs.items() if key != "rollback"},
            "week": {"sha256": week.sha256},
            "event": asked,
        },
        status=answer.status,
        certified_gap=None,
        shortfalls=tuple(_shortfalls(answer, before)),
        blocks=tuple(plans[plan.block] for plan in before.blocks),
        contracts=contracts,
        ppas=ppa_plans(week, import_kw, taken_kw),
        carbon_budget=budget_plan(week, float(emitted_kg(week, plans).sum()), proven=None),
        runs=(),
        notes=(*before.notes, f"Changed from {iso(week.issued_at)} on for event {named}."),
    )
    runs = [
        RunCalendar(
            calendar_id=_UNNAMED,
            issued_at=header.issued_at,
            valid_from=header.valid_from,
            valid_until=header.valid_until,
            site=header.site,
            run=course.run.name,
            windows=windows_of(week, course, pieces, kg_per_kwh),
        )
        for course in answer.courses
    ]
    name = content_id(header, runs)
    return replace(header, calendar_id=name), [replace(run, calendar_id=name) for run in runs]


def _contracts(week: Week, before: Calendar, import_kw: npt.NDArray[np.float64]) -> tuple[ContractPlan, ...]:
    """Return what is taken of the energy contracts for the new import; what was bought stays bought."""
    if not before.contracts:
        return ()
    takes = best_takes(week, import_kw, {plan.contract: plan.bought_share for plan in before.contracts})
    at = {contract.name: i for i, contract in enumerate(week.contracts)}
    return tuple(replace(plan, take_kw=published(takes.take_kw[at[plan.contract]])) for plan in before.contracts)


def _shortfalls(answer: Answer, before: Calendar) -> list[Shortfall]:
    week, pieces = answer.question.week, answer.question.pieces
    known = {(s.run, s.stage): s for s in before.shortfalls}
    planned = {c.run.name: c for c in answer.question.courses}
    found: list[Shortfall] = []
    for course in answer.courses:
        run = course.run
        full_per_h = 3600.0 * run.fastest_tokens_per_s
        for stage, deadline, due in week.due_tokens(run):
            at_s = (deadline - week.grid.start).total_seconds()
            short, was = (due - made_by(c, pieces, at_s) for c in (course, planned[run.name]))
            old = known.get((run.name, stage))
            if old is not None and abs(short - was) <= KEPT_SHARE * due:
                found.append(old)
            elif short > KEPT_SHARE * due:
                found.append(_short(week, course, stage, deadline, due, short, short / full_per_h))
    return found


def _short(
    week: Week, course: Course, stage: str, deadline: datetime, due: float, short: float, hours: float
) -> Shortfall:
    local = deadline.astimezone(week.tz).strftime("%Y-%m-%d %H:%M %Z")
    sentence = (
        f"run {course.run.name!r} misses stage {stage!r}, due {local}: {short:.4g} of {due:.4g} tokens "
        f"({hours:.2f} h of the whole gang) are missing then, with the answer to the event"
    )
    return Shortfall(course.run.name, stage, deadline, round(short, 6), round(hours, 6), sentence)


def carries_on(answer: Answer) -> bool:
    """Return whether nothing changes: the calendar in force keeps every limit as it is."""
    unchanged = all(
        bool((a.state == b.state).all() and (a.limit_w == b.limit_w).all())
        for a, b in zip(answer.courses, answer.question.courses, strict=True)
    )
    for name, flows in answer.flows.items():
        plan = answer.question.plans[name]
        unchanged &= bool(np.allclose(flows.charge_kw, plan.charge_kw, atol=LAST))
        unchanged &= bool(np.allclose(flows.discharge_kw, plan.discharge_kw, atol=LAST))
        unchanged &= bool(np.allclose(flows.solar_kw, plan.solar_kw, atol=LAST))
    return unchanged
