"""The database of plans and telemetry."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy import func, select
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from sqlalchemy.orm import Session

from planner.accounts.carbon import PLANNED
from planner.errors import ConfigError, ExportError
from planner.ledger.account import RunAccount, account
from planner.ledger.carbon import enter_carbon, read_carbon
from planner.ledger.engine import BUSY_S, WRITES, open_engine, shown
from planner.ledger.hours import LET_GO, let_go, roll_up, runs_older_than
from planner.ledger.inserting import insert_into
from planner.ledger.intake import Intake, enter_records
from planner.ledger.migrate import bring_up
from planner.ledger.rows import enter_rows
from planner.ledger.service_tables import TelemetryHour
from planner.ledger.tables import IssuedPlan, PlannedWindow, SlotCarbon, Telemetry
from trainer_hooks.telemetry import Record, read_records

if TYPE_CHECKING:
    from types import TracebackType

    from sqlalchemy import Engine

    from planner.accounts import CarbonAccounts
    from trainer_hooks.contract import Calendar, RunCalendar
    from trainer_hooks.errors import CalendarError

_Row = TypeVar("_Row", PlannedWindow, Telemetry, TelemetryHour)


class Ledger:
    """The database of plans and telemetry.

    Args:
        where: SQLite file, made if absent, or the URL of a PostgreSQL database. A ledger of an earlier release is
            brought to the present shape, whole or not at all.

    Raises:
        ExportError: The file cannot be made or opened, or the database does not answer.
        ConfigError: The file is there, but is no SQLite database; or the URL cannot be used.
    """

    def __init__(self, where: Path | str) -> None:
        self.shown = shown(where)
        self._engine = open_engine(where)
        self._turn = threading.Lock()
        # Rows past the mapper raise the driver's own errors.
        self._errors = (DatabaseError, NoConnectionLeft, self._engine.dialect.loaded_dbapi.Error)
        try:
            bring_up(self._engine)
        except self._errors as error:
            self._engine.dispose()
            told = getattr(error, "orig", error)
            if "malformed" in str(error):
                raise ConfigError(
                    f"{self.shown} is damaged: {told}",
                    why="its disk failed, or something else than gridpace wrote into it",
                    fix="put a copy of it back, or save what is left: sqlite3 FILE .recover | sqlite3 NEW",
                ) from error
            if "not a database" in str(error):
                raise ConfigError(
                    f"{self.shown} is no ledger: {told}", fix="name another file, or move this one away"
                ) from error
            raise ExportError(
                f"the ledger {self.shown} cannot be opened: {told}",
                fix="free space or name another folder"
                if self.is_file
                else "see whether the database server runs, and whether user, password and name are right",
            ) from error
        except ConfigError:
            self._engine.dispose()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file, which this machine alone writes."""
        return self._engine.dialect.name == "sqlite"

    @property
    def writing_engine(self) -> Engine:
        """The engine whose transactions write, for tables of others in the same database."""
        return self._engine.execution_options(**{WRITES: True})

    def close(self) -> None:
        """Let the database go."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Read within one transaction, which sees one state of the ledger.

        Raises:
            ExportError: The database does not answer.
        """
        try:
            with Session(self._engine) as session:
                yield session
        except self._errors as error:
            raise ExportError(
                f"the ledger {self.shown} cannot be read: {getattr(error, 'orig', error)}",
                fix="see whether its disk or its database server works",
            ) from error

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Write within one transaction, whole or not at all.

        Raises:
            ExportError: The database refused; nothing was kept.
        """
        try:
            with self._in_turn(), Session(self.writing_engine) as session, session.begin():
                yield session
        except self._errors as error:
            raise ExportError(
                f"the ledger {self.shown} cannot be written: {getattr(error, 'orig', error)}",
                why="nothing of this transaction was kept",
                fix="free space, or let the other program that writes it finish",
            ) from error

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Wait for the other writers of this process, where the database has but one at a time.

        Those who wait for SQLite itself sleep between two tries, and of many some would never have their turn.
        """
        waited = self.is_file and self._turn.acquire(timeout=BUSY_S)
        try:
            yield
        finally:
            if waited:
                self._turn.release()

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
        with self.writing() as session:
            return self.enter_plan(session, calendar, runs, kg_per_it_kwh, carbon)

    @staticmethod
    def enter_plan(
        session: Session,
        calendar: Calendar,
        runs: Sequence[RunCalendar],
        kg_per_it_kwh: Sequence[float],
        carbon: CarbonAccounts | None,
    ) -> bool:
        """Enter a plan as `record_plan` does, as part of an open transaction that writes."""
        new = _enter_plan(session, calendar, runs, kg_per_it_kwh)
        if carbon is not None:
            enter_carbon(session, carbon)
        return new

    def carbon(self, calendar: Calendar, runs: Sequence[RunCalendar], series: str = PLANNED) -> CarbonAccounts | None:
        """Return the carbon accounts of a plan as entered; see `planner.ledger.carbon.read_carbon`."""
        with self.reading() as session:
            return read_carbon(session, calendar, runs, series)

    def ingest(self, path: Path) -> Intake:
        """Take in a telemetry file, or every `*.jsonl` file of a folder; a record counts once however often it comes.

        Args:
            path: File or folder.

        Raises:
            ConfigError: The file or folder cannot be read.
        """
        try:
            with self.writing() as session:
                return enter_records(session, read_records(path))
        except OSError as error:
            raise ConfigError(
                f"telemetry {path} cannot be read ({error.strerror or error})", fix="name a .jsonl file or its folder"
            ) from error

    def take_in(self, records: Iterable[Record | CalendarError], latest: datetime | None = None) -> Intake:
        """Take in records as `planner.ledger.intake.enter_records` does, in one transaction.

        Raises:
            ExportError: The database refused; nothing was kept.
        """
        with self.writing() as session:
            return enter_records(session, records, latest)

    def roll_up(self) -> int:
        """Sum anew the hours that telemetry came for since the last time.

        Returns:
            How many times a run was looked at.
        """
        looked_at = 0
        while True:
            with self.writing() as session:
                found = roll_up(session)
            looked_at += found
            if not found:
                return looked_at

    def let_go(self, before: datetime) -> int:
        """Let go of telemetry that ended before an instant; its sums by the hour stay and count as before.

        Args:
            before: The instant, UTC.

        Returns:
            Records let go.
        """
        with self.reading() as session:
            keys = runs_older_than(session, before)
        count = 0
        for key in keys:
            with self.writing() as session:
                count += let_go(session, key, before)
        self.roll_up()
        return count

    def reported_until(self, calendar_id: str) -> datetime | None:
        """Return the last instant that telemetry under a plan reports, UTC, or None if there is none."""
        with self.reading() as session:
            last = session.scalar(select(func.max(Telemetry.t_end)).where(Telemetry.calendar_id == calendar_id))
            gone_s = session.scalar(
                select(func.max(TelemetryHour.until_s)).where(TelemetryHour.calendar_id == calendar_id)
            )
        gone = None if gone_s is None else datetime.fromtimestamp(gone_s, UTC)
        return max((t for t in (last, gone) if t is not None), default=None)

    def accounts(self, calendar_id: str, until: datetime) -> tuple[RunAccount, ...]:
        """Lay a plan beside what telemetry reports of it, for each run in order of name.

        Windows and records that reach beyond `until` count in proportion to the time before it.

        Args:
            calendar_id: The plan.
            until: First instant no longer counted, UTC.

        Raises:
            ConfigError: There is no such plan in the ledger.
        """
        with self.reading() as session:
            if session.get(IssuedPlan, calendar_id) is None:
                raise ConfigError(
                    f"calendar {calendar_id!r} is not in the ledger {self.shown}", fix="record the plan first"
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
            gone = session.scalars(
                select(TelemetryHour).where(
                    TelemetryHour.calendar_id == calendar_id,
                    TelemetryHour.part == LET_GO,
                    TelemetryHour.hour_s < until.timestamp(),
                )
            ).all()
        windows_of, records_of, gone_of = _by_run(windows), _by_run(records), _by_run(gone)
        return tuple(
            account(name, windows_of.get(name, []), records_of.get(name, []), slots, until, gone_of.get(name, []))
            for name in sorted({*windows_of, *records_of, *gone_of})
        )


def _enter_plan(
    session: Session, calendar: Calendar, runs: Sequence[RunCalendar], kg_per_it_kwh: Sequence[float]
) -> bool:
    # Written before anything is read, so that of two processes one waits for the other.
    header = insert_into(session, IssuedPlan).values(
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
    """Return an instant as `planner.ledger.tables.UtcTime` has the database keep it."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _by_run(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.run, []).append(row)
    return found
