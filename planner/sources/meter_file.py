"""A site's measured import: the days before an event that its baseline is made of."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError
from planner.timegrid import YEARS
from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import read_bytes

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy.typing as npt

LIMIT_BYTES = 64 * 1024 * 1024
COLUMNS = ["time", "import_kw"]
LONGEST_STEP = timedelta(hours=1)
_FORM = "write columns time,import_kw with times such as 2024-05-13T16:00:00Z and an average per step, in kW"
_DAY_S = 86400


def read_meter(path: Path) -> tuple[tuple[datetime, float], ...]:
    """Return the rows of a meter's file: start of each step, UTC, and the average import in it, kW.

    Raises:
        ConfigError: The file cannot be read, or a row is not sound; it names the line.
    """
    try:
        text = read_bytes(path, LIMIT_BYTES).decode("utf-8-sig")
    except (CalendarError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a meter's file", str(error).splitlines()[0], _FORM) from error
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[datetime, float]] = []
    try:
        if next(rows, []) != COLUMNS:
            raise ConfigError(f"{path}:1: the columns are not {','.join(COLUMNS)}", fix=_FORM)
        for cells in rows:
            if not cells:
                continue
            found.append(_row(path, rows.line_num, cells))
            if len(found) > 1 and found[-1][0] <= found[-2][0]:
                raise ConfigError(f"{path}:{rows.line_num}: its time is not after that of the row before", fix=_FORM)
    except csv.Error as error:
        raise ConfigError(f"{path}:{rows.line_num}: is not sound CSV: {error}", fix=_FORM) from error
    return tuple(found)


def _row(path: Path, line: int, cells: list[str]) -> tuple[datetime, float]:
    try:
        if len(cells) != len(COLUMNS):
            raise ValueError  # noqa: TRY301 - one message for all ways to be wrong
        when, kw = datetime.fromisoformat(cells[0].strip()), float(cells[1])
        if when.tzinfo is None or when.year not in YEARS or not 0.0 <= kw <= 1e9:
            raise ValueError  # noqa: TRY301
        return when.astimezone(UTC), kw
    except (ValueError, OverflowError):
        raise ConfigError(f"{path}:{line}: {','.join(cells)[:60]!r} is no time with its import", fix=_FORM) from None


def by_day(
    rows: tuple[tuple[datetime, float], ...], tz: ZoneInfo, step_minutes: int
) -> dict[date, npt.NDArray[np.float64]]:
    """Return local day -> average import per step, kW, NaN where nothing was measured.

    Days on which the clocks change are left out.

    Args:
        rows: What was measured; a row holds until the next one, an hour at most.
        tz: Site time zone.
        step_minutes: Length of a step, min.
    """
    if not rows:
        return {}
    steps = _DAY_S // (60 * step_minutes)
    starts_s = np.array([when.timestamp() for when, _ in rows])
    ends_s = np.minimum(np.append(starts_s[1:], np.inf), starts_s + LONGEST_STEP.total_seconds())
    kw = np.array([value for _, value in rows])
    found: dict[date, npt.NDArray[np.float64]] = {}
    day, last = rows[0][0].astimezone(tz).date(), rows[-1][0].astimezone(tz).date()
    while day <= last:
        midnight, after = (
            datetime.combine(d, time(), tz).astimezone(UTC).timestamp() for d in (day, day + timedelta(days=1))
        )
        if after - midnight == _DAY_S:
            edges_s = midnight + np.arange(steps + 1) * 60.0 * step_minutes
            near = slice(
                max(0, int(np.searchsorted(starts_s, midnight)) - 1), int(np.searchsorted(starts_s, after)) + 1
            )
            overlap_s = np.clip(
                np.minimum(ends_s[near], edges_s[1:, None]) - np.maximum(starts_s[near], edges_s[:-1, None]), 0.0, None
            )
            covered_s = overlap_s.sum(axis=1)
            whole = covered_s >= 60.0 * step_minutes - 1.0
            mean_kw = np.divide(overlap_s @ kw[near], covered_s, out=np.full(steps, np.nan), where=whole)
            found[day] = mean_kw
        day += timedelta(days=1)
    return found
