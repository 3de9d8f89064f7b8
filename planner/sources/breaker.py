"""Providers that fail again and again are left alone for a while, by all processes that share the file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from planner.sources.store import Store

if TYPE_CHECKING:
    import sqlite3

_FILE = "breakers.sqlite"
_SCHEMA = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS breaker (host TEXT PRIMARY KEY, failures INTEGER NOT NULL, open_until REAL NOT NULL)
"""
TRIES = 3
"""Failures in a row after which a provider is left alone."""
_FIRST_PAUSE = timedelta(minutes=2)
_LONGEST_PAUSE = timedelta(hours=1)


class Breakers:
    """One breaker per host.

    Args:
        folder: Where the file stands; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FILE
        self._store = Store(self.path, "breakers", _SCHEMA, (_TABLE,))

    def open_until(self, host: str, now: datetime) -> datetime | None:
        """Return until when a host is left alone, UTC, or None where it may be asked.

        Args:
            host: Name of the host.
            now: The present instant, UTC.
        """

        def select(db: sqlite3.Connection) -> float | None:
            row = db.execute("SELECT open_until FROM breaker WHERE host = ?", (host,)).fetchone()
            return float(row[0]) if row else None

        until = self._store.act(select)
        # A clock that was set back would leave the host alone for ever.
        if until is None or not now < datetime.fromtimestamp(until, UTC) <= now + timedelta(days=1):
            return None
        return datetime.fromtimestamp(until, UTC)

    def failed(self, host: str, now: datetime, asked_s: float | None = None) -> None:
        """Note that a host failed; from TRIES failures in a row on it is left alone, each time for twice as long.

        Args:
            host: Name of the host.
            now: The present instant, UTC.
            asked_s: Pause that the provider itself asked for, s: it is kept from the first time on.
        """

        def count(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT failures FROM breaker WHERE host = ?", (host,)).fetchone()
            failures = 1 + (row[0] if row else 0)
            pause_s = asked_s or 0.0
            if failures >= TRIES:
                doubled = _FIRST_PAUSE * 2 ** min(failures - TRIES, 10)
                pause_s = max(pause_s, min(doubled, _LONGEST_PAUSE).total_seconds())
            values = (host, failures, now.timestamp() + pause_s)
            db.execute("INSERT OR REPLACE INTO breaker VALUES (?, ?, ?)", values)

        self._store.act(count)

    def worked(self, host: str) -> None:
        """Note that a host answered."""
        self._store.act(lambda db: db.execute("DELETE FROM breaker WHERE host = ?", (host,)).rowcount)
