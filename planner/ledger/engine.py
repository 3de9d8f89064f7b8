"""The connection to the ledger's database: a SQLite file, or PostgreSQL by its URL."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from planner.errors import ConfigError, ExportError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

WRITES = "gridpace_writes"
"""Execution option of connections whose transaction writes."""

_SCHEMES = frozenset({"sqlite", "postgresql", "postgres"})
_DRIVER = "postgresql+psycopg"
BUSY_S = 10.0
"""Longest wait for another writer, s."""

_RETRY_S = 0.01
_POOL = 8
_OVERFLOW = 24


def open_engine(where: Path | str) -> Engine:
    """Return the engine of a ledger; nothing is asked of the database yet but the folder of its file made.

    Args:
        where: SQLite file, or a URL such as postgresql://user@host/name.

    Raises:
        ConfigError: The URL is none, or of another kind of database, or its driver is not installed.
        ExportError: The folder of the file cannot be made.
    """
    url = _url(where)
    if url.get_backend_name() == "sqlite":
        _make_folder(Path(url.database or ""))
        engine = create_engine(url, pool_size=_POOL, max_overflow=_OVERFLOW)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        # A connection that the server dropped, as in its restart, is made anew instead of failing the next request.
        return create_engine(url, pool_size=_POOL, max_overflow=_OVERFLOW, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the ledger {shown(where)} needs the driver of PostgreSQL, which is not installed",
            fix="pip install 'gridpace[postgres]'",
        ) from error


def shown(where: Path | str) -> str:
    """Return a path, or a URL without its password, for people and logs."""
    if isinstance(where, Path):
        return str(where)
    try:
        return make_url(where).render_as_string(hide_password=True)
    except ArgumentError:
        return "(a URL that cannot be read)"


def _url(where: Path | str) -> URL:
    if isinstance(where, Path):
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise ConfigError(
            "the URL of the ledger cannot be read",
            why="it is not shown, for it may hold a password",
            fix="write it as postgresql://user:password@host/name, with %-escapes for signs such as / and @",
        ) from None
    scheme = url.drivername.partition("+")[0]
    if scheme not in _SCHEMES:
        raise ConfigError(
            f"the ledger cannot be kept in {scheme[:40]!r}",
            fix="give a file, or the URL of a PostgreSQL database: postgresql://user:password@host/name",
        )
    return url if scheme == "sqlite" else url.set(drivername=_DRIVER)


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"the ledger {path} cannot be made ({error.strerror or error})") from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver's own transactions leave out what defines tables; `_begin_sqlite` begins every one.
    connection.isolation_level = None
    cursor = connection.cursor()
    # The checks of foreign keys are off by default; a writer waits for another one instead of failing.
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_S * 1e3:.0f}")
    # In WAL the last write survives the process at once, and a power cut too at FULL.
    _patiently(cursor, "PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    cursor = connection.connection.cursor()
    if connection.get_execution_options().get(WRITES):
        # A reader that turns to writing midway could only fail where another has written meanwhile.
        _patiently(cursor, "BEGIN IMMEDIATE")
    else:
        cursor.execute("BEGIN")
        _patiently(cursor, "SELECT 1 FROM sqlite_master")
    cursor.close()


def _patiently(cursor: Any, statement: str) -> None:
    # SQLite answers "locked" at once, whatever its timeout, while another process changes the journal mode or cleans
    # up as the last to leave (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY").
    until = time.monotonic() + BUSY_S
    while True:
        try:
            cursor.execute(statement)
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not busy or time.monotonic() >= until:
                raise
            time.sleep(_RETRY_S)
        else:
            return
