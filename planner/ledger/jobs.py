"""Who may do what only one may, and what jobs did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, or_, select, text, update

from planner.ledger.inserting import insert_into
from planner.ledger.service_tables import JobRun, LeaseRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

_CLOCK = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
CUT_SHORT = "cut short"
_PROOF = "proof that the database can be written"


def take_lease(session: Session, name: str, holder: str, ttl_s: float) -> bool:
    """Take or renew a lease, by the clock of the database, which all instances share.

    Args:
        session: An open transaction that writes.
        name: What only one may do.
        holder: Who asks.
        ttl_s: For how long, s; whoever holds it renews it well before.

    Returns:
        Whether the asker holds it now.
    """
    now_s = float(session.execute(text(f"SELECT {_CLOCK[session.get_bind().dialect.name]}")).scalar_one())
    statement = insert_into(session, LeaseRow).values(name=name, holder=holder, until_s=now_s + ttl_s)
    taken = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"holder": holder, "until_s": now_s + ttl_s},
        where=or_(LeaseRow.until_s <= now_s, LeaseRow.holder == holder),
    )
    return session.execute(taken.returning(LeaseRow.holder)).scalar() == holder


def give_lease_back(session: Session, name: str, holder: str) -> None:
    """Give a lease back, so that the next one does not have to wait for its end."""
    session.execute(delete(LeaseRow).where(LeaseRow.name == name, LeaseRow.holder == holder))


def prove_writable(session: Session, holder: str) -> None:
    """Write a row, the same one for all instances, so that a database which only reads is known from one that works.

    Args:
        session: An open transaction that writes.
        holder: Who tries.
    """
    statement = insert_into(session, LeaseRow).values(name=_PROOF, holder=holder, until_s=0.0)
    session.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"holder": holder}))


def lease_name(site: str) -> str:
    """Return the name of the lease of whoever works a site's jobs off."""
    return f"schedule of {site}"


def lease_end(session: Session, name: str) -> datetime | None:
    """Return until when a lease was renewed last, UTC; None where nobody took it, or whoever did gave it back."""
    until_s = session.scalar(select(LeaseRow.until_s).where(LeaseRow.name == name))
    return None if until_s is None else datetime.fromtimestamp(until_s, UTC)


def job_begins(session: Session, site: str, job: str, holder: str, at: datetime) -> int:
    """Note that a job begins; what an instance that was killed left unfinished is marked as cut short.

    Returns:
        The number of this run.
    """
    session.execute(
        update(JobRun)
        .where(JobRun.site == site, JobRun.job == job, JobRun.ended_at.is_(None))
        .values(ended_at=at, outcome=CUT_SHORT)
    )
    row = JobRun(site=site, job=job, holder=holder, started_at=at, ended_at=None, outcome="", told="")
    session.add(row)
    session.flush()
    return row.number


def job_ends(session: Session, number: int, outcome: str, told: str, at: datetime) -> bool:
    """Note how a run of a job ended: "done" or "failed", and what it says.

    Of runs one after the other that say the same the last one is kept: a job may run thousands of times a day.

    Returns:
        Whether it says something else than the run before.
    """
    row = session.get_one(JobRun, number)
    row.ended_at, row.outcome, row.told = at, outcome, told
    earlier = select(JobRun).where(JobRun.site == row.site, JobRun.job == row.job, JobRun.number < number)
    before = session.scalars(earlier.order_by(JobRun.number.desc()).limit(1)).first()
    if before is None or (before.outcome, before.told) != (outcome, told):
        return True
    session.delete(before)
    return False


def last_runs(session: Session, site: str) -> Sequence[JobRun]:
    """Return the last run of each job of a site, in order of the jobs' names."""
    last = select(func.max(JobRun.number)).where(JobRun.site == site).group_by(JobRun.job)
    return session.scalars(select(JobRun).where(JobRun.number.in_(last)).order_by(JobRun.job)).all()


def forget_runs(session: Session, before: datetime) -> None:
    """Drop what is noted of job runs that ended before an instant."""
    session.execute(delete(JobRun).where(JobRun.ended_at < before))
