"""An SQLite file beside a plan that several processes may use at once and that never stops one."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_BUSY_S = 5.0
_RETRY_S = 0.01


class Store:
    """A file that is set aside where it is broken and started anew; where the disk refuses, nothing is kept.

    Both are logged as warnings.

    Args:
        path: The file; made with its folder when first needed.
        what: What it keeps, for the log, such as "answers".
        schema: Version of its tables; a file of another version counts as broken.
        tables: Statements that make them.
    """

    def __init__(self, path: Path, what: str, schema: int, tables: tuple[str, ...]) -> None:
        self.path = path
        self._what = what
        self._schema = schema
        self._tables = tables

    def act(self, what: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Return what one transaction returns, or None where the file cannot be used.

        Args:
            what: What to do; done again from the start where another process was in the way.
        """
        # A second look before a file is set aside: another process may have mended it in between.
        for mend in (False, True, False):
            try:
                return self._patiently(what)
            except (OSError, sqlite3.OperationalError) as exc:
                _LOG.warning("%s are not kept: %s: %s", self._what, self.path, exc)
                return None
            except (sqlite3.DatabaseError, ValueError, TypeError) as exc:
                if mend:
                    self._set_aside(exc)
        return None

    def _patiently(self, what: Callable[[sqlite3.Connection], _T]) -> _T:
        # SQLite answers "locked" at once, whatever its timeout, while another process changes the journal mode or
        # cleans up as the last to leave (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY").
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                with closing(self._connect()) as db, db:
                    return what(db)
            except sqlite3.OperationalError as exc:
                if not _busy(exc) or time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_S)

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=_BUSY_S)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version not in {0, self._schema}:
                raise sqlite3.DatabaseError(f"its schema is version {version}, known is {self._schema}")  # noqa: TRY301
            if version == 0:
                with db:
                    for table in self._tables:
                        db.execute(table)
                    db.execute(f"PRAGMA user_version = {self._schema}")
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside(self, cause: Exception) -> None:
        broken = self.path.with_name(f"{self.path.name}.broken")
        _LOG.warning("%s cannot be used (%s); it is set aside as %s and a new one is started", self.path, cause, broken)
        try:
            self.path.replace(broken)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as exc:
            _LOG.warning("%s cannot be set aside: %s", self.path, exc)


def _busy(exc: sqlite3.OperationalError) -> bool:
    # The low byte is the kind, the others say which (SQLITE_BUSY_RECOVERY, SQLITE_BUSY_SNAPSHOT).
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
