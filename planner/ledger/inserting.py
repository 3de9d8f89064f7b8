"""Rows that are entered once, on either database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.ledger.tables import Table

Insert = sqlite.Insert | postgresql.Insert


def insert_into(session: Session, table: type[Table]) -> Insert:
    """Return the insert statement that knows what to do on a conflict, in the words of the session's database."""
    found: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
    made: Insert = found[session.get_bind().dialect.name](table)
    return made
