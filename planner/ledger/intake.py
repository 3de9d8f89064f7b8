"""Telemetry taken in: each record once, however often, how late and in which order it comes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text

from planner.ledger.inserting import insert_into, insert_new
from planner.ledger.service_tables import TelemetryDue, TelemetryLetGo
from planner.ledger.tables import Telemetry
from planner.timegrid import YEARS, iso
from trainer_hooks.errors import CalendarError
from trainer_hooks.telemetry import Record

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

RECORDS_LOCK = 0x67707463
"""Number of PostgreSQL's advisory lock that those who take records in share, and who lets records go has alone."""

_BATCH = 500
_MOST = 2**63
_LONGEST_S = 31 * 86_400.0
_LONGEST_TEXT = 1024
_MOST_BOARDS = 256
_LARGEST = 1e16  # J; a gigawatt over the longest record is 2.7e15
_NUMBERS = tuple(one.name for one in fields(Record) if "float" in str(one.type))
_WHOLES = ("sequence", "tokens", "useful_tokens", "position_tokens", "gpus", "rank")
_TEXTS = ("run", "calendar_id", "writer", "state", "energy_source")
_MEND = "Send what `trainer_hooks.telemetry` writes, from a node whose clock is right."


@dataclass(frozen=True)
class Intake:
    """What taking in telemetry did.

    Args:
        added: Records that were new.
        repeated: Records that were there already.
        faults: One sentence for each line that is no record.
    """

    added: int
    repeated: int
    faults: tuple[str, ...]


def enter_records(session: Session, found: Iterable[Record | CalendarError], latest: datetime | None = None) -> Intake:
    """Enter records; one that is there already, or was counted and let go, changes nothing.

    Args:
        session: An open transaction that writes.
        found: Records, and in place of lines that are none the error that says why.
        latest: A record that ends later is refused; None takes any.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SELECT pg_advisory_xact_lock_shared({RECORDS_LOCK})"))
    faults: list[str] = []
    added = repeated = 0
    due: dict[tuple[str, str], tuple[float, float]] = {}
    good = _good(found, latest, faults)
    while batch := list(islice(good, _BATCH)):
        new = _enter(session, batch)
        added, repeated = added + len(new), repeated + len(batch) - len(new)
        for record in new:
            key = (record.calendar_id or "", record.run)
            span = (record.t_start.timestamp(), record.t_end.timestamp())
            due[key] = _around(due.get(key, span), span)
    for key in sorted(due):
        mark_due(session, key, due[key])
    return Intake(added, repeated, tuple(faults))


def mark_due(session: Session, key: tuple[str, str], span_s: tuple[float, float]) -> None:
    """Have the hours of a run summed anew.

    Args:
        session: An open transaction that writes.
        key: Calendar ("" for none) and run.
        span_s: From when until when, s since 1970.
    """
    row = dict(zip(("calendar_id", "run", "from_s", "until_s"), (*key, *span_s), strict=True))
    statement = insert_into(session, TelemetryDue).values(row)
    lesser, greater = (
        (func.min, func.max) if session.get_bind().dialect.name == "sqlite" else (func.least, func.greatest)
    )
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["calendar_id", "run"],
            set_={
                "from_s": lesser(TelemetryDue.from_s, statement.excluded.from_s),
                "until_s": greater(TelemetryDue.until_s, statement.excluded.until_s),
            },
        )
    )


def columns_of(record: Record) -> dict[str, Any]:
    """Return a record as the table keeps it."""
    return {name: getattr(record, name) for name in Record.__dataclass_fields__} | {"boards": " ".join(record.boards)}


def _around(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _enter(session: Session, batch: Sequence[Record]) -> list[Record]:
    """Enter records, and return those that were new."""
    by_key = {(r.writer, r.sequence): r for r in reversed(batch)}  # of two with one key the first counts
    gone = _let_go(session, {writer for writer, _ in by_key})
    fresh = [by_key[key] for key in sorted(by_key) if not _within(gone.get(key[0], ()), key[1])]
    if not fresh:
        return []
    told = (Telemetry.writer, Telemetry.sequence)
    entered = insert_new(session, Telemetry, [columns_of(record) for record in fresh], told)
    return [by_key[writer, sequence] for writer, sequence in entered]


def _let_go(session: Session, writers: set[str]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    rows = session.execute(
        select(TelemetryLetGo.writer, TelemetryLetGo.first, TelemetryLetGo.last)
        .where(TelemetryLetGo.writer.in_(writers))
        .order_by(TelemetryLetGo.writer, TelemetryLetGo.first)
    )
    for writer, first, last in rows:
        found.setdefault(writer, []).append((first, last))
    return found


def _within(spans: Sequence[tuple[int, int]], number: int) -> bool:
    at = bisect_right(spans, (number, _MOST)) - 1
    return at >= 0 and number <= spans[at][1]


def _good(found: Iterable[Record | CalendarError], latest: datetime | None, faults: list[str]) -> Iterator[Record]:
    for one in found:
        why = str(one) if isinstance(one, CalendarError) else _wrong(one, latest)
        if why:
            faults.append(why)
        elif isinstance(one, Record):
            yield one


def _wrong(record: Record, latest: datetime | None) -> str:
    """Return why a record cannot be kept, or nothing."""
    why = ""
    texts = [getattr(record, name) or "" for name in _TEXTS]
    if any(not -_MOST <= (getattr(record, name) or 0) < _MOST for name in _WHOLES):
        why = "one of its whole numbers needs more than 64 bits"
    elif any(abs(getattr(record, name) or 0.0) > _LARGEST for name in _NUMBERS):
        why = f"one of its numbers is beyond {_LARGEST:.0e}, and so would be every sum that it is part of"
    elif any(len(one) > _LONGEST_TEXT or "\0" in one for one in (*texts, *record.boards)):
        why = f"one of its texts has a NUL, or more than {_LONGEST_TEXT} characters"
    elif len(record.boards) > _MOST_BOARDS:
        why = f"it names {len(record.boards)} boards, more than the {_MOST_BOARDS} of any node"
    elif not (record.t_start.year in YEARS and record.t_end.year in YEARS):
        why = f"it is not in the years {YEARS[0]} to {YEARS[-1]}"
    elif not 0.0 <= (record.t_end - record.t_start).total_seconds() <= _LONGEST_S:
        why = f"it ends before it begins, or lasts more than {_LONGEST_S / 86_400:.0f} days"
    elif latest is not None and record.t_end > latest:
        why = f"it ends on {iso(record.t_end)}, which is still to come"
    if not why:
        return ""
    return f"record {record.sequence!s:.40} of writer {record.writer[:80]!r}: {why}. {_MEND}"
