"""What was decided about each calendar, and which one is in force: a record that only grows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from planner.errors import ConfigError
from planner.ledger.service_tables import Decision
from planner.ledger.tables import IssuedPlan
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

DRAFTED, APPROVED, REJECTED, SUPERSEDED = "drafted", "approved", "rejected", "superseded"


@dataclass(frozen=True)
class Standing:
    """How a calendar stands.

    Args:
        calendar_id: Its id.
        site: Its site.
        state: The last action: "drafted", "approved", "rejected" or "superseded".
        at: When, UTC.
        by: By whom: a person's token, or "policy" or "service".
        why: Why.
        issued_at: When the plan was made, UTC.
        valid_from: First instant covered, UTC.
        valid_until: First instant no longer covered, UTC.
        status: How the solve ended.
    """

    calendar_id: str
    site: str
    state: str
    at: datetime
    by: str
    why: str
    issued_at: datetime
    valid_from: datetime
    valid_until: datetime
    status: str


def draft(session: Session, calendar_id: str, *, by: str, why: str, at: datetime) -> bool:
    """Put a calendar forward; drafts of the same week of its site that nobody decided about are superseded.

    Args:
        session: An open transaction that writes; the plan is in the ledger.
        calendar_id: The calendar.
        by: By whom.
        why: Why it was made.
        at: When, UTC.

    Returns:
        Whether it is new.
    """
    plan = _locked(session, calendar_id)
    if _last(session, calendar_id) is not None:
        return False
    for other in standings(session, plan.site):
        if other.state == DRAFTED and other.valid_until == plan.valid_until:
            _enter(session, plan.site, other.calendar_id, (SUPERSEDED, at, by, f"calendar {calendar_id} replaces it"))
    _enter(session, plan.site, calendar_id, (DRAFTED, at, by, why))
    return True


def decide(session: Session, calendar_id: str, action: str, *, by: str, why: str, at: datetime) -> bool:
    """Approve or reject a draft; an approved calendar is in force over its time until another one is.

    Args:
        session: An open transaction that writes.
        calendar_id: The calendar.
        action: "approved" or "rejected".
        by: By whom.
        why: Why.
        at: When, UTC.

    Returns:
        False where it was decided so already.

    Raises:
        ConfigError: There is no such calendar, it was decided otherwise, or is over.
    """
    plan = _locked(session, calendar_id)
    last = _last(session, calendar_id)
    state = None if last is None else last.action
    if state == action:
        return False
    if state != DRAFTED:
        raise ConfigError(
            f"calendar {calendar_id} cannot be {action}: it is {state or 'no draft'}",
            why="a decision stands once it is made",
            fix="plan again, or roll back to a calendar that was in force",
        )
    if action == APPROVED and plan.valid_until <= at:
        raise ConfigError(
            f"calendar {calendar_id} cannot be approved: it ended on {iso(plan.valid_until)}", fix="plan again"
        )
    _enter(session, plan.site, calendar_id, (action, at, by, why))
    return True


def standings(session: Session, site: str, most: int = 200) -> list[Standing]:
    """Return how the calendars of a site stand, the last decided first."""
    last = select(func.max(Decision.number)).where(Decision.site == site).group_by(Decision.calendar_id)
    rows = session.execute(
        select(Decision, IssuedPlan)
        .join(IssuedPlan, IssuedPlan.calendar_id == Decision.calendar_id)
        .where(Decision.number.in_(last))
        .order_by(Decision.number.desc())
        .limit(most)
    )
    return [_standing(decision, plan) for decision, plan in rows]


def standing(session: Session, calendar_id: str) -> Standing | None:
    """Return how a calendar stands, or None where nothing was decided about it."""
    decision, plan = _last(session, calendar_id), session.get(IssuedPlan, calendar_id)
    return None if decision is None or plan is None else _standing(decision, plan)


def history(session: Session, site: str, most: int = 200) -> Sequence[Decision]:
    """Return the decisions of a site, the last first."""
    found = select(Decision).where(Decision.site == site).order_by(Decision.number.desc()).limit(most)
    return session.scalars(found).all()


def newest_decision(session: Session, site: str) -> int:
    """Return the number of the last decision about a site's calendars, 0 before the first."""
    return session.scalar(select(func.max(Decision.number)).where(Decision.site == site)) or 0


def in_force(session: Session, site: str, now: datetime) -> str | None:
    """Return the calendar that a site follows at an instant, or None where none was ever approved.

    It is the one approved last of those that cover the instant; where none does, the one that ended last, so that
    whoever reads it sees that it is over; before the first, the one that begins first.

    Args:
        session: An open session.
        site: The site.
        now: The instant, UTC.
    """
    approved = (
        select(Decision.calendar_id)
        .join(IssuedPlan, IssuedPlan.calendar_id == Decision.calendar_id)
        .where(Decision.site == site, Decision.action == APPROVED)
        .limit(1)
    )
    covering = approved.where(IssuedPlan.valid_from <= now, IssuedPlan.valid_until > now)
    over = approved.where(IssuedPlan.valid_until <= now).order_by(IssuedPlan.valid_until.desc())
    for found in (covering, over, approved.order_by(IssuedPlan.valid_from)):
        calendar_id = session.scalar(found.order_by(Decision.number.desc()))
        if calendar_id is not None:
            return calendar_id
    return None


def _locked(session: Session, calendar_id: str) -> IssuedPlan:
    # Of two who decide at once one waits here, and then sees what the other did.
    plan = session.get(IssuedPlan, calendar_id, with_for_update=True)
    if plan is None:
        raise ConfigError(f"there is no calendar {calendar_id[:80]!r}", fix="name one that the site's list shows")
    return plan


def _last(session: Session, calendar_id: str) -> Decision | None:
    found = select(Decision).where(Decision.calendar_id == calendar_id).order_by(Decision.number.desc()).limit(1)
    return session.scalars(found).first()


def _enter(session: Session, site: str, calendar_id: str, told: tuple[str, datetime, str, str]) -> None:
    action, at, by, why = told
    session.add(Decision(site=site, calendar_id=calendar_id, action=action, at=at, by=by, why=why))
    session.flush()


def _standing(decision: Decision, plan: IssuedPlan) -> Standing:
    return Standing(
        plan.calendar_id,
        plan.site,
        decision.action,
        decision.at,
        decision.by,
        decision.why,
        plan.issued_at,
        plan.valid_from,
        plan.valid_until,
        plan.status,
    )
