"""Records of what training did, one JSON object a line, appended whole.

Every record carries its writer and a sequence number, so that a reader may take a file twice and count it once.
A record covers t_start to t_end and holds amounts of that stretch alone; `useful_tokens` is negative where a rollback
cost more than was trained. Each rank writes for its own tokens and its own GPUs: a reader sums over writers.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import number_text, parse_object, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def new_writer() -> str:
    """Make an identity that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def record_line(record: Record) -> bytes:
    """Write a record as its line, newline included."""
    document: dict[str, Any] = {"schema": TELEMETRY_SCHEMA}
    for name in Record.__dataclass_fields__:
        value = getattr(record, name)
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
    )


def read_records(path: Path) -> Iterator[Record | CalendarError]:
    """Walk the records of a telemetry file, or of every file of a folder in order of name.

    Args:
        path: File, or folder with `*.jsonl` files.

    Yields:
        Each record; for a line that is not one, the error that says why. A last line without its newline is still
        being written and is left out.

    Raises:
        OSError: A file cannot be read.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    continue
                if line.strip():
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
    """

    def __init__(self, path: Path, run: str, writer: str) -> None:
        path = Path(path)
        self.writer = writer
        self.file = path if path.suffix == ".jsonl" else path / f"{quote(run, safe='')[:100]}.{writer}.jsonl"
        self.dropped = 0
        self._backlog: deque[bytes] = deque()
        self._torn = False

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
