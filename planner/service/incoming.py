"""Events of the grid, and outages of the halls, as they come over the network, checked whole before any is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from planner.errors import ConfigError
from planner.ledger.events import Received, outage_key
from planner.sources.openadr import events_from
from planner.sources.outage_file import outage_from
from planner.timegrid import iso

_STAMPS = ("modificationDateTime", "createdDateTime")
_MOST_EVENTS = 100


def incoming_events(body: bytes, site: str, by: str, now: datetime) -> list[Received]:
    """Return the events of a request's body.

    Args:
        body: One OpenADR event as JSON, or a list of events.
        site: The site.
        by: Whose token brought them.
        now: Present instant, UTC: the start of an event that starts "now".

    Raises:
        ConfigError: Something in it is not understood, or an event has no id, by which a repeated one is known.
    """
    read = events_from(body, "body", now)
    raw = json.loads(body)
    documents: list[dict[str, Any]] = raw if isinstance(raw, list) else [raw]
    if len(documents) > _MOST_EVENTS:
        raise ConfigError(f"the body has {len(documents)} events, more than {_MOST_EVENTS}", fix="send fewer at once")
    found = []
    for event, document in zip(read, documents, strict=True):
        if not event.event_id:
            raise ConfigError(
                f"event {event.name[:60]!r} has no id",
                why="without one an event that is sent again could not be told from a new one",
                fix="send the event with the id that its sender gave it",
            )
        content = _content(document, f"event {event.name[:60]!r}")
        found.append(
            Received(
                site=site,
                event=json.dumps([event.program, event.event_id]),
                sha256=hashlib.sha256(content.encode()).hexdigest(),
                modified_at=_modified_at(document, now),
                content=content,
                by=by,
            )
        )
    return found


def incoming_outage(
    body: bytes, site: str, by: str, now: datetime, began: Callable[[str], datetime | None] = lambda _: None
) -> Received:
    """Return the outage of a request's body.

    Args:
        body: The outage as JSON.
        site: The site.
        by: Whose token brought it.
        now: Present instant, UTC: the start of an outage that names none, and of which there was no word before.
        began: Returns the start of the first word of an outage by its name, UTC, or None where there was none.

    Raises:
        ConfigError: Something in it is not understood.
    """
    outage = outage_from(body, "body", now, began)
    # The start is kept with what was sent, so that later word of it can go without.
    document: dict[str, Any] = json.loads(body) | {"start": iso(outage.start)}
    content = _content(document, f"outage {outage.name[:60]!r}")
    return Received(
        site=site,
        event=outage_key(outage.name),
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        modified_at=_modified_at(document, now),
        content=content,
        by=by,
    )


def _content(document: dict[str, Any], subject: str) -> str:
    try:
        return json.dumps(document, sort_keys=True, allow_nan=False)
    except ValueError:
        raise ConfigError(f"{subject} holds a number beyond what computers keep", fix="leave that number out") from None


def _modified_at(document: dict[str, Any], now: datetime) -> datetime | None:
    """Return when a sender says that it changed something last, and now where its clock is ahead.

    Taken at its word, what it sends once its clock is right would be overtaken by what it sent before.
    """
    for name in _STAMPS:
        text = document.get(name)
        if text is None:
            continue
        try:
            found = datetime.fromisoformat(text)
            if found.tzinfo is None:
                raise ValueError  # noqa: TRY301 - one message for every way to be wrong
            return min(found.astimezone(UTC), now)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(
                f"{name} {str(text)[:40]!r} is no instant", fix="write it with its offset: 2024-05-12T18:00:00Z"
            ) from None
    return None
