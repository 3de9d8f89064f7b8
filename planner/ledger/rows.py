"""Rows entered by the thousand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.ledger.tables import Table


def enter_rows(session: Session, table: type[Table], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows past the mapper, which takes ten times as long.

    Args:
        session: An open transaction.
        table: The table.
        rows: Values of all its columns in their order, as SQLite keeps them.
    """
    columns = table.__table__.c
    names = ", ".join(f'"{column.name}"' for column in columns)
    statement = f"INSERT INTO {table.__tablename__} ({names}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - ours
    connection = session.connection().connection.driver_connection
    assert connection is not None
    connection.executemany(statement, rows)
