"""The database of plans and telemetry."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import URL, create_engine, event, func, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateIndex, CreateTable

from planner.accounts.carbon import PLANNED
from planner.errors import ConfigError, ExportError
from planner.ledger.account import RunAccount, account
from planner.ledger.carbon import enter_carbon, read_carbon
from planner.ledger.carbon_tables import VIEWS
from planner.ledger.missing_columns import add_missing_columns
from planner.ledger.rows import enter_rows
from planner.ledger.tables import IssuedPlan, PlannedWindow, SlotCarbon, Table, Telemetry
from trainer_hooks.errors import CalendarError
from trainer_hooks.telemetry import Record, read_records

if TYPE_CHECKING:
    from types import TracebackType

    from planner.accounts import CarbonAccounts
    from trainer_hooks.contract import Calendar, RunCalendar

_Row = TypeVar("_Row", PlannedWindow, Telemetry)


@dataclass(frozen=True)
class Intake:
    """What taking in a telemetry file or folder did.

    Args:
        added: Records that were new.
        repeated: Records that were there already.
        faults: One sentence for each line that is no record.
    """

    added: int
    repeated: int
    faults: tuple[str, ...]


class Ledger:
    """The database of plans and telemetry.

    Args:
        path: SQLite file, made if absent.

    Raises:
        ExportError: The file cannot be made or opened.
        ConfigError: The file is there, but is no SQLite database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExportError(f"the ledger {path} cannot be made ({error.strerror or error})") from error
        self._engine = create_engine(URL.create("sqlite", database=str(path)))
        event.listen(self._engine, "connect", _prepare)
        try:
            with self._engine.begin() as connection:
                # Another process may make the same tables at the same time.
                for table in Table.metadata.sorted_tables:
                    connection.execute(CreateTable(table, if_not_exists=True))
                    for index in sorted(table.indexes, key=lambda found: str(found.name)):
                        connection.execute(CreateIndex(index, if_not_exists=True))
                add_missing_columns(connection, Table.metadata.sorted_tables, tuple(VIEWS))
                for view in VIEWS.values():
                    connection.exec_driver_sql(view)
        except DatabaseError as error:
            self._engine.dispose()
            if path.is_file() and path.stat().st_size and "not a database" in str(error):
                raise ConfigError(
                    f"{path} is no ledger: {error.orig}", fix="name another file, or move this one away"
                ) from error
            raise ExportError(
                f"the ledger {path} cannot be opened: {error.orig}", fix="free space or name another folder"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        try:
            with Session(self._engine) as session, session.begin():
                yield session
        except (DatabaseError, sqlite3.Error) as error:  # rows past the mapper raise the driver's own
            raise ExportError(
                f"the ledger {self._path} cannot be written: {getattr(error, 'orig', error)}",
                why="nothing of this transaction was kept",
                fix="free space, or let the other program that writes it finish",
            ) from error

    def record_plan(
        self,
        calendar: Calendar,
        runs: Sequence[RunCalendar],
        kg_per_it_kwh: Sequence[float],
        carbon: CarbonAccounts | None = None,
    ) -> bool:
        """Enter a published plan with its carbon accounts, whole or not at all.

        Args:
            calendar: The header.
            runs: The windows of every run.
            kg_per_it_kwh: Site carbon per kWh of IT energy in each slot, kg CO2e/kWh, length n_slots.
            carbon: Its carbon accounts, or None where none are kept.

        Returns:
            Whether the plan was new; one that is there already is left as it is, and so are its accounts.

        Raises:
            ConfigError: Other carbon accounts of the same plan stand there.
            ExportError: The disk refused; nothing of the plan was entered.
        """
        with self._transaction() as session:
            new = _enter_plan(session, calendar, runs, kg_per_it_kwh)
            if carbon is not None:
                enter_carbon(session, carbon)
        return new

    def carbon(self, calendar: Calendar, runs: Sequence[RunCalendar], series: str = PLANNED) -> CarbonAccounts | None:
        """Return the carbon accounts of a plan as entered; see `planner.ledger.carbon.read_carbon`."""
        with Session(self._engine) as session:
            return read_carbon(session, calendar, runs, series)

    def ingest(self, path: Path) -> Intake:
        """Take in a telemetry file, or every `*.jsonl` file of a folder; a record counts once however often it comes.

        Args:
            path: File or folder.

        Raises:
            ConfigError: The file or folder cannot be read.
        """
        added = repeated = 0
        faults: list[str] = []
        try:
            with self._transaction() as session:
                for found in read_records(path):
                    if isinstance(found, CalendarError):
                        faults.append(str(found))
                        continue
                    statement = insert(Telemetry).values(_columns(found)).on_conflict_do_nothing()
                    if session.execute(statement.returning(Telemetry.sequence)).first() is None:
                        repeated += 1
                    else:
                        added += 1
        except OSError as error:
            raise ConfigError(
                f"telemetry {path} cannot be read ({error.strerror or error})", fix="name a .jsonl file or its folder"
            ) from error
        return Intake(added, repeated, tuple(faults))

    def reported_until(self, calendar_id: str) -> datetime | None:
        """Return the last instant that telemetry under a plan reports, UTC, or None if there is none."""
        with Session(self._engine) as session:
            return session.scalar(select(func.max(Telemetry.t_end)).where(Telemetry.calendar_id == calendar_id))

    def accounts(self, calendar_id: str, until: datetime) -> tuple[RunAccount, ...]:
        """Lay a plan beside what telemetry reports of it, for each run in order of name.

        Windows and records that reach beyond `until` count in proportion to the time before it.

        Args:
            calendar_id: The plan.
            until: First instant no longer counted, UTC.

        Raises:
            ConfigError: There is no such plan in the ledger.
        """
        with Session(self._engine) as session:
            if session.get(IssuedPlan, calendar_id) is None:
                raise ConfigError(
                    f"calendar {calendar_id!r} is not in the ledger {self._path}", fix="record the plan first"
                )
            windows = session.scalars(
                select(PlannedWindow)
                .where(PlannedWindow.calendar_id == calendar_id, PlannedWindow.start < until)
                .order_by(PlannedWindow.run, PlannedWindow.start)
            ).all()
            slots = session.scalars(
                select(SlotCarbon).where(SlotCarbon.calendar_id == calendar_id).order_by(SlotCarbon.start)
            ).all()
            records = session.scalars(
                select(Telemetry)
                .where(Telemetry.calendar_id == calendar_id, Telemetry.t_start < until)
                .order_by(Telemetry.run, Telemetry.writer, Telemetry.sequence)
            ).all()
        windows_of, records_of = _by_run(windows), _by_run(records)
        return tuple(
            account(name, windows_of.get(name, []), records_of.get(name, []), slots, until)
            for name in sorted({*windows_of, *records_of})
        )


def _prepare(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    # The checks of foreign keys are off by default; a writer waits for another one instead of failing.
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA busy_timeout = 10000")
    cursor.close()


def _enter_plan(
    session: Session, calendar: Calendar, runs: Sequence[RunCalendar], kg_per_it_kwh: Sequence[float]
) -> bool:
    # Written before anything is read, so that of two processes one waits for the other.
    header = insert(IssuedPlan).values(
        calendar_id=calendar.calendar_id,
        site=calendar.site,
        issued_at=calendar.issued_at,
        valid_from=calendar.valid_from,
        valid_until=calendar.valid_until,
        status=calendar.status,
        certified_gap=calendar.certified_gap,
    )
    if session.execute(header.on_conflict_do_nothing().returning(IssuedPlan.calendar_id)).first() is None:
        return False
    name, slot = calendar.calendar_id, timedelta(minutes=calendar.slot_minutes)
    text = cache(_text)  # most windows begin and end on the same few hundred slot edges
    windows = (
        (name, run.run, text(w.start), text(w.end), w.state, w.tokens, w.energy_kwh, w.kgco2e)
        for run in runs
        for w in run.windows
    )
    enter_rows(session, PlannedWindow, windows)
    edges = [text(calendar.valid_from + i * slot) for i in range(len(kg_per_it_kwh) + 1)]
    slots = ((name, *span, float(rate)) for span, rate in zip(pairwise(edges), kg_per_it_kwh, strict=True))
    enter_rows(session, SlotCarbon, slots)
    return True


def _text(time: datetime) -> str:
    """Return an instant as `planner.ledger.tables.UtcTime` has SQLite keep it."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _by_run(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.run, []).append(row)
    return found


def _columns(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in Record.__dataclass_fields__} | {"boards": " ".join(record.boards)}
