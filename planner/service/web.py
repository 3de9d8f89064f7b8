"""The service's HTTP application."""

from __future__ import annotations

import json
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse

from planner.errors import ConfigError, GridpaceError, Infeasible, NotPermitted
from planner.service import calendar_routes, decision_routes, intake_routes, status_routes
from planner.service.at_hand import AtHand
from planner.service.guard import Guard, Refused
from planner.service.live import entry, page_routes, report_routes
from planner.service.operations_page import operations_page
from planner.service.unchanged import Unchanged

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from planner.service.state import ServiceState

_FAULTS_TOLD = 5
_STATUS: tuple[tuple[type[GridpaceError], HTTPStatus], ...] = (
    (ConfigError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (Infeasible, HTTPStatus.CONFLICT),
    (NotPermitted, HTTPStatus.FORBIDDEN),
)


def create_app(state: ServiceState) -> ASGIApp:
    """Return the application, guarded.

    Args:
        state: What every request handler needs.
    """
    return Guard(Unchanged(AtHand(bare_app(state), state), state), state)


def bare_app(state: ServiceState) -> FastAPI:
    """Return the application without what stands before it: pages are added to this one, then guarded."""
    app = FastAPI(
        title="gridpace",
        summary="Calendars for training runs, telemetry of them, events of the grid.",
        version=version("gridpace"),
        docs_url=None,  # these pages would load their programs from elsewhere
        redoc_url=None,
    )
    app.state.service = state
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(GridpaceError, _faulty)
    app.add_exception_handler(RequestValidationError, _not_understood)
    for module in (calendar_routes, intake_routes, decision_routes, status_routes, entry, page_routes, report_routes):
        app.include_router(module.router)

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    def docs() -> str:
        return operations_page(app.openapi())

    return app


def _refused(_: Request, error: Exception) -> JSONResponse:
    refusal = cast("Refused", error)
    headers = {key.decode("ascii"): value.decode("ascii") for key, value in refusal.headers}
    told = {"kind": "Refused", "what": refusal.what, "why": "", "fix": ""}
    return JSONResponse({"error": told}, refusal.status, headers)


def _not_understood(_: Request, error: Exception) -> Response:
    # What was sent is not sent back: it may be a secret, or no text at all.
    faults = [
        f"{'.'.join(str(part) for part in fault['loc'])[:100]}: {fault['msg']}"
        for fault in cast("RequestValidationError", error).errors()[:_FAULTS_TOLD]
    ]
    told = {"kind": "Refused", "what": "; ".join(faults), "why": "", "fix": ""}
    content = json.dumps({"error": told}).encode()  # escaped: the name of a field may be no text either
    return Response(content, HTTPStatus.UNPROCESSABLE_ENTITY, media_type="application/json")


def _faulty(_: Request, error: Exception) -> JSONResponse:
    fault = cast("GridpaceError", error)
    found = (status for kind, status in _STATUS if isinstance(fault, kind))
    status = next(found, HTTPStatus.SERVICE_UNAVAILABLE)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        # What a database says of itself is for the log, not for callers.
        told = {"kind": type(fault).__name__, "what": "the database or a source does not answer", "why": "", "fix": ""}
    else:
        told = {"kind": type(fault).__name__, "what": fault.what, "why": fault.why, "fix": fault.fix}
    return JSONResponse({"error": told}, status)
