"""Which events and outages are to be answered now: what came in, and what a later calendar does not keep."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import ConfigError, GridpaceError
from planner.evaluate.event_limits import promised_limits
from planner.ledger.decisions import APPROVED, DRAFTED, SUPERSEDED, in_force, standing, standings
from planner.ledger.events import PENDING, events, first_version, is_outage, outage_key, pending
from planner.rolling.behind import GOES_ON
from planner.service.publishing import stored_header
from planner.sources.openadr import events_from
from planner.sources.outage_file import outage_from
from power.events import Asked

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session

    from planner.ledger.service_tables import EventRow
    from power.events import GridEvent
    from power.outage import Outage
    from trainer_hooks.contract import Calendar


_MOST = 1000
"""Versions of events that are looked at, the last ones: what is older than so many is over."""


@dataclass(frozen=True)
class Told:
    """An event or an outage as it was received.

    Args:
        number: Its number in the ledger.
        event: By what its versions are known.
        title: What people call it.
        received_at: When it came, UTC.
        start: First instant that it is about, UTC.
        end: First instant after it, UTC, or None where it is open.
        grid: What the grid asks for; empty for an outage.
        outage: What failed, or None for an event of the grid.
        calendar_id: The calendar that answers it, or None.
        outcome: What became of it.
    """

    number: int
    event: str
    title: str
    received_at: datetime
    start: datetime
    end: datetime | None
    grid: tuple[GridEvent, ...]
    outage: Outage | None
    calendar_id: str | None
    outcome: str

    @property
    def is_urgent(self) -> bool:
        """Whether nothing may be answered before it: an outage, or an emergency of the grid."""
        asks = [ask.kind for event in self.grid for ask in event.asks]
        return self.outage is not None or Asked.EMERGENCY in asks

    def is_over(self, now: datetime) -> bool:
        """Return whether nothing of it is still to come."""
        return self.end is not None and self.end <= now


def told(row: EventRow) -> Told:
    """Return an event or an outage as it was received.

    Raises:
        ConfigError: It is not understood any more.
    """
    content, name = row.content.encode(), f"event {row.event}"
    kept = (row.calendar_id, row.outcome)
    if is_outage(row.event):
        outage = outage_from(content, name, row.received_at)
        title = f"outage {outage.name}"
        return Told(row.number, row.event, title, row.received_at, outage.start, outage.end, (), outage, *kept)
    try:
        grid = events_from(content, name, row.received_at)
    except GridpaceError as error:
        raise ConfigError(error.what, error.why, error.fix) from error
    asks = [ask for event in grid for ask in event.asks]
    ends = [ask.end for ask in asks if ask.end is not None]
    end = max(ends) if len(ends) == len(asks) else None
    start = min(ask.start for ask in asks)
    return Told(row.number, row.event, grid[0].name, row.received_at, start, end, grid, None, *kept)


def latest(session: Session, site: str) -> list[Told]:
    """Return the last version of each event and outage, in the order in which they came.

    One that is not understood any more is left out: it was told as refused, or was taken by an earlier release.
    """
    rows = {row.event: row for row in reversed(events(session, site, _MOST))}
    found: list[Told] = []
    for row in rows.values():
        with suppress(ConfigError):
            found.append(told(row))
    return sorted(found, key=lambda one: one.number)


def outage_began(session: Session, site: str, name: str) -> datetime | None:
    """Return the start of the first word of an outage, UTC, or None where there was none."""
    row = first_version(session, site, outage_key(name))
    return None if row is None else told(row).start


def outages_of(session: Session, site: str, start: datetime, end: datetime) -> list[Outage]:
    """Return what fails, as far as is known, in a span of time."""
    return [
        one.outage
        for one in latest(session, site)
        if one.outage is not None and one.start < end and not one.is_over(start)
    ]


def followed_at(session: Session, site: str, at: datetime) -> str | None:
    """Return the calendar that covers an instant, or None where none does."""
    found = in_force(session, site, at)
    stands = None if found is None else standing(session, found)
    return found if stands is not None and stands.valid_from <= at < stands.valid_until else None


def due(session: Session, site: str, now: datetime) -> list[int]:
    """Return the numbers of what is to be answered now, what is urgent first, else in order of coming.

    An answer holds for the calendar that it made. Where another one takes its place, made without knowing of the event,
    the event is answered again from that one: else an approved plan would undo what was promised to the grid. Who goes
    back to an earlier calendar means it, and is left with it.

    Args:
        session: An open session.
        site: The site.
        now: The present instant, UTC.
    """
    waiting = sorted(pending(session, site), key=lambda row: (not _is_urgent(row), row.number))
    overtaken = [one.number for one in latest(session, site) if _is_overtaken(session, site, one, now)]
    return [row.number for row in waiting] + overtaken


def _is_urgent(row: EventRow) -> bool:
    try:
        return told(row).is_urgent
    except ConfigError:
        return False  # it is told as refused in its turn


def _knows(session: Session, header: Calendar, one: Told) -> bool:
    """Return whether a calendar was made knowing of an outage: by an answer in it, or by the plan below them."""
    while (event := header.inputs.get("event")) is not None and "name" in event:
        if event["name"] == one.title:
            return True
        header = stored_header(session, event["answered_from"])
    return header.issued_at >= one.received_at


def _is_overtaken(session: Session, site: str, one: Told, now: datetime) -> bool:
    if one.outcome == PENDING or one.calendar_id is None or one.is_over(now):
        return False
    answer = standing(session, one.calendar_id)
    if answer is None or answer.state not in {APPROVED, SUPERSEDED}:
        return False  # a person looks at the answer, or wants none
    current = followed_at(session, site, max(now, one.start))
    if current is None or current == one.calendar_id:
        return False
    header = stored_header(session, current)
    if _keeps(session, header, one) or _is_waived(session, header, one):
        return False
    # A later answer that keeps this event too waits for a person: a new one would only take its place.
    drafts = [other for other in standings(session, site) if other.state == DRAFTED]
    waiting = [other.calendar_id for other in drafts if other.valid_until == answer.valid_until]
    return not any(_keeps(session, stored_header(session, name), one) for name in waiting)


def _is_waived(session: Session, header: Calendar, one: Told) -> bool:
    """Return whether a person went back to a calendar since an event came, and what is in force goes on from that."""
    while "rollback" not in header.inputs:
        event, goes_on = (header.inputs.get(key, {}) for key in ("event", GOES_ON))
        before = event.get("answered_from") if "name" in event else goes_on.get("from")
        if before is None:
            return False
        header = stored_header(session, before)
    return header.issued_at >= one.received_at


def _keeps(session: Session, header: Calendar, one: Told) -> bool:
    if one.outage is not None:
        return _knows(session, header, one)
    return {event.name for event in one.grid} <= {limit.event for limit in promised_limits(header)}
