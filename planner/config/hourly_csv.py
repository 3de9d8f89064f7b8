"""Series of whole hours from a CSV file that the site file names."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

from planner.config.faults import FaultList, did_you_mean
from planner.timegrid import YEARS, iso
from power.hourly import HourlyValues

START = "start_utc"


def read_hourly(
    text: str, name: str, faults: FaultList, limits: Mapping[str, tuple[float, float]]
) -> dict[str, HourlyValues]:
    """Return the series of a CSV text by column; faults carry the row's line.

    Each row is an hour: `start_utc` with its offset (Z for UTC), then any of the columns of `limits`. Lines that begin
    with # are comments.

    Args:
        text: The file's text.
        name: The file's name, which stands as the series' source.
        faults: Where faults go.
        limits: Column -> lowest and highest value.
    """
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    faults.lines["header",] = lines[0][0] if lines else 1
    header = _cells(lines[0][1], "header", faults) if lines else []
    if header is None or not _sound_header(header, faults, limits):
        return {}
    starts: list[datetime] = []
    values: dict[str, list[float]] = {column: [] for column in header if column != START}
    for line, written in lines[1:]:
        path = f"line {line}"
        faults.lines[path,] = line
        cells = _cells(written, path, faults)
        row = None if cells is None else _row(header, cells, path, faults, limits)
        if row is None:
            return {}
        start, figures = row
        if starts and start != starts[-1] + timedelta(hours=1):
            what = f"{iso(start)} does not follow {iso(starts[-1])} by an hour"
            faults.add((path, START), what, "give every hour one row")
            return {}
        starts.append(start)
        for column, value in figures.items():
            values[column].append(value)
    if not starts:
        faults.add(("header",), "stands alone", "give every hour of the week one row")
        return {}
    return {column: HourlyValues(starts[0], np.array(found), name) for column, found in values.items()}


def _cells(line: str, path: str, faults: FaultList) -> list[str] | None:
    """Return the cells of one line, none of which goes on in the next, or None where the line is no sound CSV."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        faults.add((path,), f"is not sound CSV: {error}", "close each quote on its line")
        return None


def _sound_header(header: list[str], faults: FaultList, limits: Mapping[str, tuple[float, float]]) -> bool:
    wanted = (START, *limits)
    before = len(faults.found)
    for column in header:
        if column not in wanted:
            faults.add(("header", column), "unknown column", did_you_mean(column, wanted))
    if START not in header or len(header) < 2 or len(set(header)) < len(header):
        faults.add(("header",), f"needs {START} and at least one figure, each once", f"known are {', '.join(wanted)}")
    return len(faults.found) == before


def _row(
    header: list[str], cells: list[str], path: str, faults: FaultList, limits: Mapping[str, tuple[float, float]]
) -> tuple[datetime, dict[str, float]] | None:
    if len(cells) != len(header):
        faults.add((path,), f"has {len(cells)} cells; the header has {len(header)}", "give each column one cell")
        return None
    row = dict(zip(header, cells, strict=True))
    text = row.pop(START)
    start = _hour(text)
    if start is None:
        faults.add((path, START), f"is {text!r}; a whole hour with its offset is wanted", "such as 2024-05-13T00:00Z")
        return None
    figures: dict[str, float] = {}
    for column, cell in row.items():
        value, (low, high) = _number(cell), limits[column]
        if value is None or not low <= value <= high:
            faults.add((path, column), f"is {cell!r}; {low:g} to {high:g} is wanted", "no cell may be empty")
            return None
        figures[column] = value
    return start, figures


def _hour(text: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.year not in YEARS or instant.tzinfo is None or instant.minute or instant.second or instant.microsecond:
        return None
    return instant.astimezone(UTC)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
