"""What a service that runs every week keeps: calendars, decisions, events, alarms, jobs, hours of telemetry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SUMS = (
    "seconds", "judged_s", "kept_s", "tokens", "useful_tokens", "energy_j", "energy_error_j", "carbon_kg",
    "starvation_j", "hold_j", "checkpoint_j", "recompute_j", "overhead_j", "host_j", "host_error_j", "node_j",
    "node_error_j",
)  # fmt: skip


def upgrade() -> None:
    """Make the tables, and tell telemetry apart that was counted when other records of its boards were let go."""
    op.add_column("telemetry", sa.Column("energy_share", sa.Double))
    op.create_table(
        "telemetry_hour",
        *(sa.Column(name, sa.String, primary_key=True) for name in ("calendar_id", "run", "part")),
        sa.Column("hour_s", _WHOLE, primary_key=True, autoincrement=False),
        sa.Column("records", _WHOLE, nullable=False),
        *(sa.Column(name, sa.Double, nullable=False) for name in _SUMS),
        sa.Column("energy_sources", sa.String, nullable=False),
        sa.Column("until_s", sa.Double, nullable=False),
    )
    op.create_table(
        "telemetry_due",
        *(sa.Column(name, sa.String, primary_key=True) for name in ("calendar_id", "run")),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("from_s", "until_s")),
    )
    op.create_table(
        "telemetry_let_go",
        sa.Column("writer", sa.String, primary_key=True),
        sa.Column("first", _WHOLE, primary_key=True, autoincrement=False),
        sa.Column("last", _WHOLE, nullable=False),
    )
    for table, name in (("calendar_file", "path"), ("plan_input", "name")):
        op.create_table(
            table,
            sa.Column("calendar_id", sa.String, sa.ForeignKey("plan.calendar_id"), primary_key=True),
            sa.Column(name, sa.String, primary_key=True),
            sa.Column("sha256", sa.String, nullable=False),
            sa.Column("packed", sa.LargeBinary, nullable=False),
        )
    op.create_table(
        "decision",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("site", sa.String, nullable=False, index=True),
        sa.Column("calendar_id", sa.String, sa.ForeignKey("plan.calendar_id"), nullable=False, index=True),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("why", sa.String, nullable=False),
    )
    op.create_table(
        "grid_event",
        sa.Column("number", _WHOLE, primary_key=True),
        *(sa.Column(name, sa.String, nullable=False) for name in ("site", "event", "sha256")),
        sa.Column("modified_at", sa.DateTime),
        sa.Column("received_at", sa.DateTime, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("received_by", "content", "outcome")),
        sa.Column("calendar_id", sa.String),
        sa.UniqueConstraint("site", "event", "sha256"),
    )
    op.create_table(
        "alarm",
        sa.Column("number", _WHOLE, primary_key=True),
        *(sa.Column(name, sa.String, nullable=False) for name in ("site", "kind", "subject", "severity")),
        *(sa.Column(name, sa.String, nullable=False) for name in ("sentence", "action", "owner")),
        *(sa.Column(name, sa.DateTime, nullable=False) for name in ("opened_at", "last_at")),
        sa.Column("closed_at", sa.DateTime),
        sa.Column("times", _WHOLE, nullable=False),
    )
    still_open = sa.text("closed_at IS NULL")
    op.create_index(
        "one_open_alarm",
        "alarm",
        ["site", "kind", "subject"],
        unique=True,
        sqlite_where=still_open,
        postgresql_where=still_open,
    )
    op.create_table(
        "job_run",
        sa.Column("number", _WHOLE, primary_key=True),
        *(sa.Column(name, sa.String, nullable=False) for name in ("site", "job", "holder")),
        sa.Column("started_at", sa.DateTime, nullable=False),
        sa.Column("ended_at", sa.DateTime),
        *(sa.Column(name, sa.String, nullable=False) for name in ("outcome", "told")),
    )
    op.create_index("ix_job_run_site_job", "job_run", ["site", "job", "number"])
    op.create_table(
        "lease",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("until_s", sa.Double, nullable=False),
    )
