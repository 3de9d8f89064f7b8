"""Answers of providers kept on disk, so that a plan can be made when the network fails."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from planner.sources.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_FILE = "responses.sqlite"
_SCHEMA = 1
_KEEP = timedelta(days=90)  # far beyond any age at which an answer may still be served
_TABLE = """
CREATE TABLE IF NOT EXISTS answer (
    key TEXT PRIMARY KEY, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, fetched_at REAL NOT NULL
)
"""

_SETTLED = "CREATE TABLE IF NOT EXISTS settled (key TEXT PRIMARY KEY)"  # a file of an earlier gridpace has none


@dataclass(frozen=True)
class Answer:
    """What a provider answered.

    Args:
        status: HTTP status.
        headers: Response headers, names in lower case.
        body: Body as delivered, unpacked.
        fetched_at: When it came, UTC.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    fetched_at: datetime


def default_folder() -> Path:
    """Return the folder named by GRIDPACE_CACHE, else `gridpace` in the user's cache folder.

    A user without a home has no such folder: what is returned then cannot be made, so that nothing is kept.
    """
    named = os.environ.get("GRIDPACE_CACHE")
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gridpace"
    except RuntimeError:
        return Path(os.devnull) / "gridpace"


class ResponseCache:
    """Answers by what was asked; it never stops a plan (see `Store`).

    Args:
        folder: Where the file stands; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / _FILE
        self._store = Store(self.path, "answers", _SCHEMA, (_TABLE,))

    def get(self, key: str) -> Answer | None:
        """Return the last answer kept under a key, or None."""

        def select(db: sqlite3.Connection) -> Answer | None:
            row = db.execute("SELECT status, headers, body, fetched_at FROM answer WHERE key = ?", (key,)).fetchone()
            return row and Answer(row[0], json.loads(row[1]), row[2], datetime.fromtimestamp(row[3], UTC))

        return self._store.act(select)

    def put(self, key: str, answer: Answer, *, settled: bool = False) -> None:
        """Keep an answer under a key in place of an earlier one, and drop those that are too old to be served.

        Args:
            key: What was asked, without secrets.
            answer: A good answer.
            settled: Whether the provider will never say anything else: then it is never too old.
        """
        at = answer.fetched_at.timestamp()
        values = (key, answer.status, json.dumps(dict(answer.headers), sort_keys=True), answer.body, at)

        def replace(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", values)
            db.execute(_SETTLED)
            if settled:
                db.execute("INSERT OR IGNORE INTO settled VALUES (?)", (key,))
            db.execute(
                "DELETE FROM answer WHERE fetched_at < ? AND key NOT IN (SELECT key FROM settled)",
                (at - _KEEP.total_seconds(),),
            )

        self._store.act(replace)
