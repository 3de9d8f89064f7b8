"""The job that answers events of the grid, and outages of the halls, with the calendar that they fall in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from planner.accounts import carbon_accounts
from planner.errors import ConfigError, GridpaceError, Infeasible
from planner.ledger.decisions import APPROVED, decide, in_force, newest_decision
from planner.ledger.events import PENDING, answered, first_version, newest_event
from planner.ledger.service_tables import EventRow
from planner.outages import derated
from planner.outcome import Outcome
from planner.respond.outage import answer_outage
from planner.respond.respond import respond
from planner.service.planning_jobs import SERVICE
from planner.service.publishing import MADE_FROM, POLICY, Made, inputs_of, put_forward, stored_calendar
from planner.service.standing import due, followed_at, latest, outages_of, told
from planner.service.stored_week import stored_week
from planner.timegrid import iso
from power.events import Asked, within

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from planner.config import Site
    from planner.ledger.alarms import Severity
    from planner.respond.outcome import Response
    from planner.service.standing import Told
    from planner.service.worker import Worker
    from planner.timegrid import TimeGrid
    from power.events import GridEvent
    from trainer_hooks.contract import Calendar, RunCalendar

_AT_ONCE_S = 0.4
_STATED = frozenset({Asked.IMPORT_LIMIT, Asked.SETPOINT})
"""What asks for a power, not for a share of what would have been drawn: it can be asked for again as it is."""


def event_mark(worker: Worker) -> Hashable:
    """Return what is another value as soon as there may be an event to answer: one came, or something was decided."""
    with worker.ledger.reading() as session:
        current = in_force(session, worker.site, worker.clock())
        return current, newest_decision(session, worker.site), newest_event(session, worker.site)


def events_due(worker: Worker) -> list[int]:
    """Return the numbers of events and outages that are to be answered now."""
    with worker.ledger.reading() as session:
        return due(session, worker.site, worker.clock().replace(microsecond=0))


def answer_events(worker: Worker, leads: Callable[[], bool] = lambda: True) -> str:
    """Answer every event and outage that waits, or that the calendar in force no longer keeps, in order of coming.

    Args:
        worker: What jobs work with.
        leads: Whether this instance still works the jobs off; where it does not, the rest is left to the one that does.
    """
    now, count = worker.clock().replace(microsecond=0), 0
    failed: list[GridpaceError] = []
    for number in events_due(worker):
        if not leads():
            break
        with worker.ledger.reading() as session:
            row = session.get_one(EventRow, number)
        title = row.event
        try:
            asked = told(row)
            title = asked.title
            found = _answer(worker, asked, now)
        except Infeasible as error:
            found = f"cannot be kept: {error.what}", None
            _tell(worker, title, "red", found[0], error.fix)
        except ConfigError as error:
            found = f"refused: {error.what}", None
            _tell(worker, title, "amber", found[0], error.fix)
        except GridpaceError as error:
            # It is tried again with the job, and keeps none behind it waiting meanwhile.
            found = None
            failed.append(error)
            _tell(worker, title, "red", f"not answered yet: {error.what}", error.fix)
        if found is None:
            continue
        count += 1
        with worker.ledger.writing() as session:
            answered(session, number, *found)
    if failed:
        raise failed[0]
    return f"{count} events answered"


def watch_events(worker: Worker) -> str:
    """Close the alarms of events and outages that are over."""
    now, gone = worker.clock(), 0
    with worker.ledger.reading() as session:
        over = [one for one in latest(session, worker.site) if one.is_over(now)]
    for one in over:
        gone += sum(worker.clear(kind, one.title) for kind in ("event", "outage"))
    return f"{gone} alarms closed of events that are over"


def _tell(worker: Worker, title: str, severity: Severity, outcome: str, fix: str) -> None:
    sentence = (f"Event {title}: {outcome}", fix or "tell the sender, and decide by hand what gives way")
    worker.alarm("event", title, severity, sentence, "facilities")


def _answer(worker: Worker, asked: Told, now: datetime) -> tuple[str, str | None] | None:
    """Return what became of an event and the calendar that answers it; None where it waits for a calendar."""
    at = max(now, asked.start)
    if asked.outage is not None:
        _tell_outage(worker, asked, now)  # the hall is dark whether or not a calendar can be made of it
    with worker.ledger.reading() as session:
        current = followed_at(session, worker.site, at)
        if current is None:
            if at > now or asked.outage is not None:
                outcome = f"waits: no calendar covers {iso(at)} yet"
                _tell(worker, asked.title, "amber", outcome, "approve a calendar of that time")
                return None
            raise ConfigError("no calendar is in force", fix="approve a calendar, then have the event sent again")
        header, runs = stored_calendar(session, current)
        since = None
        if asked.outage is not None and (before := _before(session, header, asked.title)) is not None:
            # Later word of the same outage: answered from what was to be without it.
            first = first_version(session, worker.site, asked.event)
            (header, runs), since = before, None if first is None else first.received_at
        site, week = stored_week(session, header, worker.site_file)
        known = outages_of(session, worker.site, week.grid.start, week.grid.end)
        failed = [one for one in known if one != asked.outage]
        inputs = {name: content for name, content in inputs_of(session, current).items() if name in MADE_FROM}
        events = _with_standing(session, worker.site, asked, week.grid, now)
    agreed, flexible = site.demand_response, site.flexibility
    week = derated(week, failed)
    if asked.outage is not None:
        response, changed = answer_outage(
            week, header, runs, asked.outage, now=now, since=since, agreed=agreed, flexibility=flexible
        )
    else:
        put = partial(respond, week, header, runs, events, now=now, agreed=agreed, flexibility=flexible)
        response, changed = _at_once(put) if asked.is_urgent else put()
    if not response.changes and header.calendar_id == current:
        return "the calendar in force keeps it as it is", current
    return _put_forward(worker, site, asked, (response, changed), inputs)


def _before(session: Session, header: Calendar, title: str) -> tuple[Calendar, list[RunCalendar]] | None:
    """Return the calendar from which an outage was answered first, or None where the one in force does not answer it.

    What was answered in between is not in it, and is answered again as soon as the new one is in force.
    """
    while (event := header.inputs.get("event")) is not None and "name" in event:
        before = stored_calendar(session, event["answered_from"])
        if event["name"] == title:
            return before
        header = before[0]
    return None


def _at_once(put: Callable[..., tuple[Response, list[RunCalendar]]]) -> tuple[Response, list[RunCalendar]]:
    """Return an answer that is good rather than best: an emergency does not wait for the last kilowatt-hour."""
    try:
        return put(limit_s=_AT_ONCE_S)
    except Infeasible:
        return put()  # in so little time nothing was found that keeps it


def _put_forward(
    worker: Worker,
    site: Site,
    asked: Told,
    answer: tuple[Response, Sequence[RunCalendar]],
    inputs: dict[str, bytes],
) -> tuple[str, str]:
    response, changed = answer
    outcome = _outcome(response, changed)
    name, now = outcome.calendar.calendar_id, response.after.issued_at
    put_forward(worker.ledger, Made(outcome, inputs, f"answer to {asked.title}"), by=SERVICE, at=now)
    # What an outage has stopped has stopped: that a spell is shorter than runs are promised is no reason to wait.
    broken = [] if asked.outage is not None else [violation.sentence for violation in response.found.violations]
    if site.service.approve_answers == POLICY and not broken:
        why = "the judge finds the answer clean" if asked.outage is None else "an outage leaves no choice"
        with worker.ledger.writing() as session:
            decide(session, name, APPROVED, by=POLICY, why=why, at=now)
        worker.decided()
        worker.clear("event", asked.title)
        return "answered", name
    why = "; ".join(broken) or "a person approves answers"
    _tell(worker, asked.title, "red", f"calendar {name} waits for approval: {why}", "approve or reject it now")
    return f"waits for approval: {why}", name


def _tell_outage(worker: Worker, asked: Told, now: datetime) -> None:
    outage = asked.outage
    assert outage is not None
    if asked.is_over(now):
        return
    until = "an end that nobody has told yet" if outage.end is None else iso(outage.end)
    left = f"{outage.cdus_out} CDUs are out" if outage.capacity_kw is None else f"{outage.capacity_kw:g} kW are left"
    sentence = f"Block {outage.block}: {outage.cause}; {left} from {iso(outage.start)} to {until}."
    action = "mend it, and send the same id again with the new end as soon as that is known"
    worker.alarm("outage", asked.title, "red", (sentence, action), "facilities")


def _outcome(response: Response, changed: Sequence[RunCalendar]) -> Outcome:
    week = response.answer.question.week
    carbon = carbon_accounts(week, response.after, changed, response.found)
    return Outcome(week, response.after, changed, response.found, (), carbon=carbon)


def _with_standing(session: Session, site: str, asked: Told, grid: TimeGrid, now: datetime) -> list[GridEvent]:
    """Return an event after those that were answered before and still hold: the answer has to keep them all."""
    still: list[GridEvent] = []
    for one in latest(session, site):
        if one.event == asked.event or one.outcome == PENDING or one.calendar_id is None:
            continue
        for event in one.grid:
            stated = [ask for ask in event.asks if ask.kind in _STATED]
            asks = within(stated, max(now, grid.start), grid.end)
            if asks:
                still.append(replace(event, asks=asks))
    return [*still, *asked.grid]
