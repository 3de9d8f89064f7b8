"""What comes in: telemetry of training, and events of the grid."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from planner.ledger.events import Received, receive
from planner.ledger.intake import Intake
from planner.service.calendar_routes import check_site
from planner.service.guard import TELEMETRY_PATH, Refused
from planner.service.incoming import incoming_events, incoming_outage
from planner.service.roles import needs, state_of
from planner.service.standing import outage_began
from planner.service.state import ServiceState
from planner.service.tokens import Principal
from trainer_hooks.errors import CalendarError
from trainer_hooks.telemetry import Record, parse_line

router = APIRouter(tags=["intake"])
_AHEAD = timedelta(minutes=10)  # how far a node's clock may be ahead of the service's
_SHOWN = 20
_NDJSON = frozenset({"application/x-ndjson", "application/jsonl", "application/jsonlines"})
_NDJSON_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "Lines as `trainer_hooks.telemetry` writes them"}
            }
        },
    }
}
_EVENT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"description": "An OpenADR 3.1 event, or a list of events; each has an id"}}
        },
    }
}


_OUTAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["id", "block", "cause"],
                    "properties": {
                        "id": {"type": "string", "description": "by which later word of it is known"},
                        "block": {"type": "string", "description": "a block of the site file"},
                        "cause": {"type": "string", "description": "for people: CDU 7 leaks"},
                        "start": {"type": "string", "format": "date-time", "description": "now where left out"},
                        "end": {"type": "string", "format": "date-time", "description": "left out: nobody knows yet"},
                        "capacity_kw": {"type": "number", "description": "what is left, IT and cooling; 0: dark"},
                        "cdus_out": {"type": "integer", "description": "in place of it: CDUs that are out"},
                        "modificationDateTime": {"type": "string", "format": "date-time"},
                    },
                }
            }
        },
    }
}


class Taken(BaseModel):
    """What became of a batch of telemetry."""

    added: int = Field(description="records that were new")
    repeated: int = Field(description="records that were there already, which change nothing")
    refused: int = Field(description="lines that are no record")
    faults: list[str] = Field(description="why, for the first of them")


class EventReceipt(BaseModel):
    """What became of an event."""

    event: str = Field(description="program and id")
    receipt: str = Field(description="new; known: it came before; overtaken: a later version of it did")


@router.post(TELEMETRY_PATH, summary="Take in telemetry", openapi_extra=_NDJSON_BODY)
async def telemetry(request: Request, _: Annotated[Principal, Depends(needs("agent"))]) -> Taken:
    """Take in a batch of records, one a line: each counts once, however often, how late and in which order it comes.

    A sender that got no answer sends the batch again. Lines that are no record are told and left out.
    """
    _need_type(request, _NDJSON)
    body = await request.body()
    state = state_of(request)
    found = await run_in_threadpool(_take_in, state, body)
    state.counts.add("telemetry_records", "added", found.added)
    state.counts.add("telemetry_records", "repeated", found.repeated)
    state.counts.add("telemetry_records", "refused", len(found.faults))
    return Taken(
        added=found.added,
        repeated=found.repeated,
        refused=len(found.faults),
        faults=[fault[:500] for fault in found.faults[:_SHOWN]],
    )


@router.post(
    "/v1/sites/{site}/events",
    summary="Receive events of the grid",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=_EVENT_BODY,
)
async def events(
    request: Request, site: str, principal: Annotated[Principal, Depends(needs("planner"))]
) -> list[EventReceipt]:
    """Receive OpenADR 3.1 events, to be answered at once; one that came before does nothing again.

    An event that was changed later cannot be brought back by sending an earlier version: its receipt says "overtaken".
    """
    state = state_of(request)
    return await _receive(
        request,
        site,
        "grid_events",
        lambda _, body, now: incoming_events(body, state.site, principal.name, now),
    )


@router.post(
    "/v1/sites/{site}/outages",
    summary="Receive word of an outage",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=_OUTAGE_BODY,
)
async def outages(
    request: Request, site: str, principal: Annotated[Principal, Depends(needs("planner"))]
) -> EventReceipt:
    """Receive that a block or a part of its cooling fails, to be answered at once.

    Later word of it has the same id and a later `modificationDateTime`: another end, more or less that is left.
    """
    state = state_of(request)

    def read(session: Session, body: bytes, now: datetime) -> list[Received]:
        return [incoming_outage(body, state.site, principal.name, now, partial(outage_began, session, state.site))]

    (receipt,) = await _receive(request, site, "outages", read)
    return receipt


async def _receive(
    request: Request, site: str, counted: str, read: Callable[[Session, bytes, datetime], list[Received]]
) -> list[EventReceipt]:
    """Keep what comes to be answered, all of it or nothing, and have it looked at now."""
    check_site(request, site)
    _need_type(request, {"application/json"})
    state, body = state_of(request), await request.body()

    def keep() -> list[EventReceipt]:
        now = state.clock()
        with state.ledger.writing() as session:
            found = read(session, body, now)
            return [EventReceipt(event=one.event, receipt=receive(session, one, now)) for one in found]

    receipts = await run_in_threadpool(keep)
    state.bell.ring()
    for receipt in receipts:
        state.counts.add(counted, receipt.receipt)
    return receipts


def _take_in(state: ServiceState, body: bytes) -> Intake:
    lines = (line for line in body.split(b"\n") if line.strip())
    records = (_record(line, number) for number, line in enumerate(lines, start=1))
    return state.ledger.take_in(records, latest=state.clock() + _AHEAD)


def _record(line: bytes, number: int) -> Record | CalendarError:
    try:
        return parse_line(line, f"line {number}")
    except CalendarError as error:
        return error


def _need_type(request: Request, kinds: set[str] | frozenset[str]) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in kinds:
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body's type has to be {max(kinds)}")
