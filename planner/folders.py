"""How the files of a planned week are named and found."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from planner.errors import ConfigError
from trainer_hooks.calendar import HEADER_FILE, CalendarError, read_runs
from trainer_hooks.publish import CALENDARS, POINTER

if TYPE_CHECKING:
    from trainer_hooks.contract import Calendar, RunCalendar

REPORT = "report.html"
LEDGER = "ledger.sqlite"

_NOT_IN_NAMES = '/\\:*?"<>|%'
_NAME_LIMIT_BYTES = 200  # file systems take 255 bytes


def folder_name(site: str) -> str:
    """Return a site's name as one folder's name: signs that no folder may carry are percent-encoded.

    A name too long for a file system is cut and carries its SHA-256 after `%-`, which no encoded name contains.
    """
    safe = "".join(quote(sign, safe="") if sign in _NOT_IN_NAMES or not sign.isprintable() else sign for sign in site)
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    encoded = safe.encode()
    if len(encoded) <= _NAME_LIMIT_BYTES:
        return safe
    digest = hashlib.sha256(encoded).hexdigest()
    return f"{encoded[: _NAME_LIMIT_BYTES - len(digest) - 2].decode(errors='ignore')}%-{digest}"


def read_published(path: Path) -> tuple[Calendar, tuple[RunCalendar, ...], Path]:
    """Read a published calendar from wherever in its folders the reader points.

    Args:
        path: Output folder of a week, its folder of calendars, a calendar's own folder, or a calendar.json.

    Returns:
        The header, the windows of every run, and the folder in which the calendar's report and ledger stand.

    Raises:
        ConfigError: There is no calendar, or it is damaged.
    """
    inside = path / CALENDARS
    root = inside if inside.is_dir() else path
    if not root.is_file() and not any((root / name).is_file() for name in (POINTER, HEADER_FILE)):
        raise ConfigError(
            f"there is no published calendar in {path}",
            fix="plan the week with `gridpace plan`, or name the folder into which it was planned",
        )
    try:
        header, runs = read_runs(root)
    except CalendarError as error:
        raise ConfigError(f"{error.what}: {error.why}", fix=error.fix) from error
    if root != path:
        return header, runs, path
    above = [folder.parent for folder in (root.absolute(), *root.absolute().parents) if folder.name == CALENDARS]
    alone = root if root.is_dir() else root.parent
    return header, runs, above[0] if above else alone
