"""Tables as spreadsheets read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

# A spreadsheet takes a cell that starts so for a formula; the apostrophe makes it text, and guards itself.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return a table as CSV, UTF-8.

    Args:
        columns: The header.
        rows: Cells as text, one per column.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue().encode()


def text_cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
