"""A meter's file, and the baseline of a site by it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.respond.measured import measured_baseline
from planner.sources.meter_file import by_day, read_meter
from planner.timegrid import TimeGrid
from tests.weeks import at, tiny_week

BERLIN = ZoneInfo("Europe/Berlin")
FIRST = datetime(2024, 5, 12, 22, tzinfo=UTC)  # midnight in Berlin


def rows(hours: int, minutes: int = 60, kw: float = 100.0) -> tuple:
    step = timedelta(minutes=minutes)
    return tuple((FIRST + i * step, kw + i) for i in range(hours * 60 // minutes))


def write(path, text: str):
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_read_with_their_offsets(tmp_path):
    file = write(tmp_path / "m.csv", "time,import_kw\n2024-05-13T00:00:00+02:00,10\n2024-05-13T01:00:00+02:00,12.5\n")
    assert read_meter(file) == ((FIRST, 10.0), (FIRST + timedelta(hours=1), 12.5))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("when,kw\n", "columns are not"),
        ("time,import_kw\n2024-05-13T00:00:00,10\n", "m.csv:2"),
        ("time,import_kw\n2024-05-13T00:00:00Z,-1\n", "m.csv:2"),
        ("time,import_kw\n2024-05-13T00:00:00Z,nan\n", "m.csv:2"),
        ("time,import_kw\n2024-05-13T00:00:00Z,ten\n", "m.csv:2"),
        ("time,import_kw\n2024-05-13T00:00:00Z\n", "m.csv:2"),
        ("time,import_kw\n2024-05-13T01:00:00Z,1\n2024-05-13T00:00:00Z,1\n", "m.csv:3: its time is not after"),
        ('time,import_kw\n"2024\n', "no sound CSV"),
    ],
)
def test_a_row_that_is_not_sound_is_named(tmp_path, text, words):
    with pytest.raises(ConfigError) as caught:
        read_meter(write(tmp_path / "m.csv", text))
    assert words in str(caught.value).replace("is not sound CSV", "no sound CSV")


def test_an_absent_file_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_meter(tmp_path / "none.csv")


def test_days_are_local_and_quarter_hours_become_hours():
    found = by_day(rows(48, 15), BERLIN, 60)
    assert list(found) == [date(2024, 5, 13), date(2024, 5, 14)]
    assert found[date(2024, 5, 13)][0] == pytest.approx(101.5)  # mean of 100, 101, 102, 103
    assert found[date(2024, 5, 14)][23] == pytest.approx(100 + 191 - 1.5)


def test_what_was_not_measured_is_not_made_up():
    gappy = tuple(row for row in rows(24) if row[0] != FIRST + timedelta(hours=5))
    (day,) = by_day(gappy, BERLIN, 60).values()
    assert np.isnan(day).tolist() == [hour == 5 for hour in range(24)]


def test_a_day_on_which_the_clocks_change_is_left_out():
    start = datetime(2024, 3, 29, 23, tzinfo=UTC)
    hours = tuple((start + timedelta(hours=i), 1.0) for i in range(72))
    assert date(2024, 3, 31) not in by_day(hours, BERLIN, 60)
    assert date(2024, 3, 30) in by_day(hours, BERLIN, 60)


def week():
    """Monday 2024-05-27 in Berlin."""
    start = datetime(2024, 5, 26, 22, tzinfo=UTC)
    return tiny_week(n_slots=24, start=start)


def measured(day_kw: float, hours: int = 12) -> dict:
    """Two weeks at 200 kW, and the morning of the 27th at another power."""
    days = {date(2024, 5, 27) - timedelta(days=n): np.full(24, 200.0) for n in range(1, 15)}
    today = np.full(24, np.nan)
    today[:hours] = day_kw
    return days | {date(2024, 5, 27): today}


def test_the_baseline_of_the_day_is_ten_like_days_times_its_own_morning():
    noon = week().grid.start + timedelta(hours=12)
    found = measured_baseline(week(), measured(220.0), noon)
    assert found is not None
    baseline_kw, told = found
    assert baseline_kw == pytest.approx(np.full(24, 220.0))
    assert "times 1.100" in told
    assert "2024-05-13 to 2024-05-24" in told


def test_without_the_hours_before_the_event_there_is_no_baseline():
    noon = week().grid.start + timedelta(hours=12)
    assert measured_baseline(week(), measured(220.0, hours=9), noon) is None
    few = {day: kw for day, kw in measured(220.0).items() if day > date(2024, 5, 20)}
    assert measured_baseline(week(), few, noon) is None


def test_the_grid_of_the_horizon_need_not_start_at_midnight():
    later = tiny_week(n_slots=4, start=at(0) + timedelta(hours=20))
    assert isinstance(later.grid, TimeGrid)
    days = {date(2024, 5, 13) - timedelta(days=n): np.arange(24.0) for n in range(1, 25)}
    days[date(2024, 5, 13)] = np.arange(24.0)
    found = measured_baseline(later, days, later.grid.start)
    assert found is not None
    assert found[0] == pytest.approx([22.0, 23.0, 0.0, 1.0])  # 20:00 UTC is 22:00 in Berlin
