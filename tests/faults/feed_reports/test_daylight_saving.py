"""Reports of hours lost, doubled or shifted where the clocks change, shown absent here."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import responses

from planner.errors import ConfigError
from planner.sources.align import align
from planner.timegrid import TimeGrid, iso_week, zone
from tests.feed_reports import (
    ENTSOE,
    PRICE,
    entsoe_prices,
    local_file,
    price,
    prices,
    report,
    utc,
)
from tests.feeds import (
    HOUR,
    moment,
    opened,
    price_answer,
    serving,
    times,
)


@responses.activate
@report("entsoe-py#468")
def test_the_doubled_hour_in_autumn_is_not_shifted_by_one(report):
    first, last = utc(2025, 10, 25, 22), utc(2025, 10, 26, 23)
    points = [float(i) for i in range(100)]
    rows = entsoe_prices(prices(price(first, last, points, step="PT15M")), first, last)
    berlin = rows.tz_convert("Europe/Berlin")
    assert berlin["2025-10-26 02:00:00+02:00"] == 8.0
    assert berlin["2025-10-26 02:00:00+01:00"] == 12.0
    assert len(rows) == 100


@responses.activate
@report("entsoe-py#388")
def test_a_year_has_all_its_hours(report):
    first, last = utc(2023, 12, 31, 23), utc(2024, 12, 31, 23)

    def of_window(p):
        form = "%Y%m%d%H%M"
        a, b = (datetime.strptime(p[key], form).replace(tzinfo=UTC) for key in ("periodStart", "periodEnd"))
        return prices(price(a, b, [float(t.hour) for t in times(a, b, HOUR)]))

    serving(responses, ENTSOE, of_window)
    rows = opened("entsoe", now=last).fetch("price", "DE-LU", first, last).rows
    assert len(rows) == 8784
    assert (rows.t_start.diff().dropna() == HOUR).all()


@responses.activate
@report("entsoe-py#331")
def test_a_day_of_the_clocks_in_two_periods_with_an_hour_missing_between_is_neither_shifted_nor_refused(report):
    first, last = utc(2024, 3, 30, 23), utc(2024, 3, 31, 22)
    broken = prices(
        price(first, first + 3 * HOUR, [0.0, 1.0, 2.0]),
        price(first + 4 * HOUR, last, [float(hour) for hour in range(4, 23)]),
    )
    rows = entsoe_prices(broken, first, last)
    assert len(rows) == 22  # of the 23 hours of that day
    assert first + 3 * HOUR not in rows.index
    assert all(value == (t - first) / HOUR for t, value in rows.items())
    whole = opened("entsoe", now=last).fetch("price", "DE-LU", first, last)
    filled = align(whole, TimeGrid(first, 60, 23), zone("Europe/Rome"))
    assert filled.flags == (("filled", 1),)
    assert filled.values[3] * 1000 == pytest.approx(3.0)


@responses.activate
def test_no_hour_stands_twice_in_a_week_of_the_clocks():
    grid = iso_week("2025-W43", zone("Europe/Berlin"), 60)
    serving(responses, PRICE, lambda p: price_answer(moment(p["start"]), moment(p["end"]), HOUR))
    rows = opened("energy-charts", now=grid.end).fetch("price", "DE-LU", grid.start, grid.end).rows
    assert (len(rows), rows.t_start.nunique()) == (169, 169)


@report("gridstatus-PR#354")
def test_an_hour_that_does_not_exist_is_named_although_its_value_is_null(report, tmp_path):
    lines = ["2024-03-31 01:00,5", "2024-03-31 02:00,", "2024-03-31 03:00,7"]
    with pytest.raises(ConfigError, match=r"local\.csv row 3: local time 2024-03-31 02:00:00 does not exist"):
        local_file(tmp_path, lines).fetch("price", "X", utc(2024, 3, 30), utc(2024, 4, 1))


@report("gridstatus-PR#473")
def test_a_twenty_fifth_hour_is_no_time(report, tmp_path):
    lines = [f"2024-11-03 {hour:02d}:00,5" for hour in range(26)]
    with pytest.raises(ConfigError, match=r"local\.csv row 26: time '2024-11-03 24:00' cannot be read"):
        local_file(tmp_path, lines, "America/Chicago").fetch("price", "X", utc(2024, 11, 2), utc(2024, 11, 5))


@report("gridstatus-PR#703")
def test_a_doubled_hour_with_both_rows_is_told_apart_by_order(report, tmp_path):
    lines = ["2025-11-02 00:00,1", "2025-11-02 01:00,2", "2025-11-02 01:00,3", "2025-11-02 02:00,4"]
    rows = local_file(tmp_path, lines, "America/Chicago").fetch("price", "X", utc(2025, 11, 2), utc(2025, 11, 3)).rows
    assert rows.t_start.tolist() == [utc(2025, 11, 2, hour) for hour in (5, 6, 7, 8)]


@report("gridstatus#171")
def test_a_doubled_hour_with_one_row_is_refused_not_guessed(report, tmp_path):
    lines = ["2022-11-06 00:00,1", "2022-11-06 01:00,2", "2022-11-06 02:00,4"]
    with pytest.raises(ConfigError, match=r"row 3: local time .* exists twice"):
        local_file(tmp_path, lines, "America/Chicago").fetch("price", "X", utc(2022, 11, 5), utc(2022, 11, 8))


@responses.activate
@report("home-assistant/core#155210")
def test_the_extra_hour_lies_where_the_clocks_go_back_and_not_at_the_days_end(report):
    first, last = utc(2025, 10, 25, 21), utc(2025, 10, 26, 22)
    serving(responses, PRICE, lambda p: price_answer(first, last, value=lambda t: float(t.hour)))
    rows = opened("energy-charts", now=last).fetch("price", "FI", first, last).rows
    helsinki = rows.assign(t_start=rows.t_start.dt.tz_convert("Europe/Helsinki"))
    doubled = helsinki[(helsinki.t_start.dt.hour == 3)]
    assert (doubled.value * 1000).round(6).tolist() == [0.0] * 4 + [1.0] * 4
    assert len(rows) == 100
