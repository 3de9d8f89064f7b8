"""Ends of rows of which only starts are told, by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from planner.errors import SchemaChanged
from planner.sources.resample import compress, ends_of, expand
from tests.property.test_resample import rows_of

START = datetime(2024, 1, 1, tzinfo=UTC)


def lengths(*minutes_from_start):
    starts = pd.DatetimeIndex([START + timedelta(minutes=m) for m in minutes_from_start])
    return ((ends_of(starts, "S: price of X") - starts) / timedelta(minutes=1)).tolist()


def test_a_change_of_resolution_and_a_gap_are_told_apart():
    assert lengths(0, 60, 120, 135, 150) == [60, 60, 15, 15, 15]
    assert lengths(0, 15, 30, 45, 105, 165) == [15, 15, 15, 60, 60, 60]
    assert lengths(0, 15, 30, 90, 105, 120) == [15] * 6  # three quarter-hours are missing
    assert lengths(0, 60, 120, 1000, 1060) == [60] * 5
    assert lengths(0, 30) == [30, 30]


def test_where_no_length_can_be_told_none_is_made_up():
    for starts in ((0,), (0, 47)):
        with pytest.raises(SchemaChanged, match="S: price of X: the row of 2024-01-01T00:00Z has no length"):
            lengths(*starts)


def test_a_row_that_is_no_whole_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="no whole number of steps"):
        expand(rows_of(15, [1.0]), timedelta(minutes=10))


def test_hours_with_a_gap_have_no_mean_and_flags_are_gathered():
    rows = rows_of(30, [1.0, 3.0, 5.0, 7.0], gaps={3})
    rows.loc[1, "flags"] = "estimated;clipped"
    hourly = compress(rows, timedelta(hours=1))
    assert hourly.value.tolist() == [2.0]
    assert hourly["flags"].tolist() == ["clipped;estimated"]
