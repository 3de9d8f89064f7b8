"""Grid events as they were received; one that comes again does nothing again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from sqlalchemy import func, select

from planner.ledger.inserting import insert_into
from planner.ledger.service_tables import EventRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

PENDING = "pending"
_OUTAGE = "outage"
Receipt = Literal["new", "known", "overtaken"]


@dataclass(frozen=True)
class Received:
    """A version of an event.

    Args:
        site: The site.
        event: Program and id as JSON, by which versions of one event are known; `outage_key` of an outage.
        sha256: Digest of what it says, hexadecimal.
        modified_at: When its sender changed it last, UTC; None where it does not say.
        content: The event as JSON.
        by: Whose token brought it.
    """

    site: str
    event: str
    sha256: str
    modified_at: datetime | None
    content: str
    by: str


def outage_key(name: str) -> str:
    """Return by what versions of one outage are known; no program of the grid shares it."""
    return json.dumps([_OUTAGE, name, "of the halls"])


def is_outage(event: str) -> bool:
    """Return whether an event is an outage, by the key that its versions share."""
    return len(json.loads(event)) == 3


def receive(session: Session, event: Received, at: datetime) -> Receipt:
    """Keep an event to be answered.

    Args:
        session: An open transaction that writes.
        event: The event.
        at: When it came, UTC.

    Returns:
        "new"; "known" where the same version came before; "overtaken" where a later version did, and this one is
        not kept: whoever recorded an event could otherwise play it again after it was changed or cancelled.
    """
    rows = session.scalars(
        select(EventRow).where(EventRow.site == event.site, EventRow.event == event.event).with_for_update()
    ).all()
    if any(row.sha256 == event.sha256 for row in rows):
        return "known"
    stamps = [row.modified_at for row in rows if row.modified_at is not None]
    if stamps and (event.modified_at is None or event.modified_at <= max(stamps)):
        return "overtaken"
    statement = insert_into(session, EventRow).values(
        site=event.site,
        event=event.event,
        sha256=event.sha256,
        modified_at=event.modified_at,
        received_at=at,
        received_by=event.by,
        content=event.content,
        outcome=PENDING,
    )
    # Another instance may have received the same one at the same time.
    entered = session.execute(statement.on_conflict_do_nothing().returning(EventRow.number)).first()
    return "known" if entered is None else "new"


def pending(session: Session, site: str) -> Sequence[EventRow]:
    """Return the events of a site that wait for an answer, in the order in which they came."""
    found = select(EventRow).where(EventRow.site == site, EventRow.outcome == PENDING)
    return session.scalars(found.order_by(EventRow.number)).all()


def events(session: Session, site: str, most: int = 100) -> Sequence[EventRow]:
    """Return the events of a site, the last first."""
    found = select(EventRow).where(EventRow.site == site).order_by(EventRow.number.desc()).limit(most)
    return session.scalars(found).all()


def first_version(session: Session, site: str, event: str) -> EventRow | None:
    """Return the first version of an event that came, or None where none did."""
    found = select(EventRow).where(EventRow.site == site, EventRow.event == event).order_by(EventRow.number).limit(1)
    return session.scalars(found).first()


def newest_event(session: Session, site: str) -> int:
    """Return the number of the last version of an event that came, 0 before the first."""
    return session.scalar(select(func.max(EventRow.number)).where(EventRow.site == site)) or 0


def answered(session: Session, number: int, outcome: str, calendar_id: str | None) -> None:
    """Note what became of an event.

    Args:
        session: An open transaction that writes.
        number: The event's number.
        outcome: What was done, or why nothing was.
        calendar_id: The calendar that answers it, or None.
    """
    row = session.get_one(EventRow, number)
    row.outcome, row.calendar_id = outcome, calendar_id
