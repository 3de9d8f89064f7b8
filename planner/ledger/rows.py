"""Rows entered by the thousand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from planner.ledger.tables import Table

_SIGNS = {"qmark": "?", "pyformat": "%s"}


def enter_rows(session: Session, table: type[Table], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows past the mapper, which takes ten times as long.

    Args:
        session: An open transaction.
        table: The table.
        rows: Values of all its columns in their order, instants as text in UTC without offset.
    """
    columns = table.__table__.c
    connection = session.connection()
    sign = _SIGNS[connection.dialect.paramstyle]
    names = ", ".join(f'"{column.name}"' for column in columns)
    statement = f"INSERT INTO {table.__tablename__} ({names}) VALUES ({', '.join([sign] * len(columns))})"  # noqa: S608 - ours
    cursor = connection.connection.cursor()
    try:
        cursor.executemany(statement, cast("Sequence[Sequence[Any]]", rows))  # both drivers take any iterable
    finally:
        cursor.close()
