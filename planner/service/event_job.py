"""The job that answers grid events with the calendar in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.accounts import carbon_accounts
from planner.errors import ConfigError, GridpaceError, Infeasible
from planner.ledger.decisions import APPROVED, decide, in_force
from planner.ledger.events import PENDING, answered, events, pending
from planner.outcome import Outcome
from planner.respond.respond import respond
from planner.service.planning_jobs import SERVICE
from planner.service.publishing import MADE_FROM, POLICY, Made, inputs_of, put_forward, stored_calendar
from planner.service.stored_week import stored_week
from planner.sources.openadr import events_from
from power.events import Asked

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session

    from planner.ledger.alarms import Severity
    from planner.ledger.service_tables import EventRow
    from planner.respond.outcome import Response
    from planner.service.worker import Worker
    from power.events import GridEvent
    from trainer_hooks.contract import RunCalendar

_STATED = frozenset({Asked.IMPORT_LIMIT, Asked.SETPOINT})
"""What asks for a power, not for a share of what would have been drawn: it can be asked for again as it is."""


def answer_events(worker: Worker) -> str:
    """Answer every event that waits, in the order in which they came."""
    with worker.ledger.reading() as session:
        waiting = [(row.number, row.event) for row in pending(session, worker.site)]
    for number, event in waiting:
        try:
            outcome, calendar_id = _answer(worker, number)
        except Infeasible as error:
            outcome, calendar_id = f"cannot be kept: {error.what}", None
            _tell(worker, event, "red", outcome, error.fix)
        except ConfigError as error:
            outcome, calendar_id = f"refused: {error.what}", None
            _tell(worker, event, "amber", outcome, error.fix)
        with worker.ledger.writing() as session:
            answered(session, number, outcome, calendar_id)
    return f"{len(waiting)} events answered"


def _tell(worker: Worker, event: str, severity: Severity, outcome: str, fix: str) -> None:
    told = (f"Event {event}: {outcome}", fix or "tell the sender, and decide by hand what gives way")
    worker.alarm("event", event, severity, told, "facilities")


def _answer(worker: Worker, number: int) -> tuple[str, str | None]:
    now = worker.clock().replace(microsecond=0)
    with worker.ledger.reading() as session:
        current = in_force(session, worker.site, now)
        if current is None:
            raise ConfigError("no calendar is in force", fix="approve a calendar, then have the event sent again")
        header, runs = stored_calendar(session, current)
        site, week = stored_week(session, header, worker.site_file)
        asked = _asked(session, worker.site, number, now)
        inputs = {name: content for name, content in inputs_of(session, current).items() if name in MADE_FROM}
    response, changed = respond(
        week, header, runs, asked, now=now, agreed=site.demand_response, flexibility=site.flexibility
    )
    if not response.changes:
        return "the calendar in force keeps it as it is", current
    outcome = _outcome(response, changed)
    name = outcome.calendar.calendar_id
    made = Made(outcome, inputs, f"answer to event {asked[-1].name}")
    put_forward(worker.ledger, made, by=SERVICE, at=now)
    broken = [violation.sentence for violation in response.found.violations]
    if site.service.approve_answers == POLICY and not broken:
        with worker.ledger.writing() as session:
            decide(session, name, APPROVED, by=POLICY, why="the judge finds the answer clean", at=now)
        worker.decided()
        return "answered", name
    why = "; ".join(broken) or "a person approves answers"
    _tell(worker, asked[-1].name, "red", f"calendar {name} waits for approval: {why}", "approve or reject it now")
    return f"waits for approval: {why}", name


def _outcome(response: Response, changed: Sequence[RunCalendar]) -> Outcome:
    week = response.answer.question.week
    carbon = carbon_accounts(week, response.after, changed, response.found)
    return Outcome(week, response.after, changed, response.found, (), carbon=carbon)


def _asked(session: Session, site: str, number: int, now: datetime) -> list[GridEvent]:
    """Return an event after those that were answered before and still hold: the answer has to keep them all."""
    rows = list(events(session, site))
    mine = next(row for row in rows if row.number == number)
    latest: dict[str, EventRow] = {}
    for row in sorted(rows, key=lambda row: row.number):
        latest[row.event] = row
    still: list[GridEvent] = []
    for row in latest.values():
        if row.event == mine.event or row.outcome == PENDING or row.calendar_id is None:
            continue
        for event in _read(row):
            asks = tuple(ask for ask in event.asks if ask.kind in _STATED and (ask.end is None or ask.end > now))
            if asks:
                still.append(replace(event, asks=asks))
    return [*still, *_read(mine)]


def _read(row: EventRow) -> tuple[GridEvent, ...]:
    try:
        return events_from(row.content.encode(), f"event {row.event}", row.received_at)
    except GridpaceError as error:
        raise ConfigError(error.what, error.why, error.fix) from error
