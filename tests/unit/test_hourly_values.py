"""Hours of a series, and that no slot silently takes another's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from power.hourly import HourlyValues

START = datetime(2024, 5, 13, tzinfo=UTC)
SERIES = HourlyValues(START, np.array([1.0, 2.0, 3.0]), "farm.csv")


def test_a_slot_has_the_value_of_its_hour():
    assert SERIES.per_slot(START, 60, 3).tolist() == [1.0, 2.0, 3.0]
    assert SERIES.per_slot(START + timedelta(minutes=30), 15, 4).tolist() == [1.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(("from_h", "n_slots"), [(-1, 2), (-1, 1), (2, 2), (5, 1)])
def test_hours_that_are_not_known_are_refused(from_h, n_slots):
    with pytest.raises(IndexError, match=r"farm\.csv"):
        SERIES.per_slot(START + timedelta(hours=from_h), 60, n_slots)
