"""Records of what training did, one JSON object a line, appended whole.

Every record carries its writer and a sequence number, so that a reader may take a file twice and count it once.
A record covers t_start to t_end and holds amounts of that stretch alone; `useful_tokens` is negative where a rollback
cost more than was trained. Each rank writes for its own tokens, and for the GPUs that no other process of its node
meters: a reader sums over writers. Keys that came later are left out where there is nothing to tell, and may be missing
in files of earlier releases.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections import deque
from contextlib import suppress
from dataclasses import MISSING, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import number_text, parse_object, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TELEMETRY_SCHEMA = "gridpace.telemetry/1"
_BACKLOG_RECORDS = 1000


@dataclass(frozen=True)
class Record:
    """What one training process did in one stretch of time.

    Attributes:
        run: Name of the run.
        calendar_id: Calendar followed; None when none was.
        writer: Identity of the writing process.
        sequence: Number of the record, from 0, without gaps in one writer unless records were lost.
        t_start: Begin, UTC.
        t_end: End, UTC.
        state: State of the governor: run, hold, wait (through an off window), save, exit or safe.
        tokens: Tokens trained.
        useful_tokens: Tokens trained less those a rollback made worthless.
        position_tokens: Where the training stood at t_end, tokens since its beginning.
        energy_j: Energy of the process's GPU boards, J.
        energy_error_j: Half-width of its uncertainty, J.
        energy_source: See `trainer_hooks.meter.Energy`.
        gpus: Number of GPU boards metered.
        gpu_power_limit_w: Limit asked for, W per GPU; None if none was.
        enforced_limit_w: Lowest limit in force among the boards at t_end, W; None if unknown.
        adherence: Share of the stretch spent in the state the calendar asks for, 0 to 1; None without a calendar.
        rank: Rank of the process among those of its training; None where no launcher said one.
        boards: UUIDs of the boards metered: what two writers name for the same time was counted twice.
        starvation_j: See `trainer_hooks.waste.Waste`, as the four that follow. What of `energy_j` is in none of them
            trained tokens that are kept.
        hold_j: See there.
        checkpoint_j: See there.
        recompute_j: See there.
        overhead_j: See there.
        host_j: Energy of the node's processors and memory by RAPL, J; 0 where it is not read, or by another process.
        host_error_j: Half-width of its uncertainty, J.
        node_j: Energy of the whole node by its PDU or BMC, boards and host included, J; 0 where there is none.
        node_error_j: Half-width of its uncertainty, J.
    """

    run: str
    calendar_id: str | None
    writer: str
    sequence: int
    t_start: datetime
    t_end: datetime
    state: str
    tokens: int
    useful_tokens: int
    position_tokens: int
    energy_j: float
    energy_error_j: float
    energy_source: str
    gpus: int
    gpu_power_limit_w: float | None
    enforced_limit_w: float | None
    adherence: float | None
    rank: int | None = None
    boards: tuple[str, ...] = ()
    starvation_j: float = 0.0
    hold_j: float = 0.0
    checkpoint_j: float = 0.0
    recompute_j: float = 0.0
    overhead_j: float = 0.0
    host_j: float = 0.0
    host_error_j: float = 0.0
    node_j: float = 0.0
    node_error_j: float = 0.0

    @property
    def trained_j(self) -> float:
        """Energy that went into training tokens, kept or lost later, J."""
        return self.energy_j - self.starvation_j - self.hold_j - self.checkpoint_j - self.overhead_j


_LATER_JOULES = tuple(name for name, field in Record.__dataclass_fields__.items() if field.default == 0.0)


def new_writer() -> str:
    """Make an identity that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def record_line(record: Record) -> bytes:
    """Write a record as its line, newline included."""
    document: dict[str, Any] = {"schema": TELEMETRY_SCHEMA}
    for name, field in Record.__dataclass_fields__.items():
        value = getattr(record, name)
        if field.default is not MISSING and value == field.default:
            continue
        if isinstance(value, datetime):
            value = time_text(value)
        elif isinstance(value, float):
            value = number_text(value)
        document[name] = value
    return json.dumps(document, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def parse_line(line: bytes, subject: str) -> Record:
    """Read a record from its line.

    Args:
        line: The line.
        subject: File and line number, used in errors.

    Returns:
        The record.

    Raises:
        CalendarError: The line is not a whole record of this major version.
    """
    document = parse_object(line, subject)
    schema = document.text("schema")
    if schema != TELEMETRY_SCHEMA and not schema.startswith(TELEMETRY_SCHEMA + "."):
        raise document.child("schema").fault(f"{schema[:60]!r} is not {TELEMETRY_SCHEMA!r}.")
    return Record(
        run=document.text("run"),
        calendar_id=document.optional_text("calendar_id"),
        writer=document.text("writer"),
        sequence=document.integer("sequence"),
        t_start=document.time("t_start"),
        t_end=document.time("t_end"),
        state=document.text("state"),
        tokens=document.integer("tokens"),
        useful_tokens=document.integer("useful_tokens"),
        position_tokens=document.integer("position_tokens"),
        energy_j=document.number("energy_j"),
        energy_error_j=document.number("energy_error_j"),
        energy_source=document.text("energy_source"),
        gpus=document.integer("gpus"),
        gpu_power_limit_w=document.optional_number("gpu_power_limit_w"),
        enforced_limit_w=document.optional_number("enforced_limit_w"),
        adherence=document.optional_number("adherence"),
        rank=document.integer("rank") if "rank" in document.value else None,
        boards=tuple(node.as_text() for node in document.optional_list("boards")),
        **{name: document.number(name) for name in _LATER_JOULES if name in document.value},
    )


def read_records(
    path: Path, wanted: Callable[[bytes], bool] = lambda line: bool(line.strip())
) -> Iterator[Record | CalendarError]:
    """Walk the records of a telemetry file, or of every file of a folder and the folders in it, in order of name.

    Args:
        path: File, or folder with `*.jsonl` files, also further down: one folder per calendar or job is usual.
        wanted: Tells of a line whether it is looked at; all but empty ones are.

    Yields:
        Each record; for a line that is not one, the error that says why. A last line without its newline is still
        being written and is left out.

    Raises:
        OSError: A file cannot be read.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    continue
                if wanted(line):
                    try:
                        yield parse_line(line, f"{file}, line {number}")
                    except CalendarError as error:
                        yield error


class TelemetryWriter:
    """Appends records to a file; a disk that refuses never stops the training.

    Records that cannot be written are kept, up to a thousand, and written with the next.

    Args:
        path: A `.jsonl` file, or a folder, which gets one file per run and writer.
        run: Name of the run.
        writer: Identity of this process.
        rank: Its rank among those of its training; None without a launcher.
    """

    def __init__(self, path: Path, run: str, writer: str, rank: int | None = None) -> None:
        path = Path(path)
        self.writer = writer
        self.rank = rank
        self._run = run
        self._is_file = path.suffix == ".jsonl"
        self.file = path if self._is_file else path / f"{self._family}{writer}.jsonl"
        self.dropped = 0
        self._backlog: deque[bytes] = deque()
        self._torn = False

    @property
    def _family(self) -> str:
        """What the names of all files of this run and rank begin with."""
        return f"{quote(self._run, safe='')[:100]}." + ("" if self.rank is None else f"r{self.rank}.")

    def earlier(self) -> tuple[Record, ...]:
        """Return what earlier processes of the same run and rank wrote, each record once, a process after the other.

        Lines and files that cannot be read are left out.
        """
        files = [self.file] if self._is_file else sorted(self.file.parent.glob(f"{self._family}*.jsonl"))
        by_writer: dict[str, dict[int, Record]] = {}
        for file in files:
            for found in self._readable(file):
                by_writer.setdefault(found.writer, {})[found.sequence] = found
        processes = sorted(by_writer.values(), key=lambda records: min(r.t_start for r in records.values()))
        return tuple(records[sequence] for records in processes for sequence in sorted(records))

    def _may_be_kin(self, line: bytes) -> bool:
        """Tell at a glance: in a file of all ranks most lines are others'."""
        return b'"rank":' not in line if self.rank is None else f'"rank": {self.rank}'.encode() in line

    def _readable(self, file: Path) -> Iterator[Record]:
        with suppress(OSError):
            for found in read_records(file, self._may_be_kin):
                if isinstance(found, CalendarError) or found.writer == self.writer:
                    continue
                if (found.run, found.rank) == (self._run, self.rank):
                    yield found

    def write(self, record: Record) -> OSError | None:
        """Append a record, each with one system call so that lines of several writers do not mix.

        Args:
            record: The record.

        Returns:
            The error if the disk refused; the record is then kept for the next call.
        """
        self._backlog.append(record_line(record))
        if len(self._backlog) > _BACKLOG_RECORDS:
            self._backlog.popleft()
            self.dropped += 1
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                while self._backlog:
                    self._append(descriptor, self._backlog[0])
                    self._backlog.popleft()
            finally:
                os.close(descriptor)
        except OSError as error:
            return error
        return None

    def _append(self, descriptor: int, line: bytes) -> None:
        # A line that a full disk cut short is ended first, so that it spoils no other.
        content = b"\n" + line if self._torn else line
        written = os.write(descriptor, content)
        self._torn = written < len(content)
        if self._torn:
            raise OSError(f"{self.file}: only {written} of {len(content)} bytes were written")
