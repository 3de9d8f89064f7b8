"""Every forecast as it was issued: what was known of a time, and when it was known."""

from __future__ import annotations

import hashlib
import json
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.sources.series import Series
from planner.sources.store import Store

if TYPE_CHECKING:
    import sqlite3

_FILE = "issued.sqlite"
_SCHEMA = 1
_TABLES = (
    """
CREATE TABLE IF NOT EXISTS issue (
    id INTEGER PRIMARY KEY, signal TEXT NOT NULL, zone TEXT NOT NULL, source TEXT NOT NULL, unit TEXT NOT NULL,
    basis TEXT NOT NULL, licence TEXT NOT NULL, issued_at REAL, known_at REAL NOT NULL, sha256 TEXT NOT NULL,
    first REAL NOT NULL, last REAL NOT NULL, rows BLOB NOT NULL
)
""",
    "CREATE INDEX IF NOT EXISTS known ON issue (signal, zone, known_at)",
)
_UTC = "datetime64[us, UTC]"


class IssuedForecasts:
    """A table of two times: the one that a row is about, and the one from which on it was known.

    A row is never changed and never dropped: a provider that overwrites its forecasts is better by hindsight than it
    ever was.

    Args:
        folder: Where the file stands; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FILE
        self._store = Store(self.path, "issued forecasts", _SCHEMA, _TABLES)

    def keep(self, series: Series) -> None:
        """Keep the forecast rows of a series, unless the same were the last ones kept of its source.

        Args:
            series: What a source delivered; without a time at which it came, or without a forecast, nothing is kept.
        """
        ahead = series.rows[series.rows.kind == "forecast"]
        if ahead.empty or series.fetched_at is None:
            return
        known_at = series.fetched_at.timestamp()
        body = _packed(ahead)
        digest = hashlib.sha256(body).hexdigest()
        issued_at = None if series.issued_at is None else series.issued_at.timestamp()
        values = (series.signal, series.zone, series.source, series.unit, series.basis, series.licence, issued_at)
        span = (ahead.t_start.iloc[0].timestamp(), ahead.t_end.iloc[-1].timestamp())

        def insert(db: sqlite3.Connection) -> None:
            last = db.execute(
                "SELECT sha256, known_at FROM issue WHERE signal = ? AND zone = ? AND source = ? AND basis = ?"
                " AND known_at <= ? ORDER BY known_at DESC, id DESC LIMIT 1",
                (series.signal, series.zone, series.source, series.basis, known_at),
            ).fetchone()
            if last is None or last[0] != digest:
                db.execute(
                    "INSERT INTO issue (signal, zone, source, unit, basis, licence, issued_at, known_at, sha256, first,"
                    " last, rows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, known_at, digest, *span, body),
                )

        self._store.act(insert)

    def as_issued(self, signal: str, zone: str, at: datetime, *, source: str = "", basis: str = "") -> Series | None:
        """Return the newest forecast that was known at an instant, or None where none was.

        Args:
            signal: Key of SIGNALS.
            zone: Zone or place.
            at: The instant, UTC.
            source: Source as its series name it; any where "".
            basis: "direct", "lifecycle" or "marginal"; any where "".

        Returns:
            Its forecast rows as they were; `fetched_at` is when they were known.
        """

        def select(db: sqlite3.Connection) -> Any:
            return db.execute(
                "SELECT unit, basis, source, licence, rows, issued_at, known_at FROM issue"
                " WHERE signal = ? AND zone = ? AND known_at <= ? AND (? = '' OR source = ?) AND (? = '' OR basis = ?)"
                " ORDER BY known_at DESC, id DESC LIMIT 1",
                (signal, zone, at.timestamp(), source, source, basis, basis),
            ).fetchone()

        found = self._store.act(select)
        if found is None:
            return None
        unit, its_basis, its_source, licence, body, issued_at, known_at = found
        issued = None if issued_at is None else datetime.fromtimestamp(issued_at, UTC)
        known = datetime.fromtimestamp(known_at, UTC)
        return Series(signal, zone, unit, its_basis, its_source, licence, _unpacked(body), issued, known)

    def issues(self, signal: str, zone: str) -> tuple[tuple[datetime, str], ...]:
        """Return when which source's forecasts of a signal became known, (UTC, source), by rising time."""

        def select(db: sqlite3.Connection) -> Any:
            return db.execute(
                "SELECT known_at, source FROM issue WHERE signal = ? AND zone = ?"
                " GROUP BY known_at, source ORDER BY known_at, MIN(id)",
                (signal, zone),
            ).fetchall()

        return tuple((datetime.fromtimestamp(at, UTC), source) for at, source in self._store.act(select) or ())


def _packed(rows: pd.DataFrame) -> bytes:
    columns = {
        "t_start": [t.isoformat() for t in rows.t_start],
        "t_end": [t.isoformat() for t in rows.t_end],
        "value": rows.value.tolist(),
        "kind": rows.kind.tolist(),
        "flags": rows["flags"].tolist(),
    }
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode())


def _unpacked(body: bytes) -> pd.DataFrame:
    rows = pd.DataFrame(json.loads(zlib.decompress(body)))
    return rows.assign(t_start=pd.to_datetime(rows.t_start), t_end=pd.to_datetime(rows.t_end)).astype(
        {"t_start": _UTC, "t_end": _UTC}
    )
