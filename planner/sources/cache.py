"""Answers of providers kept on disk, so that a plan can be made when the network fails."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_FILE = "responses.sqlite"
_BUSY_S = 5.0
_SCHEMA = 1
_KEEP = timedelta(days=90)  # far beyond any age at which an answer may still be served
_TABLE = """
CREATE TABLE IF NOT EXISTS answer (
    key TEXT PRIMARY KEY, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, fetched_at REAL NOT NULL
)
"""


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
    """An SQLite file of answers that several processes may use at once.

    It never stops a plan: a broken file is set aside and a new one started, and where the disk refuses, nothing is
    kept. Both are logged as warnings.

    Args:
        folder: Where the file stands; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FILE

    def get(self, key: str) -> Answer | None:
        """Return the last answer kept under a key, or None."""

        def select(db: sqlite3.Connection) -> Answer | None:
            row = db.execute("SELECT status, headers, body, fetched_at FROM answer WHERE key = ?", (key,)).fetchone()
            return row and Answer(row[0], json.loads(row[1]), row[2], datetime.fromtimestamp(row[3], UTC))

        return self._safely(select)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer under a key in place of an earlier one.

        Args:
            key: What was asked, without secrets.
            answer: A good answer.
        """
        at = answer.fetched_at.timestamp()
        values = (key, answer.status, json.dumps(dict(answer.headers), sort_keys=True), answer.body, at)

        def replace(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", values)
            db.execute("DELETE FROM answer WHERE fetched_at < ?", (at - _KEEP.total_seconds(),))

        self._safely(replace)

    def _safely(self, act: Callable[[sqlite3.Connection], _T]) -> _T | None:
        # A second look before a file is set aside: another process may have mended it in between.
        for mend in (False, True, False):
            try:
                with closing(self._connect()) as db, db:
                    return act(db)
            except (OSError, sqlite3.OperationalError) as exc:
                _LOG.warning("answers are not kept: %s: %s", self.path, exc)
                return None
            except (sqlite3.DatabaseError, ValueError, TypeError) as exc:
                if mend:
                    self._set_aside(exc)
        return None

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=_BUSY_S)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version not in {0, _SCHEMA}:
                raise sqlite3.DatabaseError(f"its schema is version {version}, known is {_SCHEMA}")  # noqa: TRY301
            if version == 0:
                with db:
                    db.execute(_TABLE)
                    db.execute(f"PRAGMA user_version = {_SCHEMA}")
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside(self, cause: Exception) -> None:
        broken = self.path.with_name(f"{_FILE}.broken")
        _LOG.warning("%s cannot be used (%s); it is set aside as %s and a new one is started", self.path, cause, broken)
        try:
            self.path.replace(broken)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(_FILE + suffix).unlink(missing_ok=True)
        except OSError as exc:
            _LOG.warning("%s cannot be set aside: %s", self.path, exc)
