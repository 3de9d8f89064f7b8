"""Plans, telemetry and carbon accounts.

Releases before the ledger had numbered steps made these tables by themselves, some with fewer columns: what is there
stays, what is missing is added.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import CreateColumn

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_CARBON = (
    "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "location_kg", "market_kg", "onsite_kg",
)  # fmt: skip


def upgrade() -> None:
    """Make the tables, or complete those of an earlier release."""
    connection = op.get_bind()
    tables = _tables()
    tables.create_all(connection, checkfirst=True)
    dialect = connection.dialect
    found = sa.inspect(connection)
    for table in tables.sorted_tables:
        there = {column["name"] for column in found.get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                added = CreateColumn(column).compile(dialect=dialect)
                op.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {added}')
    for index in ("run", "calendar_id"):
        op.create_index(f"ix_telemetry_{index}", "telemetry", [index], if_not_exists=True)


def _tables() -> sa.MetaData:
    made = sa.MetaData()
    key: dict[str, Any] = {"primary_key": True, "autoincrement": False}
    in_plan = sa.ForeignKey("plan.calendar_id")
    sa.Table(
        "plan",
        made,
        sa.Column("calendar_id", sa.String, **key),
        *_texts("site"),
        *_times("issued_at", "valid_from", "valid_until"),
        *_texts("status"),
        sa.Column("certified_gap", sa.Double),
    )
    sa.Table(
        "planned_window",
        made,
        sa.Column("calendar_id", sa.String, in_plan, **key),
        sa.Column("run", sa.String, **key),
        sa.Column("start", sa.DateTime, **key),
        *_times("end"),
        *_texts("state"),
        *_numbers("tokens", "energy_kwh", "carbon_kg"),
    )
    sa.Table(
        "slot_carbon",
        made,
        sa.Column("calendar_id", sa.String, sa.ForeignKey("plan.calendar_id"), **key),
        sa.Column("start", sa.DateTime, **key),
        *_times("end"),
        *_numbers("kg_per_it_kwh"),
    )
    sa.Table(
        "telemetry",
        made,
        sa.Column("writer", sa.String, **key),
        sa.Column("sequence", _WHOLE, **key),
        *_texts("run"),
        sa.Column("calendar_id", sa.String),
        *_times("t_start", "t_end"),
        *_texts("state"),
        *_wholes("tokens", "useful_tokens", "position_tokens"),
        *_numbers("energy_j", "energy_error_j"),
        *_texts("energy_source"),
        *_wholes("gpus"),
        *_maybe("gpu_power_limit_w", "enforced_limit_w", "adherence"),
        sa.Column("rank", _WHOLE),
        sa.Column("boards", sa.String),
        *_maybe("starvation_j", "hold_j", "checkpoint_j", "recompute_j", "overhead_j"),
        *_maybe("host_j", "host_error_j", "node_j", "node_error_j"),
    )
    _carbon_tables(made)
    return made


def _carbon_tables(made: sa.MetaData) -> None:
    key: dict[str, Any] = {"primary_key": True, "autoincrement": False}
    sa.Table(
        "factor_set",
        made,
        sa.Column("number", _WHOLE, primary_key=True),
        *_texts("name", "version", "basis", "content"),
        sa.UniqueConstraint("name", "version", "content"),
    )
    sa.Table(
        "carbon_account",
        made,
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("calendar_id", sa.String, sa.ForeignKey("plan.calendar_id"), nullable=False),
        *_texts("series"),
        sa.Column("factor_set", _WHOLE, sa.ForeignKey("factor_set.number"), nullable=False),
        *_texts("zone"),
        *_times("start"),
        *_wholes("slot_minutes"),
        *_texts("server", "sources", "labels"),
        *_numbers("stored_kwh", "gpu_hours"),
        *_texts("sha256"),
        sa.UniqueConstraint("calendar_id", "series"),
    )
    sa.Table(
        "site_account",
        made,
        sa.Column("account", _WHOLE, sa.ForeignKey("carbon_account.number"), **key),
        sa.Column("start_s", _WHOLE, **key),
        *_wholes("factor_set"),
        *_numbers("it_kwh", "facility_kwh", "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh"),
        *_numbers("average_gco2_per_kwh", "residual_gco2_per_kwh"),
        *_maybe("marginal_gco2_per_kwh"),
        *_numbers("grid_cfe_share", "location_kg", "market_kg", "onsite_kg"),
        *_maybe("marginal_kg"),
        *_numbers("water_l"),
        *_maybe("heat_sold_kwh_th"),
        sqlite_with_rowid=False,
    )
    sa.Table(
        "contract",
        made,
        sa.Column("account", _WHOLE, sa.ForeignKey("carbon_account.number"), **key),
        sa.Column("position", _WHOLE, **key),
        *_texts("name", "technology"),
        *_numbers("factor_gco2_per_kwh"),
        *_texts("basis", "boundary"),
    )
    sa.Table(
        "contract_account",
        made,
        *(sa.Column(name, _WHOLE, **key) for name in ("account", "position", "start_s")),
        *_wholes("factor_set"),
        *_numbers("supplied_kwh", "used_kwh"),
        sqlite_with_rowid=False,
    )
    sa.Table(
        "run_account",
        made,
        sa.Column("account", _WHOLE, sa.ForeignKey("carbon_account.number"), **key),
        sa.Column("position", _WHOLE, **key),
        *_texts("run"),
        *_wholes("factor_set"),
        *_numbers("it_kwh", *_CARBON),
        *_maybe("marginal_kg"),
        *_numbers("water_l", "gpu_hours", "embodied_low_kg", "embodied_mid_kg", "embodied_high_kg", "tokens"),
        *_maybe("heat_sold_kwh_th"),
    )


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String, nullable=False) for name in names]


def _times(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.DateTime, nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=False) for name in names]


def _maybe(*names: str) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double) for name in names]


def _wholes(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, _WHOLE, nullable=False) for name in names]
