"""Cells of a CSV or Parquet file as they stand there, each row with the number by which its owner finds it."""

from __future__ import annotations

import csv
import gzip
import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import ConfigError
from planner.sources.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Table:
    """Columns of a file.

    Args:
        path: The file.
        row_numbers: Number of each row: its line in a CSV file as an editor counts (the header counts), its place from
            1 in a Parquet file.
        columns: Cells of each column, one per row.
    """

    path: Path
    row_numbers: Sequence[int]
    columns: Mapping[str, Sequence[Any]]

    def name_row(self, i: int) -> str:
        """Return the name of the row at a position, such as "price.csv row 17"."""
        return f"{self.path.name} row {self.row_numbers[i]}"


def read_table(path: Path, columns: Sequence[str], *, delimiter: str = ",", comment: str = "") -> Table:
    """Return the named columns of a file; a name ending in .parquet is Parquet, any other CSV (.gz is unpacked).

    Args:
        path: The file; CSV is UTF-8 with one header line.
        columns: Names of the columns wanted.
        delimiter: Sign between the cells of a CSV file.
        comment: Lines of a CSV file that start so are passed over; "" for none.

    Raises:
        ConfigError: The file cannot be read, lacks a column, or has a row with too few or too many cells.
    """
    wanted = list(dict.fromkeys(columns))
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path, wanted)
        return _read_csv(path, wanted, delimiter, comment)
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path.name} is not UTF-8 text", why=str(exc), fix="save the file as UTF-8") from exc
    except (OSError, EOFError, zlib.error, csv.Error) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise ConfigError(f"{path} cannot be read", why=reason, fix="check the path and the file") from exc


def _read_csv(path: Path, wanted: list[str], delimiter: str, comment: str) -> Table:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(_without_comments(file, comment), delimiter=delimiter)
        header = next((row for row in reader if row), [])
        places = [_place(path, [name.strip() for name in header], name) for name in wanted]
        numbers: list[int] = []
        cells: list[list[str]] = [[] for _ in wanted]
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise ConfigError(
                    f"{path.name} row {reader.line_num} has {len(row)} cells where the header has {len(header)}",
                    fix="complete the row, or quote cells that contain the delimiter",
                )
            numbers.append(reader.line_num)
            for column, place in zip(cells, places, strict=True):
                column.append(row[place])
    return Table(path, numbers, dict(zip(wanted, cells, strict=True)))


def _without_comments(lines: Iterator[str], comment: str) -> Iterator[str]:
    # A comment becomes an empty line, so that line numbers stay those of the file.
    return ("\n" if comment and line.startswith(comment) else line for line in lines)


def _read_parquet(path: Path, wanted: list[str]) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        for name in wanted:
            _place(path, names, name)
        table = pq.read_table(path, columns=wanted)
    except pa.ArrowInvalid as exc:
        raise ConfigError(f"{path.name} is no Parquet file", why=str(exc), fix="check the file") from exc
    cells = {name: [_plain(cell) for cell in table.column(name).to_pylist()] for name in wanted}
    return Table(path, range(1, table.num_rows + 1), cells)


def _plain(cell: Any) -> Any:
    return cell.to_pydatetime(warn=False) if isinstance(cell, pd.Timestamp) and isinstance(cell, datetime) else cell


def _place(path: Path, header: list[str], name: str) -> int:
    found = [i for i, column in enumerate(header) if column == name]
    if len(found) != 1:
        raise ConfigError(
            f"{path.name} has {len(found) or 'no'} column{'s' if found else ''} {name!r}",
            fix=f"{did_you_mean(name, header)}its columns are {', '.join(header) or 'none'}",
        )
    return found[0]
