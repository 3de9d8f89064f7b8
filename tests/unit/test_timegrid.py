from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import ConfigError
from planner.timegrid import TimeGrid, coming_week, iso, iso_week, local_midnight, to_utc, week_name, zone

BERLIN = ZoneInfo("Europe/Berlin")


def utc(*args: int) -> datetime:
    return datetime(*args, tzinfo=UTC)


@pytest.mark.parametrize(
    ("week", "tz", "hours", "start"),
    [
        ("2024-W20", "Europe/Berlin", 168, utc(2024, 5, 12, 22)),
        ("2024-W13", "Europe/Berlin", 167, utc(2024, 3, 24, 23)),
        ("2024-W43", "Europe/Berlin", 169, utc(2024, 10, 20, 22)),
        ("2024-W10", "America/Los_Angeles", 167, utc(2024, 3, 4, 8)),
        ("2024-W44", "America/Los_Angeles", 169, utc(2024, 10, 28, 7)),
        ("2020-W53", "Europe/London", 168, utc(2020, 12, 28)),
    ],
)
def test_a_local_week_has_the_hours_its_clocks_say(week, tz, hours, start):
    grid = iso_week(week, ZoneInfo(tz), 60)
    assert (grid.hours, grid.start) == (hours, start)
    assert iso_week(week, ZoneInfo(tz), 15).n_slots == 4 * hours


def test_lord_howe_changes_its_clocks_by_half_an_hour():
    grid = iso_week("2024-W40", ZoneInfo("Australia/Lord_Howe"), 30)
    assert grid.hours == 167.5


def test_a_week_whose_zone_is_off_the_hour_needs_shorter_slots():
    with pytest.raises(ConfigError, match="not on a 60 min boundary"):
        iso_week("2024-W20", ZoneInfo("Asia/Kolkata"), 60)
    assert iso_week("2024-W20", ZoneInfo("Asia/Kolkata"), 30).hours == 168


@given(st.sampled_from(sorted(available_timezones())), st.dates(date(2000, 1, 3), date(2035, 12, 31)))
def test_any_week_of_any_zone_begins_where_the_week_before_ends(name, day):
    tz = ZoneInfo(name)
    monday = day - timedelta(days=day.weekday())
    start, end = local_midnight(monday, tz), local_midnight(monday + timedelta(days=7), tz)
    assert start.astimezone(tz).date() == monday
    assert timedelta(days=6) <= end - start <= timedelta(days=8)
    year, week, _ = monday.isocalendar()
    if start.timestamp() % 900 == 0 and end.timestamp() % 900 == 0:
        grid = iso_week(f"{year}-W{week:02d}", tz, 15)
        assert (grid.start, grid.end) == (start, end)


@pytest.mark.parametrize("text", ["2024-20", "2024-W54", "2023-W53", "24-W01", "2024-W00", "2024-W2", "", "0000-W01"])
def test_no_week_is_guessed(text):
    with pytest.raises(ConfigError, match="no ISO week"):
        iso_week(text, BERLIN, 60)


@pytest.mark.parametrize("text", ["0001-W01", "1970-W52", "2200-W01", "9999-W52"])
def test_weeks_beyond_sound_calendars_are_refused(text):
    with pytest.raises(ConfigError, match="not in the years 1971 to 2199"):
        iso_week(text, BERLIN, 60)


def test_the_coming_week():
    assert coming_week(utc(2024, 5, 14, 12), BERLIN) == "2024-W21"
    assert coming_week(utc(2024, 5, 12, 22), BERLIN) == "2024-W20"
    assert coming_week(utc(2024, 5, 12, 21, 59), BERLIN) == "2024-W20"
    assert week_name(utc(2024, 5, 12, 22), BERLIN) == "2024-W20"
    assert week_name(utc(2024, 5, 12, 22), ZoneInfo("UTC")) == "2024-W19"


def test_zones_off_utc_by_parts_of_an_hour():
    kolkata, kathmandu = ZoneInfo("Asia/Kolkata"), ZoneInfo("Asia/Kathmandu")
    assert coming_week(utc(2024, 5, 12, 18, 30), kolkata) == "2024-W20"
    assert coming_week(utc(2024, 5, 12, 18, 31), kolkata) == "2024-W21"
    assert coming_week(utc(2024, 5, 12), kathmandu) == "2024-W20"
    assert iso_week("2024-W20", kolkata, 30).start == utc(2024, 5, 12, 18, 30)
    with pytest.raises(ConfigError, match="set slot_minutes to 30"):
        iso_week("2024-W20", kolkata, 60)


def test_local_times_that_do_not_exist_or_exist_twice_are_refused():
    with pytest.raises(ConfigError, match="does not exist"):
        to_utc(datetime(2024, 3, 31, 2, 30), BERLIN)  # noqa: DTZ001
    with pytest.raises(ConfigError, match="exists twice"):
        to_utc(datetime(2024, 10, 27, 2, 30), BERLIN)  # noqa: DTZ001
    with pytest.raises(ConfigError, match="no zone"):
        to_utc(datetime(2024, 5, 13))  # noqa: DTZ001
    assert to_utc(datetime(2024, 7, 1, 12), BERLIN) == utc(2024, 7, 1, 10)  # noqa: DTZ001
    assert iso(datetime(2024, 7, 1, 12, tzinfo=BERLIN)) == "2024-07-01T10:00:00Z"


def test_unknown_zone():
    for name in ("Mars/Olympus", "../etc/passwd", ""):
        with pytest.raises(ConfigError, match="not known"):
            zone(name)


@pytest.mark.parametrize(
    ("start", "minutes", "slots", "said"),
    [
        (utc(2024, 1, 1), 45, 4, "slot length is 45 min"),
        (utc(2024, 1, 1, 0, 10), 15, 4, "not on a 15 min boundary"),
        (datetime(2024, 1, 1, tzinfo=BERLIN), 60, 4, "not in UTC"),
        (utc(2024, 1, 1), 60, 0, "0 slots"),
    ],
)
def test_a_grid_that_is_none_is_refused(start, minutes, slots, said):
    with pytest.raises(ConfigError, match=said):
        TimeGrid(start, minutes, slots)


def test_slots():
    grid = TimeGrid(utc(2024, 5, 31, 21), 30, 4)
    assert grid.starts[1] == utc(2024, 5, 31, 21, 30)
    assert grid.end == utc(2024, 5, 31, 23)
    assert grid.position(utc(2024, 5, 31, 22, 15)) == 2.5
    assert grid.local_months(BERLIN).tolist() == [0, 0, 1, 1]
