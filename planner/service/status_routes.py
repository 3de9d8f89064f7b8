"""Whether the service works, what is the matter, and figures for Prometheus."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from planner.ledger.alarms import open_alarms
from planner.ledger.events import events
from planner.ledger.jobs import last_runs
from planner.service.calendar_routes import check_site
from planner.service.guard import Refused
from planner.service.metrics import exposition
from planner.service.roles import Viewer, state_of

router = APIRouter(tags=["status"])
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


class AlarmEntry(BaseModel):
    """Something that somebody has to look at."""

    kind: str
    subject: str
    severity: str = Field(description="amber where there is time, red where there is none")
    sentence: str
    action: str
    owner: str = Field(description="sustainability, training, facilities or operator")
    opened_at: datetime
    last_at: datetime
    times: int


class JobEntry(BaseModel):
    """The last run of a job."""

    job: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str = Field(description='done, failed, cut short, or "" while it goes on')
    told: str


class EventEntry(BaseModel):
    """A version of an event as it was received."""

    event: str
    received_at: datetime
    received_by: str
    outcome: str = Field(description="pending, or what became of it")
    calendar_id: str | None = Field(description="the calendar that answers it")


@router.get("/healthz", summary="Whether the process lives")
async def health() -> dict[str, str]:
    """Answer."""
    return {"status": "ok"}


@router.get("/readyz", summary="Whether requests can be answered")
def ready(request: Request) -> dict[str, str]:
    """Answer 200 where the database can be read and written, else 503."""
    if not state_of(request).readiness.is_ready():
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the database cannot be written")
    return {"status": "ready"}


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
def metrics(request: Request, _: Viewer) -> Response:
    """Give what is known now in the text format of Prometheus."""
    return Response(exposition(state_of(request)), media_type=_EXPOSITION)


@router.get("/v1/sites/{site}/alarms", summary="Open alarms")
def alarms(request: Request, site: str, _: Viewer) -> list[AlarmEntry]:
    """List what somebody has to look at, what is urgent first."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        return [
            AlarmEntry(**{name: getattr(row, name) for name in AlarmEntry.model_fields})
            for row in open_alarms(session, state.site)
        ]


@router.get("/v1/sites/{site}/jobs", summary="The last run of each job")
def jobs(request: Request, site: str, _: Viewer) -> list[JobEntry]:
    """List the last run of each job."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        return [
            JobEntry(**{name: getattr(row, name) for name in JobEntry.model_fields})
            for row in last_runs(session, state.site)
        ]


@router.get("/v1/sites/{site}/events", summary="Events that were received")
def received(request: Request, site: str, _: Viewer) -> list[EventEntry]:
    """List the events of the grid, the last first."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        return [
            EventEntry(**{name: getattr(row, name) for name in EventEntry.model_fields})
            for row in events(session, state.site)
        ]
