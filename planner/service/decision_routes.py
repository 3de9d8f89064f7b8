"""Drafts, decisions, and what is different between calendars."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from planner.ledger.alarms import clear_alarm
from planner.ledger.decisions import APPROVED, REJECTED, decide, history, in_force, standing, standings
from planner.rolling.behind import GOES_ON
from planner.service.calendar_routes import check_site
from planner.service.guard import Refused
from planner.service.publishing import roll_back, stored_calendar, stored_header
from planner.service.roles import Decider, Viewer, state_of
from planner.service.state import ServiceState
from planner.service.words import calendar_changes

router = APIRouter(prefix="/v1/sites/{site}", tags=["publishing"])


class Because(BaseModel):
    """Why something is decided."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    why: str = Field(min_length=1, max_length=500, pattern=r"\A[^\x00]*\z", description="why, for those who ask later")


class CalendarEntry(BaseModel):
    """How a calendar stands."""

    calendar_id: str
    state: str = Field(description="drafted, approved, rejected or superseded")
    in_force: bool = Field(description="whether runs follow it now")
    at: datetime = Field(description="when that was decided, UTC")
    by: str = Field(description="by whom")
    why: str
    issued_at: datetime
    valid_from: datetime
    valid_until: datetime
    status: str = Field(description="how the solve ended")


class DecisionEntry(BaseModel):
    """One decision of the record, which only grows."""

    calendar_id: str
    action: str
    at: datetime
    by: str
    why: str


class Changes(BaseModel):
    """What a calendar changes against another one."""

    before: str
    after: str
    sentences: list[str]


class InForce(BaseModel):
    """The calendar in force after a decision; None where there is none."""

    calendar_id: str | None


@router.get("/calendars", summary="How the site's calendars stand")
def calendars(request: Request, site: str, _: Viewer) -> list[CalendarEntry]:
    """List the site's calendars, the last decided first."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        current = in_force(session, state.site, state.clock())
        found = standings(session, state.site)
    return [
        CalendarEntry(in_force=one.calendar_id == current, **{k: v for k, v in asdict(one).items() if k != "site"})
        for one in found
    ]


@router.get("/decisions", summary="What was decided, by whom and why")
def decisions(request: Request, site: str, _: Viewer) -> list[DecisionEntry]:
    """List what was decided, the last first."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        found = history(session, state.site)
        return [
            DecisionEntry(calendar_id=one.calendar_id, action=one.action, at=one.at, by=one.by, why=one.why)
            for one in found
        ]


@router.get("/calendars/{calendar_id}/changes", summary="What a calendar changes, in words")
def changes(request: Request, site: str, calendar_id: str, _: Viewer, against: str | None = None) -> Changes:
    """Say what a calendar changes against another one; without `against`, the one in force at its begin."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        stands = standing(session, calendar_id)
        if stands is None or stands.site != state.site:
            raise Refused(HTTPStatus.NOT_FOUND, "this site has no such calendar")
        other = against or in_force(session, state.site, max(state.clock(), stands.valid_from))
        known = None if other is None else standing(session, other)
        if other is None or known is None or known.site != state.site:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no calendar to compare it with")
        told = calendar_changes(stored_calendar(session, other), stored_calendar(session, calendar_id))
    return Changes(before=other, after=calendar_id, sentences=list(told))


@router.post("/calendars/{calendar_id}/{decision}", summary="Approve or reject a draft")
def decide_about(
    request: Request,
    site: str,
    calendar_id: str,
    decision: Literal["approve", "reject"],
    because: Because,
    principal: Decider,
) -> InForce:
    """Approve a draft, which puts it in force over its time, or reject it; the same decision again changes nothing."""
    check_site(request, site)
    state = state_of(request)
    decide_draft(state, calendar_id, decision, by=principal.name, why=because.why)
    return InForce(calendar_id=state.shelf.current())


@router.post("/rollback/{calendar_id}", summary="Put a calendar in force again")
def rollback(request: Request, site: str, calendar_id: str, because: Because, principal: Decider) -> InForce:
    """Put a calendar in force again that was approved once and is not over; it is issued anew under another id."""
    check_site(request, site)
    state = state_of(request)
    with state.ledger.reading() as session:
        stands = standing(session, calendar_id)
    if stands is None or stands.site != state.site:
        raise Refused(HTTPStatus.NOT_FOUND, "this site has no such calendar")
    found = roll_back(state.ledger, calendar_id, by=principal.name, why=because.why, at=state.clock())
    state.shelf.forget()
    return InForce(calendar_id=found)


def decide_draft(
    state: ServiceState, calendar_id: str, decision: Literal["approve", "reject"], *, by: str, why: str
) -> None:
    """Approve or reject a draft of the site.

    Args:
        state: What every handler needs.
        calendar_id: The draft.
        decision: What is decided.
        by: By whom.
        why: Why.

    Raises:
        Refused: The site has no such calendar.
        ConfigError: It was decided otherwise, or is over.
    """
    action = APPROVED if decision == "approve" else REJECTED
    with state.ledger.writing() as session:
        stands = standing(session, calendar_id)
        if stands is None or stands.site != state.site:
            raise Refused(HTTPStatus.NOT_FOUND, "this site has no such calendar")
        if decide(session, calendar_id, action, by=by, why=why, at=state.clock()):
            # What was asked of a person is answered, whichever way.
            inputs = stored_header(session, calendar_id).inputs
            event = inputs.get("event", {}).get("name")
            asked = ("approval", "running week" if GOES_ON in inputs else "coming week")
            asked = asked if event is None else ("event", event)
            clear_alarm(session, state.site, *asked, state.clock())
    state.shelf.forget()
