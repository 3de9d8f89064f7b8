"""The tables of what a service keeps beside plans and telemetry."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from planner.ledger.tables import PlanKey, Table


class TelemetryHour(Table):
    """Sums of one run's telemetry under one calendar in one hour; `calendar_id` is "" where none was followed.

    `part` says of which records: "raw" of those in the table `telemetry`, "let-go" of those that are there no more.
    `kept_s` is adherence times seconds, `judged_s` the seconds that have one; energy counts each board's time once.
    """

    __tablename__ = "telemetry_hour"

    calendar_id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(primary_key=True)
    part: Mapped[str] = mapped_column(primary_key=True)
    hour_s: Mapped[int] = mapped_column(primary_key=True)
    records: Mapped[int]
    seconds: Mapped[float]
    judged_s: Mapped[float]
    kept_s: Mapped[float]
    tokens: Mapped[float]
    useful_tokens: Mapped[float]
    energy_j: Mapped[float]
    energy_error_j: Mapped[float]
    carbon_kg: Mapped[float]
    starvation_j: Mapped[float]
    hold_j: Mapped[float]
    checkpoint_j: Mapped[float]
    recompute_j: Mapped[float]
    overhead_j: Mapped[float]
    host_j: Mapped[float]
    host_error_j: Mapped[float]
    node_j: Mapped[float]
    node_error_j: Mapped[float]
    energy_sources: Mapped[str]
    until_s: Mapped[float]


class TelemetryDue(Table):
    """The time, in seconds since 1970, over which the hours of a run have to be summed anew."""

    __tablename__ = "telemetry_due"

    calendar_id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(primary_key=True)
    from_s: Mapped[float]
    until_s: Mapped[float]


class TelemetryLetGo(Table):
    """Records of a writer, from the first to the last number, that were counted and let go."""

    __tablename__ = "telemetry_let_go"

    writer: Mapped[str] = mapped_column(primary_key=True)
    first: Mapped[int] = mapped_column(primary_key=True)
    last: Mapped[int]


class CalendarFile(Table):
    """A file of a calendar as it was issued, its bytes compressed."""

    __tablename__ = "calendar_file"

    calendar_id: Mapped[PlanKey]
    path: Mapped[str] = mapped_column(primary_key=True)
    sha256: Mapped[str]
    packed: Mapped[bytes]


class PlanInput(Table):
    """What a plan was made from, as it was then, its bytes compressed."""

    __tablename__ = "plan_input"

    calendar_id: Mapped[PlanKey]
    name: Mapped[str] = mapped_column(primary_key=True)
    sha256: Mapped[str]
    packed: Mapped[bytes]


class Decision(Table):
    """What was decided about a calendar, never changed; the last one says how it stands."""

    __tablename__ = "decision"

    number: Mapped[int] = mapped_column(primary_key=True)
    site: Mapped[str] = mapped_column(index=True)
    calendar_id: Mapped[str] = mapped_column(ForeignKey("plan.calendar_id"), index=True)
    action: Mapped[str]
    at: Mapped[datetime]
    by: Mapped[str]
    why: Mapped[str]


class EventRow(Table):
    """One version of a grid event as it was received."""

    __tablename__ = "grid_event"

    number: Mapped[int] = mapped_column(primary_key=True)
    site: Mapped[str]
    event: Mapped[str]
    sha256: Mapped[str]
    modified_at: Mapped[datetime | None]
    received_at: Mapped[datetime]
    received_by: Mapped[str]
    content: Mapped[str]
    outcome: Mapped[str]
    calendar_id: Mapped[str | None]


class AlarmRow(Table):
    """Something that somebody has to look at; open while `closed_at` is empty."""

    __tablename__ = "alarm"
    __table_args__ = (
        Index(
            "one_open_alarm",
            "site",
            "kind",
            "subject",
            unique=True,
            sqlite_where=text("closed_at IS NULL"),
            postgresql_where=text("closed_at IS NULL"),
        ),
    )

    number: Mapped[int] = mapped_column(primary_key=True)
    site: Mapped[str]
    kind: Mapped[str]
    subject: Mapped[str]
    severity: Mapped[str]
    sentence: Mapped[str]
    action: Mapped[str]
    owner: Mapped[str]
    opened_at: Mapped[datetime]
    last_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    times: Mapped[int]


class JobRun(Table):
    """One run of a job; `ended_at` is empty while it goes on, or where its process was killed."""

    __tablename__ = "job_run"
    __table_args__ = (Index("ix_job_run_site_job", "site", "job", "number"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    site: Mapped[str]
    job: Mapped[str]
    holder: Mapped[str]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str]
    told: Mapped[str]


class LeaseRow(Table):
    """Who may do what only one may; until when is in seconds since 1970 by the database's clock."""

    __tablename__ = "lease"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    until_s: Mapped[float]
