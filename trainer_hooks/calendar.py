"""The run calendar on disk: checked, read and published.

A published calendar is an immutable folder put in place by one rename:

    <root>/current                        text file that holds the id in force, replaced last
    <root>/<calendar_id>/calendar.json    header, per-block plans, list of runs with their hashes
    <root>/<calendar_id>/runs/<run>.json  the windows of one run

Both files carry a schema name with a version. A reader takes any minor version (`/1`, `/1.3`) and ignores keys it
does not know; it refuses another major version. Run names are percent-encoded in file names, so that no name can
leave the folder or meet another name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from trainer_hooks.codec import calendar_document, calendar_from, run_document, run_from
from trainer_hooks.contract import (
    RUN_SCHEMA,
    SCHEMA,
    BlockPlan,
    Calendar,
    CarbonBudgetPlan,
    Checkpoint,
    ContractPlan,
    GeneratorPlan,
    PpaPlan,
    RunCalendar,
    RunEntry,
    Shortfall,
    State,
    Window,
)
from trainer_hooks.errors import CalendarError
from trainer_hooks.publish import CALENDARS, POINTER, publish_folder
from trainer_hooks.rules import check_calendar, check_id, check_run
from trainer_hooks.strictjson import REWRITE, dump_object, parse_object, read_bytes

__all__ = [
    "HEADER_FILE",
    "RUN_SCHEMA",
    "SCHEMA",
    "BlockPlan",
    "Calendar",
    "CalendarError",
    "CarbonBudgetPlan",
    "Checkpoint",
    "ContractPlan",
    "GeneratorPlan",
    "PpaPlan",
    "RunCalendar",
    "RunEntry",
    "Shortfall",
    "State",
    "Window",
    "current_folder",
    "parse_calendar",
    "parse_run",
    "read_calendar",
    "read_current",
    "read_run",
    "read_runs",
    "run_file",
    "seal",
    "write_calendar",
]

HEADER_FILE = "calendar.json"
_HEADER_LIMIT_BYTES = 256 * 1024 * 1024
_NAMED = 8  # of a calendar's runs, in a sentence
_RUN_LIMIT_BYTES = 16 * 1024 * 1024
_POINTER_LIMIT_BYTES = 256
_ENCODED_NAME_LIMIT = 200


def run_file(run: str) -> str:
    """Name the file of a run inside its calendar's folder.

    Args:
        run: Name of the run; any text.

    Returns:
        `runs/<encoded name>.json`. Names too long for a file system are cut and carry their SHA-256 after `%-`,
        which no encoded name contains.

    Raises:
        CalendarError: The name is empty or cannot be encoded.
    """
    try:
        encoded = quote(run, safe="")
    except UnicodeEncodeError:
        encoded = ""
    if not encoded:
        raise CalendarError(f"run {run!r}", "it must have a name of whole characters.", "Rename the run.")
    if len(encoded) > _ENCODED_NAME_LIMIT:
        encoded = f"{encoded[:100]}%-{hashlib.sha256(run.encode()).hexdigest()}"
    return f"runs/{encoded}.json"


def seal(calendar: Calendar, runs: Sequence[RunCalendar]) -> tuple[Calendar, dict[str, bytes]]:
    """Check a calendar, enter its runs' hashes, and make the files it consists of.

    Args:
        calendar: The header; its `runs` must be empty, or what this function would enter.
        runs: The windows of every run.

    Returns:
        The header with its runs entered, and relative path -> content of every file.

    Raises:
        CalendarError: A rule is broken, or header and runs do not belong together.
    """
    files: dict[str, bytes] = {}
    entries: list[RunEntry] = []
    for run in runs:
        check_run(run, f"run {run.run!r}")
        _check_belongs(run, calendar, f"run {run.run!r}")
        file = run_file(run.run)
        content = dump_object(run_document(run))
        files[file] = content
        entries.append(RunEntry(run.run, file, hashlib.sha256(content).hexdigest()))
    if calendar.runs and calendar.runs != tuple(entries):
        raise CalendarError(
            f"calendar {calendar.calendar_id!r}",
            "the hashes it already carries are not those of the runs given.",
            "Leave the header's runs empty; they are filled in when it is written.",
        )
    sealed = replace(calendar, runs=tuple(entries))
    check_calendar(sealed, f"calendar {calendar.calendar_id!r}")
    files[HEADER_FILE] = dump_object(calendar_document(sealed))
    return sealed, files


def write_calendar(folder: Path, calendar: Calendar, runs: Sequence[RunCalendar], *, in_force: bool = True) -> Path:
    """Publish a calendar and make it the one in force.

    Args:
        folder: Folder that holds the published calendars; made if absent.
        calendar: The header; leave its `runs` empty.
        runs: The windows of every run.
        in_force: False leaves the pointer `current` on the calendar in force before.

    Returns:
        The calendar's own folder, `folder/<calendar_id>`.

    Raises:
        CalendarError: A rule is broken, another calendar bears the id, or the disk refused; then nothing
            half-written remains and the pointer still names the calendar in force before.
    """
    sealed, files = seal(calendar, runs)
    return publish_folder(Path(folder), sealed.calendar_id, files, in_force=in_force)


def read_calendar(path: Path, verify: bool = True) -> Calendar:
    """Read a calendar's header.

    Args:
        path: Root folder with the pointer `current`, a calendar's own folder, or its `calendar.json`.
        verify: Also read every run's file and compare its hash.

    Returns:
        The header.

    Raises:
        CalendarError: A file is absent, damaged, of another major version, or breaks a rule.
    """
    header = _header_path(Path(path))
    calendar = parse_calendar(read_bytes(header, _HEADER_LIMIT_BYTES), str(header))
    if verify:
        for entry in calendar.runs:
            _verified_bytes(header.parent, entry)
    return calendar


def parse_calendar(content: bytes, file: str) -> Calendar:
    """Read a calendar's header from the content of its file.

    Args:
        content: Content of the file.
        file: Name used in errors.

    Raises:
        CalendarError: It is damaged, of another major version, or breaks a rule.
    """
    calendar = calendar_from(parse_object(content, file))
    check_calendar(calendar, file)
    for entry in calendar.runs:
        if entry.file != run_file(entry.run):
            raise CalendarError(
                f"{file}, run {entry.run!r}",
                f"its file is {entry.file[:80]!r}, but must be {run_file(entry.run)!r}.",
                REWRITE,
            )
    return calendar


def read_runs(path: Path) -> tuple[Calendar, tuple[RunCalendar, ...]]:
    """Read a whole calendar, every file's hash verified.

    Args:
        path: As in `read_calendar`.

    Returns:
        The header, and the windows of every run in the header's order.

    Raises:
        CalendarError: As in `read_calendar`, or a run's file does not belong to the header.
    """
    header = _header_path(Path(path))
    calendar = read_calendar(header, verify=False)
    runs = []
    for entry in calendar.runs:
        file = str(header.parent / entry.file)
        run = parse_run(_verified_bytes(header.parent, entry), file)
        if run.run != entry.run:
            raise CalendarError(file, f"it holds run {run.run!r}, not {entry.run!r}.", REWRITE)
        _check_belongs(run, calendar, file)
        runs.append(run)
    return calendar, tuple(runs)


def read_run(path: Path) -> RunCalendar:
    """Read one run's windows from its file.

    Args:
        path: The run's file.

    Returns:
        The run's calendar.

    Raises:
        CalendarError: The file is absent, damaged, of another major version, or breaks a rule.
    """
    return parse_run(read_bytes(Path(path), _RUN_LIMIT_BYTES), str(path))


def read_current(folder: Path, run: str, verify: bool = False) -> RunCalendar:
    """Read one run's windows from the calendar in force.

    Args:
        folder: Root folder with the pointer `current`, or a calendar's own folder.
        run: Name of the run.
        verify: Also compare the file's hash with the header's, which costs reading the header.

    Returns:
        The run's calendar.

    Raises:
        CalendarError: The run is not in the calendar, or as in `read_run`.
    """
    folder = Path(folder)
    home = folder if (folder / HEADER_FILE).is_file() else current_folder(folder)
    file = home / run_file(run)
    if not file.exists() and (home / HEADER_FILE).is_file():
        known = [entry.run for entry in read_calendar(home, verify=False).runs]
        if run not in known:
            named = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
            raise CalendarError(
                str(home), f"it has no run {run[:80]!r}; its runs are {named}.", "Set GRIDPACE_RUN to one of them."
            )
    content = read_bytes(file, _RUN_LIMIT_BYTES)
    found = parse_run(content, str(file))
    if found.run != run:
        raise CalendarError(str(file), f"it holds run {found.run!r}, not {run!r}.", REWRITE)
    if verify:
        calendar = read_calendar(home, verify=False)
        _check_belongs(found, calendar, str(file))
        digest = hashlib.sha256(content).hexdigest()
        if digest not in {entry.sha256 for entry in calendar.runs if entry.run == run}:
            raise CalendarError(str(file), f"its SHA-256 {digest} is not the one in {HEADER_FILE}.", REWRITE)
    return found


def current_folder(folder: Path) -> Path:
    """Find the folder of the calendar in force.

    Args:
        folder: Root folder with the pointer `current`, or the folder of `gridpace plan`, in which that is `calendars`.

    Returns:
        The calendar's own folder.

    Raises:
        CalendarError: There is no pointer, or it does not hold a calendar id.
    """
    root = Path(folder)
    if not (root / POINTER).is_file() and (root / CALENDARS / POINTER).is_file():
        root = root / CALENDARS
    pointer = root / POINTER
    calendar_id = read_bytes(pointer, _POINTER_LIMIT_BYTES).decode("ascii", "replace").strip()
    check_id(calendar_id, str(pointer))
    return root / calendar_id


def _header_path(path: Path) -> Path:
    if path.name == HEADER_FILE:
        return path
    if (path / HEADER_FILE).is_file():
        return path / HEADER_FILE
    return current_folder(path) / HEADER_FILE


def _verified_bytes(home: Path, entry: RunEntry) -> bytes:
    content = read_bytes(home / entry.file, _RUN_LIMIT_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != entry.sha256:
        raise CalendarError(
            str(home / entry.file), f"its SHA-256 is {digest}, but {HEADER_FILE} says {entry.sha256}.", REWRITE
        )
    return content


def parse_run(content: bytes, file: str) -> RunCalendar:
    """Read one run's windows from the content of its file.

    Args:
        content: Content of the file.
        file: Name used in errors.

    Raises:
        CalendarError: It is damaged, of another major version, or breaks a rule.
    """
    run = run_from(parse_object(content, file))
    check_run(run, file)
    return run


def _check_belongs(run: RunCalendar, calendar: Calendar, subject: str) -> None:
    for name in ("calendar_id", "issued_at", "valid_from", "valid_until", "site"):
        ours, theirs = getattr(run, name), getattr(calendar, name)
        if ours != theirs:
            raise CalendarError(f"{subject}, key {name}", f"it is {ours}, but the header's is {theirs}.", REWRITE)
