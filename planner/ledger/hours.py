"""Telemetry summed by the hour, and records let go once they are old: their sums stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, text

from planner.ledger.account import mean_rate
from planner.ledger.board_time import shares_not_told_before
from planner.ledger.inserting import insert_into
from planner.ledger.intake import RECORDS_LOCK, mark_due
from planner.ledger.service_tables import TelemetryDue, TelemetryHour, TelemetryLetGo
from planner.ledger.tables import SlotCarbon, Telemetry

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

RAW, LET_GO = "raw", "let-go"
HOUR_S = 3600
_JOULES_PER_KWH = 3.6e6
_TOKENS = ("tokens", "useful_tokens")
_JOULES = (
    "energy_j", "energy_error_j", "starvation_j", "hold_j", "checkpoint_j", "recompute_j", "overhead_j",
)  # fmt: skip
_OTHERS = ("host_j", "host_error_j", "node_j", "node_error_j")
_SUMS = ("seconds", "judged_s", "kept_s", *_TOKENS, *_JOULES, *_OTHERS, "carbon_kg")


def roll_up(session: Session, most: int = 1000) -> int:
    """Sum anew the hours that records came for since the last time.

    Args:
        session: An open transaction that writes.
        most: Runs looked at; the others wait for the next call.

    Returns:
        Runs looked at.
    """
    keys = session.execute(select(TelemetryDue.calendar_id, TelemetryDue.run).limit(most)).all()
    for calendar_id, run in keys:
        taken = session.execute(
            delete(TelemetryDue)
            .where(TelemetryDue.calendar_id == calendar_id, TelemetryDue.run == run)
            .returning(TelemetryDue.from_s, TelemetryDue.until_s)
        ).first()
        if taken is not None:
            _sum_anew(session, (calendar_id, run), int(taken[0] // HOUR_S), int(taken[1] // HOUR_S) + 1)
    return len(keys)


def runs_older_than(session: Session, before: datetime) -> list[tuple[str, str]]:
    """Return calendar ("" for none) and run of all that have records which ended before an instant."""
    calendar_id = func.coalesce(Telemetry.calendar_id, "")
    found = select(calendar_id, Telemetry.run).where(Telemetry.t_end <= before).distinct().order_by(calendar_id)
    return [(calendar, run) for calendar, run in session.execute(found)]


def let_go(session: Session, key: tuple[str, str], before: datetime) -> int:
    """Let go of a run's records that ended before an instant: their sums by the hour, and their numbers, stay.

    Args:
        session: An open transaction that writes.
        key: Calendar ("" for none) and run.
        before: The instant, UTC.

    Returns:
        Records let go.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SELECT pg_advisory_xact_lock({RECORDS_LOCK})"))
    records = session.scalars(
        select(Telemetry).where(*_of(key), Telemetry.t_start < before).order_by(Telemetry.writer, Telemetry.sequence)
    ).all()
    shares = shares_not_told_before(records)
    gone = [(record, share) for record, share in zip(records, shares, strict=True) if record.t_end <= before]
    if not gone:
        return 0
    first_s = min(record.t_start for record, _ in gone).timestamp()
    last_s = max(record.t_end for record in records).timestamp()
    sums = _by_hour(gone, _slots(session, key[0]))
    for hour_s, row in _rows(session, key, LET_GO, min(sums), max(sums)).items():
        if hour_s in sums:
            sums[hour_s] = _added(sums[hour_s], row)
    _replace(session, key, LET_GO, sums)
    for record, share in zip(records, shares, strict=True):
        if record.t_end > before:
            record.energy_share = share  # what it overlaps with is soon not there to be compared with any more
    session.flush()
    session.execute(delete(Telemetry).where(*_of(key), Telemetry.t_end <= before, Telemetry.t_start < before))
    _note_gone(session, [(record.writer, record.sequence) for record, _ in gone])
    mark_due(session, key, (first_s, last_s))
    return len(gone)


def hours(session: Session, from_s: int, until_s: int) -> list[TelemetryHour]:
    """Return the sums of all hours that begin within a time, of every run and calendar, raw and let go each.

    Args:
        session: An open session.
        from_s: Its begin, s since 1970.
        until_s: Its end.
    """
    found = select(TelemetryHour).where(TelemetryHour.hour_s >= from_s, TelemetryHour.hour_s < until_s)
    return list(session.scalars(found.order_by(TelemetryHour.run, TelemetryHour.hour_s, TelemetryHour.part)))


def _of(key: tuple[str, str]) -> tuple[ColumnElement[bool], ...]:
    calendar_id, run = key
    same = Telemetry.calendar_id == calendar_id if calendar_id else Telemetry.calendar_id.is_(None)
    return (same, Telemetry.run == run)


def _slots(session: Session, calendar_id: str) -> Sequence[SlotCarbon]:
    return session.scalars(
        select(SlotCarbon).where(SlotCarbon.calendar_id == calendar_id).order_by(SlotCarbon.start)
    ).all()


