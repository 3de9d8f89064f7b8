"""The 10-of-10 baseline, worked by hand."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from power.baseline_load import like_days, ten_of_ten

TUESDAY = date(2024, 5, 28)


def days(count: int) -> list[date]:
    return [TUESDAY - timedelta(days=n) for n in range(1, count + 1)]


def test_ten_working_days_back_the_latest_first_without_those_left_out():
    found = like_days(TUESDAY, days(30), left_out=[date(2024, 5, 27)])
    assert found[0] == date(2024, 5, 24)
    assert found[-1] == date(2024, 5, 13)
    assert len(found) == 10
    assert all(day.weekday() < 5 for day in found)


def test_a_weekend_is_like_weekends():
    found = like_days(date(2024, 6, 1), days(45))
    assert {day.weekday() for day in found} == {5, 6}
    assert len(found) == 10


def measured(count: int = 20) -> dict[date, np.ndarray]:
    """The n-th day before draws 1000 + n kW in every hour."""
    return {TUESDAY - timedelta(days=n): np.full(24, 1000.0 + n) for n in range(1, count + 1)}


def test_the_mean_of_ten_days_times_what_the_day_itself_drew_before():
    today = np.full(24, 1104.8)
    found = ten_of_ten(measured(), TUESDAY, 16, 19, today_kw=today)
    # the ten working days lie 1, 4 to 8 and 11 to 14 days back: they drew 1000 + 81 / 10 kW on average
    assert found.adjustment == pytest.approx(1104.8 / 1008.1)
    assert found.import_kw == pytest.approx([1104.8] * 3)


def test_the_hour_before_the_event_does_not_count():
    today = np.full(24, 1008.0)
    today[15] = 1.0
    before = ten_of_ten(measured(), TUESDAY, 16, 17, today_kw=today)
    assert before.adjustment > 0.99


def test_the_adjustment_ends_at_a_fifth():
    up, down = (ten_of_ten(measured(), TUESDAY, 16, 17, today_kw=np.full(24, kw)) for kw in (9e3, 10.0))
    assert (up.adjustment, down.adjustment) == (1.2, 0.8)


def test_nine_days_are_too_few():
    assert ten_of_ten(measured(12), TUESDAY, 16, 17, today_kw=np.zeros(24)) is None


def test_a_site_that_drew_nothing_is_not_divided_by():
    nothing = {day: np.zeros(24) for day in days(20)}
    found = ten_of_ten(nothing, TUESDAY, 16, 17, today_kw=np.zeros(24))
    assert found.import_kw.tolist() == [0.0]
