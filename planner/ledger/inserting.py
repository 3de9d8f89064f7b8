"""Rows that are entered once, on either database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, literal, select
from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from sqlalchemy.orm import InstrumentedAttribute, Session

    from planner.ledger.tables import Table

Insert = sqlite.Insert | postgresql.Insert


def insert_into(session: Session, table: type[Table]) -> Insert:
    """Return the insert statement that knows what to do on a conflict, in the words of the session's database."""
    found: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
    made: Insert = found[session.get_bind().dialect.name](table)
    return made


def insert_new(
    session: Session,
    table: type[Table],
    rows: Sequence[Mapping[str, Any]],
    told: Sequence[InstrumentedAttribute[Any]],
) -> list[tuple[Any, ...]]:
    """Enter rows by the hundred, and leave out those that are there already.

    Args:
        session: An open transaction that writes.
        table: The table.
        rows: Column -> value, the same columns in each; at least one row.
        told: What of each row that was new is returned.
    """
    statement = insert_into(session, table)
    if isinstance(statement, sqlite.Insert):
        new = statement.on_conflict_do_nothing().returning(*told)
        return [tuple(row) for row in session.connection().execute(new, [dict(row) for row in rows])]
    # Columns as arrays: the driver would look for the place of every single value in a statement of all rows.
    names = list(rows[0])
    types = table.__table__.c
    arrays = (literal([row[name] for row in rows], postgresql.ARRAY(types[name].type)) for name in names)
    columns = func.unnest(*arrays).table_valued(*names).render_derived(name="given")
    given = statement.from_select(names, select(*columns.c))
    return [tuple(row) for row in session.execute(given.on_conflict_do_nothing().returning(*told))]
