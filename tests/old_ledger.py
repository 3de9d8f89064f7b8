"""Ledgers as earlier releases left them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

SCHEMA = Path(__file__).with_name("golden") / "ledger-unnumbered.sql"
VIEWS = ("run_account_hour", "run_account_slot")


def make_old(path: Path, lacking: Mapping[str, Iterable[str]] | None = None) -> Path:
    """Make an empty ledger of before its steps were numbered; `lacking` names columns that it has not yet."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA.read_text(encoding="utf-8"))
        for view in VIEWS if lacking else ():
            database.execute(f"DROP VIEW {view}")
        for table, columns in (lacking or {}).items():
            for column in columns:
                database.execute(f'ALTER TABLE {table} DROP COLUMN "{column}"')
        database.commit()
    return path


def move_rows(source: Path, target: Path) -> None:
    """Copy all rows of a ledger into an older one, as far as that has their tables and columns."""
    with closing(sqlite3.connect(target)) as database:
        database.execute("ATTACH ? AS source", (str(source),))
        tables = [row[0] for row in database.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
        for table in tables:
            names = ", ".join(f'"{row[1]}"' for row in database.execute(f'PRAGMA main.table_info("{table}")'))
            database.execute(f'INSERT INTO main."{table}" ({names}) SELECT {names} FROM source."{table}"')
        database.commit()


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table that an old ledger has, without columns that later releases add."""
    with closing(sqlite3.connect(":memory:")) as old:
        old.executescript(SCHEMA.read_text(encoding="utf-8"))
        columns = {
            table: ", ".join(f'"{row[1]}"' for row in old.execute(f'PRAGMA table_info("{table}")'))
            for (table,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
    with closing(sqlite3.connect(path)) as database:
        return {
            t: database.execute(f'SELECT {names} FROM "{t}" ORDER BY 1, 2, 3').fetchall()
            for t, names in columns.items()
        }
