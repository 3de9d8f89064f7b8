"""The tables of the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, Dialect, ForeignKey, Integer
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """An instant in UTC, kept without offset on every database: SQLite itself keeps none."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the instant as the database keeps it."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the instant as it was given, in UTC."""
        return None if value is None else value.replace(tzinfo=UTC)


class Table(DeclarativeBase):
    """Base of the ledger's tables."""

    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        datetime: UtcTime,
        int: BigInteger().with_variant(Integer(), "sqlite"),  # tokens need 64 bits, which SQLite's have anyway
    }


PlanKey = Annotated[str, mapped_column(ForeignKey("plan.calendar_id"), primary_key=True)]
"""The plan that a row belongs to, part of its key."""


class IssuedPlan(Table):
    """A plan that was issued."""

    __tablename__ = "plan"

    calendar_id: Mapped[str] = mapped_column(primary_key=True)
    site: Mapped[str]
    issued_at: Mapped[datetime]
    valid_from: Mapped[datetime]
    valid_until: Mapped[datetime]
    status: Mapped[str]
    certified_gap: Mapped[float | None]


class PlannedWindow(Table):
    """One window of a run in a plan."""

    __tablename__ = "planned_window"

    calendar_id: Mapped[PlanKey]
    run: Mapped[str] = mapped_column(primary_key=True)
    start: Mapped[datetime] = mapped_column(primary_key=True)
    end: Mapped[datetime]
    state: Mapped[str]
    tokens: Mapped[float]
    energy_kwh: Mapped[float]
    carbon_kg: Mapped[float]


class SlotCarbon(Table):
    """Site carbon per kWh of IT energy in one slot of a plan."""

    __tablename__ = "slot_carbon"

    calendar_id: Mapped[PlanKey]
    start: Mapped[datetime] = mapped_column(primary_key=True)
    end: Mapped[datetime]
    kg_per_it_kwh: Mapped[float]


class Telemetry(Table):
    """One telemetry record; see `trainer_hooks.telemetry.Record`. UUIDs of boards are one text, parted by spaces.

    `energy_share` is empty but where records of the same boards and time were let go: what of its energy those had not
    told, 0 to 1.
    """

    __tablename__ = "telemetry"

    writer: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(index=True)
    calendar_id: Mapped[str | None] = mapped_column(index=True)
    t_start: Mapped[datetime]
    t_end: Mapped[datetime]
    state: Mapped[str]
    tokens: Mapped[int]
    useful_tokens: Mapped[int]
    position_tokens: Mapped[int]
    energy_j: Mapped[float]
    energy_error_j: Mapped[float]
    energy_source: Mapped[str]
    gpus: Mapped[int]
    gpu_power_limit_w: Mapped[float | None]
    enforced_limit_w: Mapped[float | None]
    adherence: Mapped[float | None]
    rank: Mapped[int | None]
    boards: Mapped[str | None]
    starvation_j: Mapped[float | None]
    hold_j: Mapped[float | None]
    checkpoint_j: Mapped[float | None]
    recompute_j: Mapped[float | None]
    overhead_j: Mapped[float | None]
    host_j: Mapped[float | None]
    host_error_j: Mapped[float | None]
    node_j: Mapped[float | None]
    node_error_j: Mapped[float | None]
    energy_share: Mapped[float | None]
