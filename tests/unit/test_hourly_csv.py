"""Series of whole hours from a file: every row is an hour, and what is no such row is told on its line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.config.faults import FaultList
from planner.config.hourly_csv import read_hourly

HEADER = "start_utc,output_kw"


def read(text):
    faults = FaultList("farm.csv", {})
    return read_hourly(text, "farm.csv", faults, {"output_kw": (0.0, 1e8)}), faults.found


def test_rows_are_hours_and_comments_and_empty_lines_are_none():
    found, faults = read(f'# a farm\n{HEADER}\n\n2024-05-12T22:00Z, 4\n2024-05-13T01:00+02:00,"5.5"\n')
    assert faults == []
    assert found["output_kw"].start == datetime(2024, 5, 12, 22, tzinfo=UTC)
    assert found["output_kw"].values.tolist() == [4.0, 5.5]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('2024-05-12T22:00Z,"4\n"', "is not sound CSV"),  # a cell that goes on in the next line
        (f"2024-05-12T22:00Z,{'4' * 200_000}", "is not sound CSV"),
        ("9999-12-31T23:00-05:00,4", "a whole hour with its offset is wanted"),
        ("0001-01-01T00:00+05:00,4", "a whole hour with its offset is wanted"),
        ("2024-05-12T22:30Z,4", "a whole hour with its offset is wanted"),
        ("2024-05-12T22:00,4", "a whole hour with its offset is wanted"),
        ("2024-05-12T22:00Z,nan", "0 to 1e+08 is wanted"),
        ("2024-05-12T22:00Z", "has 1 cells; the header has 2"),
    ],
)
def test_what_is_no_row_is_told_on_its_line(row, told):
    found, (fault,) = read(f"{HEADER}\n{row}\n")
    assert found == {}
    assert fault.line == 2
    assert told in fault.what


def test_a_header_with_an_open_quote_is_told():
    found, (fault,) = read(f'"{HEADER}\n2024-05-12T22:00Z,4\n')
    assert found == {}
    assert (fault.line, fault.key) == (1, "header")
