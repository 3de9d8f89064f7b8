"""What somebody has to look at: one open alarm per cause, closed when the cause is gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from sqlalchemy import delete, select

from planner.ledger.service_tables import AlarmRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

Severity = Literal["amber", "red"]


@dataclass(frozen=True)
class Alarm:
    """What has to be looked at.

    Args:
        site: The site.
        kind: Such as "feed" or "drift".
        subject: What of that kind: a feed, a block, a run.
        severity: "amber" where there is time, "red" where there is none.
        sentence: What is the matter.
        action: What to do.
        owner: Who does it: "sustainability", "training", "facilities" or "operator".
    """

    site: str
    kind: str
    subject: str
    severity: Severity
    sentence: str
    action: str
    owner: str


def raise_alarm(session: Session, alarm: Alarm, at: datetime) -> bool:
    """Open an alarm; where it is open already, bring what it says up to date and count once more.

    Args:
        session: An open transaction that writes.
        alarm: The alarm.
        at: When, UTC.

    Returns:
        Whether it is new.
    """
    row = _open(session, alarm.site, alarm.kind, alarm.subject)
    if row is None:
        session.add(AlarmRow(**vars(alarm), opened_at=at, last_at=at, closed_at=None, times=1))
        session.flush()
        return True
    row.severity, row.sentence, row.action, row.owner = alarm.severity, alarm.sentence, alarm.action, alarm.owner
    row.last_at, row.times = max(row.last_at, at), row.times + 1
    return False


def clear_alarm(session: Session, site: str, kind: str, subject: str, at: datetime) -> bool:
    """Close an alarm; returns whether it was open."""
    row = _open(session, site, kind, subject)
    if row is None:
        return False
    row.closed_at = at
    return True


def open_alarms(session: Session, site: str) -> Sequence[AlarmRow]:
    """Return the open alarms of a site, the red ones first, then the newest."""
    found = select(AlarmRow).where(AlarmRow.site == site, AlarmRow.closed_at.is_(None))
    return session.scalars(found.order_by(AlarmRow.severity.desc(), AlarmRow.opened_at.desc())).all()


def forget_alarms(session: Session, before: datetime) -> None:
    """Drop alarms that were closed before an instant."""
    session.execute(delete(AlarmRow).where(AlarmRow.closed_at < before))


def _open(session: Session, site: str, kind: str, subject: str) -> AlarmRow | None:
    found = select(AlarmRow).filter_by(site=site, kind=kind, subject=subject).where(AlarmRow.closed_at.is_(None))
    return session.scalars(found.with_for_update()).first()
