"""Rows made finer and coarser again, and weeks of any zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import available_timezones

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from planner.errors import ConfigError
from planner.sources.resample import STEPS_MIN, compress, ends_of, expand, finest
from planner.timegrid import SLOT_MINUTES, iso_week, zone

FIVE = timedelta(minutes=5)
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
VALUES = st.floats(-1e6, 1e6, allow_nan=False)
ZONES = st.sampled_from(sorted(available_timezones()))
STEPS = st.sampled_from((5, 15, 30, 60))


def rows_of(step_minutes, values, gaps=()):
    step = timedelta(minutes=step_minutes)
    rows = [(EPOCH + i * step, EPOCH + (i + 1) * step, value) for i, value in enumerate(values) if i not in gaps]
    table = pd.DataFrame(rows, columns=["t_start", "t_end", "value"]).assign(kind="actual", flags="")
    return table.astype(dict.fromkeys(("t_start", "t_end"), "datetime64[us, UTC]"))


@settings(max_examples=50, deadline=None)
@given(STEPS, st.lists(VALUES, min_size=1, max_size=30), st.sets(st.integers(0, 29), max_size=10))
def test_any_series_made_of_five_minutes_and_compressed_again_is_the_same(step, values, gaps):
    assume(set(range(len(values))) - gaps)
    rows = rows_of(step, values, gaps)
    again = compress(expand(rows, FIVE), timedelta(minutes=step))
    pd.testing.assert_frame_equal(again, rows, check_exact=True)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(STEPS, VALUES), min_size=2, max_size=20))
def test_a_series_of_mixed_resolutions_keeps_its_area(parts):
    hours = [(step, value) for step, value in parts for _ in range(60 // step)]
    starts = np.cumsum([0, *(step for step, _ in hours)])
    table = pd.DataFrame(
        {
            "t_start": EPOCH + pd.to_timedelta(starts[:-1], unit="min"),
            "t_end": EPOCH + pd.to_timedelta(starts[1:], unit="min"),
            "value": [value for _, value in hours],
        }
    ).assign(kind="actual", flags="")
    fine = expand(table, FIVE)
    assert finest(fine) == FIVE
    length_h = (table.t_end - table.t_start).dt.total_seconds() / 3600
    assert np.isclose(fine.value.sum() / 12, (table.value * length_h).sum(), rtol=1e-9, atol=1e-3)
    hourly = compress(fine, timedelta(hours=1))
    assert len(hourly) == len(parts)
    assert np.allclose(hourly.value, [value for _, value in parts], rtol=1e-12, atol=1e-9)


@given(st.lists(st.tuples(st.sampled_from(STEPS_MIN), st.integers(3, 12)), min_size=1, max_size=6))
def test_ends_are_found_whatever_resolutions_follow_each_other(stretches):
    steps = [step for step, count in stretches for _ in range(count)]
    edges = [EPOCH + timedelta(minutes=int(m)) for m in np.cumsum([0, *steps])]
    found = ends_of(pd.DatetimeIndex(edges[:-1]), "test")
    assert found.tolist() == edges[1:]


def whole_week(monday, name):
    """Instants of a local Monday's first moment and of the next one's."""
    tz = zone(name)
    return tuple(
        datetime(d.year, d.month, d.day, tzinfo=tz).astimezone(UTC) for d in (monday, monday + timedelta(days=7))
    )


def check_week(name, monday, minutes):
    tz, step = zone(name), timedelta(minutes=minutes)
    first, last = whole_week(monday, name)
    year, week, _ = monday.isocalendar()
    if first.timestamp() % step.total_seconds() or (last - first) % step:
        with pytest.raises(ConfigError, match=r"boundary|no whole number of"):
            iso_week(f"{year}-W{week:02d}", tz, minutes)
        return
    grid = iso_week(f"{year}-W{week:02d}", tz, minutes)
    assert (grid.start, grid.end) == (first, last)
    assert grid.n_slots == (last - first) / step
    moment = timedelta(seconds=1)
    around = [t.astimezone(tz).isocalendar()[:2] == (year, week) for t in (first - moment, first, last - moment, last)]
    assert around == [False, True, True, False]


@settings(max_examples=100, deadline=None)
@given(ZONES, st.dates(date(1975, 1, 1), date(2037, 12, 1)), st.sampled_from(SLOT_MINUTES))
def test_any_week_of_any_zone_has_the_slots_that_its_clocks_give_it(name, day, minutes):
    check_week(name, date.fromisocalendar(*day.isocalendar()[:2], 1), minutes)


@settings(max_examples=60, deadline=None)
@given(ZONES, st.integers(1975, 2036), st.sampled_from(SLOT_MINUTES))
@example("Asia/Manila", 1990, 15)  # its Monday began at one o'clock
def test_any_week_in_which_any_zone_changes_its_clocks_has_the_right_number_of_slots(name, year, minutes):
    mondays = [date.fromisocalendar(year, week, 1) for week in range(1, 53)]
    changing = [m for m in mondays if (span := whole_week(m, name))[1] - span[0] != timedelta(days=7)]
    assume(changing)
    for monday in changing:
        check_week(name, monday, minutes)


@pytest.mark.parametrize(
    ("name", "week", "slots"),
    [
        ("Europe/Berlin", "2025-W13", 167),
        ("Europe/Berlin", "2025-W43", 169),
        ("America/New_York", "2026-W10", 167),
        ("Australia/Lord_Howe", "2026-W14", None),  # half an hour back
        ("Asia/Kolkata", "2026-W10", None),
        ("UTC", "2025-W43", 168),
    ],
)
def test_weeks_by_hand(name, week, slots):
    if slots is not None:
        assert iso_week(week, zone(name), 60).n_slots == slots
        return
    with pytest.raises(ConfigError, match="set slot_minutes to 30"):
        iso_week(week, zone(name), 60)
    first, last = whole_week(date.fromisocalendar(int(week[:4]), int(week[6:]), 1), name)
    assert iso_week(week, zone(name), 30).n_slots == (last - first) / timedelta(minutes=30)
