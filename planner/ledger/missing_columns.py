"""Columns that a ledger of an earlier release lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.schema import CreateColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table
    from sqlalchemy.sql.schema import Column


def add_missing_columns(connection: Connection, tables: Sequence[Table], views: Sequence[str]) -> None:
    """Add to a ledger's tables the columns that they lack; rows that are there have none of what these tell.

    Args:
        connection: A connection outside any transaction; where columns are added it is left within one.
        tables: The tables as they are to be; a column that a release adds may be empty.
        views: Names of the views over them, taken away where columns are added, so that they are made anew with these.
    """
    if not _missing(connection, tables):
        return
    # Of two processes that find columns missing one waits here, and then finds none.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    for table, column in _missing(connection, tables):
        added = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ADD COLUMN {added}')
    for view in views:
        connection.exec_driver_sql(f'DROP VIEW IF EXISTS "{view}"')


def _missing(connection: Connection, tables: Sequence[Table]) -> list[tuple[Table, Column[object]]]:
    found = []
    for table in tables:
        there = {row[1] for row in connection.exec_driver_sql(f'PRAGMA table_info("{table.name}")')}
        found += [(table, column) for column in table.columns if column.name not in there]
    return found
