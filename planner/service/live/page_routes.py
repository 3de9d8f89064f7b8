"""The page at `/`, its files, its stream of changes, and the decisions that are made on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse

from planner.errors import GridpaceError
from planner.export import wording
from planner.export.page import embedded
from planner.ledger.issued import has_input
from planner.service.decision_routes import decide_draft
from planner.service.guard import Refused
from planner.service.live import view as said
from planner.service.live.entry import Form
from planner.service.live.figures import figures
from planner.service.live.hours import hours_between
from planner.service.live.look import look
from planner.service.live.rendering import KINDS, rendered, static_file
from planner.service.publishing import REPORT
from planner.service.roles import Decider, Viewer, state_of
from planner.timegrid import iso

router = APIRouter(include_in_schema=False)

_LOOK_S = 2.0
_STREAM_S = 20.0  # a browser comes back by itself; a service that ends has not to wait for longer
_FOR_GOOD = "public, max-age=31536000, immutable"


@router.get("/", response_class=HTMLResponse)
def page(request: Request, principal: Viewer, view: str = "sustainability", at: str = "") -> Response:
    """Show a view, at the present hour or at the one that is asked for."""
    state = state_of(request)
    with state.ledger.reading() as session:
        shown = look(session, state.site, state.clock())
        named = [draft.standing.calendar_id for draft in shown.drafts]
        named += [] if shown.calendar is None else [shown.calendar.calendar_id]
        reported = {name for name in named if has_input(session, name, REPORT)}
    chosen = view if view in said.VIEWS else "sustainability"
    hour = said.hour_shown(shown, _instant(at))
    header = shown.calendar
    hours = () if header is None else hours_between(header.valid_from, header.valid_until)
    stale = said.stale_since(shown)

    def told(at: datetime) -> str:
        return wording.local(at, shown.tz)

    return rendered(
        "live.html.j2",
        site=shown.site,
        views=said.VIEWS,
        view=chosen,
        light=said.light(shown.alarms, is_stale=stale is not None),
        alarms=[(one, told(one.since)) for one in said.own_first(shown.alarms, chosen)],
        calendar=header,
        reported=reported,
        span="" if header is None else f"{told(header.valid_from)} to {told(header.valid_until)}",
        stale="" if stale is None else told(stale),
        now=told(shown.now),
        shown=told(hour),
        at=iso(hour) if at else "",
        is_now=hour <= shown.now and said.hour_shown(shown, None) == hour,
        hours=[(iso(one), told(one)) for one in hours],
        position=hours.index(hour) if hour in hours else 0,
        cards=said.cards(shown, hour),
        runs=said.run_rows(shown, hour),
        blocks=said.block_rows(shown, hour),
        figures=[embedded(one) for one in figures(shown, chosen, hour)],
        drafts=[(one, told(one.standing.valid_from), told(one.standing.valid_until)) for one in shown.drafts],
        decides="planner" in principal.roles,
        principal=principal.name,
        has_tokens=state.tokens is not None,
    )


@router.get("/live/changes")
async def changes(request: Request, _: Viewer) -> StreamingResponse:
    """Send a line whenever the page would show something new."""
    changing = state_of(request).changing

    async def lines() -> AsyncIterator[str]:
        last = request.headers.get("last-event-id")
        for _ in range(int(_STREAM_S / _LOOK_S)):
            try:
                found = await changing.seen()
            except GridpaceError:
                return  # the browser asks again; what is wrong is told by the page itself
            if found != last:
                yield f"id: {found}\ndata: {'first' if last is None else 'changed'}\n\n"
                last = found
            await asyncio.sleep(_LOOK_S)
            if changing.is_over:
                return

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(lines(), media_type="text/event-stream", headers=headers)


@router.get("/live/{name}")
def file(name: str) -> Response:
    """Give a file that the page loads; its address changes with its content."""
    if name not in KINDS:
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such file")
    return Response(static_file(name), media_type=KINDS[name], headers={"cache-control": _FOR_GOOD})


@router.post("/drafts/{calendar_id}/{decision}")
def decide_on_page(
    request: Request, calendar_id: str, decision: Literal["approve", "reject"], form: Form, principal: Decider
) -> Response:
    """Approve or reject a draft, and show the page again."""
    state = state_of(request)
    why = form.get("why", "").strip()
    if not why or len(why) > 500 or "\0" in why:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "a decision needs a reason of 1 to 500 characters")
    decide_draft(state, calendar_id, decision, by=principal.name, why=why)
    view = form.get("view", "")
    return RedirectResponse(f"/?view={view}" if view in said.VIEWS else "/", HTTPStatus.SEE_OTHER)


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