def _sum_anew(session: Session, key: tuple[str, str], first_hour: int, after_hour: int) -> None:
    first_s, after_s = first_hour * HOUR_S, after_hour * HOUR_S
    first, after = (datetime.fromtimestamp(s, UTC) for s in (first_s, after_s))
    # What of a record counts depends on those that overlap with it, of which some lie before or after these hours.
    here = session.execute(
        select(func.min(Telemetry.t_start), func.max(Telemetry.t_end)).where(
            *_of(key), Telemetry.t_start < after, Telemetry.t_end >= first
        )
    ).one()
    sums: dict[int, dict[str, Any]] = {}
    if here[0] is not None:
        records = session.scalars(
            select(Telemetry).where(*_of(key), Telemetry.t_start <= here[1], Telemetry.t_end >= here[0])
        ).all()
        told = zip(records, shares_not_told_before(records), strict=True)
        found = _by_hour(told, _slots(session, key[0]))
        sums = {hour_s: row for hour_s, row in found.items() if first_s <= hour_s < after_s}
    session.execute(
        delete(TelemetryHour).where(
            TelemetryHour.calendar_id == key[0],
            TelemetryHour.run == key[1],
            TelemetryHour.part == RAW,
            TelemetryHour.hour_s >= first_s,
            TelemetryHour.hour_s < after_s,
        )
    )
    _replace(session, key, RAW, sums)


def _by_hour(told: Iterable[tuple[Telemetry, float]], slots: Sequence[SlotCarbon]) -> dict[int, dict[str, Any]]:
    """Return the sums of records by the hour, each spread evenly over its time."""
    sums: dict[int, dict[str, Any]] = {}
    for record, share in told:
        start_s, end_s = record.t_start.timestamp(), record.t_end.timestamp()
        kg = record.energy_j / _JOULES_PER_KWH * mean_rate(record, slots, record.t_end)
        first = int(start_s // HOUR_S)
        for hour in range(first, max(ceil(end_s / HOUR_S), first + 1)):
            hour_s = hour * HOUR_S
            _add(sums.setdefault(hour_s, _nothing()), record, share, kg, (hour_s, start_s, end_s))
    return sums


def _nothing() -> dict[str, Any]:
    return dict.fromkeys(_SUMS, 0.0) | {"records": 0, "energy_sources": set(), "until_s": 0.0}


def _add(sums: dict[str, Any], record: Telemetry, share: float, kg: float, at: tuple[int, float, float]) -> None:
    hour_s, start_s, end_s = at
    seconds = min(end_s, hour_s + HOUR_S) - max(start_s, hour_s)
    part = seconds / (end_s - start_s) if end_s > start_s else 1.0
    sums["records"] += int(start_s >= hour_s)  # counted in the hour in which it begins
    sums["seconds"] += seconds
    if record.adherence is not None:
        sums["judged_s"] += seconds
        sums["kept_s"] += seconds * record.adherence
    for name in _TOKENS:
        sums[name] += part * getattr(record, name)
    for name in _JOULES:
        sums[name] += part * share * (getattr(record, name) or 0.0)
    for name in _OTHERS:
        sums[name] += part * (getattr(record, name) or 0.0)
    sums["carbon_kg"] += part * share * kg
    if share * record.energy_j > 0.0:
        sums["energy_sources"].add(record.energy_source)
    sums["until_s"] = max(sums["until_s"], min(end_s, hour_s + HOUR_S))


def _added(sums: dict[str, Any], row: TelemetryHour) -> dict[str, Any]:
    both = {name: sums[name] + getattr(row, name) for name in (*_SUMS, "records")}
    both["energy_sources"] = sums["energy_sources"] | set(row.energy_sources.split())
    both["until_s"] = max(sums["until_s"], row.until_s)
    return both


def _rows(session: Session, key: tuple[str, str], part: str, first_s: int, last_s: int) -> dict[int, TelemetryHour]:
    found = session.scalars(
        select(TelemetryHour).where(
            TelemetryHour.calendar_id == key[0],
            TelemetryHour.run == key[1],
            TelemetryHour.part == part,
            TelemetryHour.hour_s.between(first_s, last_s),
        )
    )
    return {row.hour_s: row for row in found}


def _replace(session: Session, key: tuple[str, str], part: str, sums: Mapping[int, dict[str, Any]]) -> None:
    for hour_s, row in sums.items():
        told = row | {"energy_sources": " ".join(sorted(row["energy_sources"]))}
        keys = {"calendar_id": key[0], "run": key[1], "part": part, "hour_s": hour_s}
        statement = insert_into(session, TelemetryHour).values(keys | told)
        session.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=told))


def _note_gone(session: Session, gone: Iterable[tuple[str, int]]) -> None:
    by_writer: dict[str, list[tuple[int, int]]] = {}
    for writer, sequence in gone:
        by_writer.setdefault(writer, []).append((sequence, sequence))
    for writer, spans in by_writer.items():
        taken = session.execute(
            delete(TelemetryLetGo)
            .where(TelemetryLetGo.writer == writer)
            .returning(TelemetryLetGo.first, TelemetryLetGo.last)
        )
        merged: list[list[int]] = []
        for first, last in sorted([*spans, *((row[0], row[1]) for row in taken)]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], last)
            else:
                merged.append([first, last])
        session.execute(
            insert_into(session, TelemetryLetGo),
            [{"writer": writer, "first": first, "last": last} for first, last in merged],
        )
