"""Series on the slots of a week: means, holds, bridges and profiles, worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from planner.errors import GapInSeries
from planner.sources.align import HISTORY, align
from planner.sources.rows import add_flag, make_series
from planner.timegrid import TimeGrid

UTC_ZONE = ZoneInfo("UTC")
MONDAY = datetime(2024, 5, 13, tzinfo=UTC)


def series(values, start=MONDAY, minutes=60, drop=(), signal="price", flags=""):
    t = pd.date_range(start, periods=len(values), freq=f"{minutes}min")
    rows = pd.DataFrame(
        {
            "t_start": t,
            "t_end": t + pd.Timedelta(minutes=minutes),
            "value": np.asarray(values, dtype=float),
            "kind": "actual",
            "flags": flags,
        }
    ).drop(index=list(drop))
    return make_series(
        signal=signal, zone="X", rows=rows, source="test", licence="own", currency="EUR" if signal == "price" else ""
    )


def on(values, hours, slot_minutes=60, tz=UTC_ZONE, **given):
    grid = TimeGrid(MONDAY, slot_minutes, round(hours * 60 / slot_minutes))
    return align(series(values, **given), grid, tz)


def slots(out):
    return out.values  # noqa: PD011 - no pandas object


def test_equal_slots_take_the_values_bit_by_bit():
    values = [0.0719, -0.005, 0.1, 1 / 3]
    out = on(values, 4)
    assert slots(out).tolist() == values
    assert out.flags == ()
    assert out.seam is None


def test_finer_slots_hold_and_coarser_slots_average():
    assert slots(on([1.0, 3.0], 2, 30)).tolist() == [1.0, 1.0, 3.0, 3.0]
    assert slots(on([1.0, 3.0, 5.0, 7.0], 1, 60, minutes=15)).tolist() == [4.0]
    assert slots(on([1.0, 2.0, 6.0, 3.0, 3.0, 3.0] * 2, 1, 30, minutes=5)).tolist() == pytest.approx([3.0, 3.0])


def test_rows_across_slots_are_weighted_by_time():
    # 20-minute rows 0, 3, 6, 9: the first half hour is 20 min of 0 and 10 min of 3; quarters meet at 15 min.
    out = on([0.0, 3.0, 6.0, 9.0], 1, 30, minutes=20)
    assert slots(out).tolist() == pytest.approx([1.0, 5.0])


def test_a_gap_of_an_hour_is_bridged_by_a_line_and_flagged():
    out = on([10.0, 0.0, 20.0], 3, drop=[1])
    assert slots(out).tolist() == pytest.approx([10.0, 15.0, 20.0])
    assert out.flags == (("filled", 1),)


def test_a_gap_of_three_hours_is_still_bridged():
    out = on([0.0, 9.0, 9.0, 9.0, 13.0], 5, drop=[1, 2, 3])
    # 12 quarters between 0 and 13: 1 to 12, whose hourly means are 2.5, 6.5 and 10.5.
    assert slots(out).tolist() == pytest.approx([0.0, 2.5, 6.5, 10.5, 13.0])
    assert out.flags == (("filled", 3),)


def test_a_longer_gap_without_a_week_of_past_is_refused():
    with pytest.raises(
        GapInSeries, match=r"price of X \(test\) has no values from 2024-05-13T01.* \(4 h\)\n.* 0\.0 days"
    ):
        on([1.0] * 6, 6, drop=[1, 2, 3, 4])


def test_nothing_before_the_grid_is_never_made_up():
    with pytest.raises(GapInSeries):
        on([1.0, 1.0], 3, start=MONDAY - timedelta(hours=1))


def test_a_longer_gap_takes_the_median_of_the_hour_and_is_flagged():
    # Eight days: each hour has its number, except that one day is wild; the median does not see it.
    hours = np.tile(np.arange(24.0), 9) / 100.0
    hours[24:48] = 20.0
    drop = [i for i in range(len(hours)) if 8 * 24 + 6 <= i < 8 * 24 + 12]
    grid = TimeGrid(MONDAY + timedelta(days=8), 60, 24)
    out = align(series(hours, drop=drop), grid, UTC_ZONE)
    assert slots(out).tolist() == pytest.approx((np.arange(24) / 100.0).tolist())
    assert out.flags == (("profile", 6),)
    assert out.seam is None


def test_a_price_gap_is_never_free_energy():
    out = on([0.3] * (7 * 24) + [9.0] * 5 + [0.3], 174, drop=range(168, 173))
    assert slots(out).min() == pytest.approx(0.3)


def test_after_the_end_the_profile_goes_on_and_the_seam_is_marked():
    past = np.tile(np.arange(24.0), 28) / 100.0
    first = MONDAY - timedelta(days=26)
    grid = TimeGrid(MONDAY, 30, 7 * 48)
    out = align(series(past, start=first), grid, UTC_ZONE)
    assert out.seam == MONDAY + timedelta(days=2)
    assert out.flags == (("profile", 5 * 48),)
    assert slots(out).tolist() == pytest.approx(np.repeat(np.tile(np.arange(24.0), 7) / 100.0, 2).tolist())


def test_only_the_last_28_days_count():
    past = np.concatenate([np.full(30 * 24, 5.0), np.full(28 * 24, 1.0)])
    out = on(past, 24, start=MONDAY - timedelta(days=58))
    assert set(slots(out)) == {1.0}
    assert timedelta(days=28) == HISTORY


def test_just_less_than_seven_days_of_past_is_refused():
    assert on([1.0] * 168, 24, start=MONDAY - timedelta(days=7)).flags == (("profile", 24),)
    with pytest.raises(GapInSeries, match="7 days of values"):
        on([1.0] * 167, 24, start=MONDAY - timedelta(days=7))


def test_an_hour_that_the_past_never_shows_is_refused():
    hours = np.arange(14 * 24) % 24
    with pytest.raises(GapInSeries):
        on(np.ones(14 * 24), 24, start=MONDAY - timedelta(days=14), drop=np.flatnonzero(hours >= 20))


def test_the_profile_follows_local_hours_through_a_clock_change():
    # Berlin goes to summer time on 2024-03-31: the local 8 o'clock peak moves from 07 to 06 UTC.
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2024, 3, 16, 23, tzinfo=UTC)
    local_hour = [(first + timedelta(hours=i)).astimezone(berlin).hour for i in range(14 * 24)]
    values = [1.0 if h == 8 else 0.1 for h in local_hour]
    grid = TimeGrid(datetime(2024, 4, 1, tzinfo=UTC), 60, 24)
    out = align(series(values, start=first), grid, berlin)
    assert np.flatnonzero(slots(out) == 1.0).tolist() == [6]


def test_flags_are_counted_by_slot_and_synthetic_is_inherited():
    base = series([1.0] * 168, start=MONDAY - timedelta(days=7), flags="synthetic")
    rows = add_flag(base.rows, "estimated", np.arange(168) == 160)
    flagged = make_series(signal="price", zone="X", rows=rows, source="test", licence="own", currency="EUR")
    out = align(flagged, TimeGrid(MONDAY - timedelta(hours=12), 60, 24), UTC_ZONE)
    assert out.flags == (("estimated", 1), ("profile", 12), ("synthetic", 24))


def test_a_grid_that_starts_inside_a_row():
    out = on([1.0, 2.0], 1, 15, start=MONDAY - timedelta(minutes=30))
    assert slots(out).tolist() == [1.0, 1.0, 2.0, 2.0]
