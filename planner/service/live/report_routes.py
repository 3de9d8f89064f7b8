"""The report that was made with a calendar, for those who decide about it."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from planner.ledger.decisions import standing
from planner.ledger.issued import issued_input
from planner.service.guard import Refused
from planner.service.publishing import REPORT
from planner.service.roles import Viewer, state_of

router = APIRouter(include_in_schema=False)

# The report brings its own programs with it: in a sandbox they have no origin, and nothing of the service is theirs.
_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'none'"
)


@router.get("/reports/{calendar_id}", response_class=HTMLResponse)
def report(request: Request, calendar_id: str, _: Viewer) -> Response:
    """Show the report of a draft, or of a calendar that was one."""
    state = state_of(request)
    with state.ledger.reading() as session:
        stands = standing(session, calendar_id)
        is_ours = stands is not None and stands.site == state.site
        found = issued_input(session, calendar_id, REPORT) if is_ours else None
    if found is None:
        raise Refused(HTTPStatus.NOT_FOUND, "no report is kept of such a calendar")
    return HTMLResponse(found.content, headers={"content-security-policy": _POLICY, "cache-control": "no-store"})
