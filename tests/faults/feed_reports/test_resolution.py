"""Reports of wrong spans and mixed resolutions, shown absent here."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
import responses

from planner.errors import DataUnavailable
from planner.sources.align import align
from planner.timegrid import TimeGrid, zone
from tests.feed_reports import (
    ENTSOE,
    PRICE,
    entsoe_prices,
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
@report("entsoe-py#187")
def test_a_span_that_ends_on_a_local_midnight_has_its_last_hour_too(report):
    day = utc(2022, 6, 6, 22)  # midnight in Stockholm

    def of_days(p):
        return prices(*(price(a, a + 24 * HOUR, [float(t.hour) for t in times(a, a + 24 * HOUR, HOUR)])
                        for a in (day + i * 24 * HOUR for i in range(-1, 3))))  # fmt: skip

    serving(responses, ENTSOE, of_days)
    for late in range(-1, 4):
        start = day + late * HOUR
        rows = opened("entsoe", now=day + 72 * HOUR).fetch("price", "SE3", start, start + 24 * HOUR).rows
        assert rows.t_start.tolist() == list(times(start, start + 24 * HOUR, HOUR))


@responses.activate
def test_the_last_and_the_first_row_of_every_window_are_there():
    first, last = utc(2026, 2, 1, 5), utc(2026, 3, 1, 5)
    serving(responses, PRICE, lambda p: price_answer(moment(p["start"]), moment(p["end"]) + timedelta(minutes=1), HOUR))
    rows = opened("energy-charts").fetch("price", "DE-LU", first, last).rows
    assert len(rows) == 28 * 24
    assert (rows.t_start.iloc[0], rows.t_end.iloc[-1]) == (first, last)


@responses.activate
@report("entsoe-py#445")
def test_the_coupled_auction_is_found_once_it_has_quarter_hours(report):
    first, last = utc(2025, 9, 30, 22), utc(2025, 10, 1, 22)
    coupled = price(first, last, [50.0] * 96, step="PT15M", sequence="1")
    local = price(first, last, [99.0] * 96, step="PT15M", sequence="2")
    assert set(entsoe_prices(prices(local, coupled), first, last)) == {50.0}


@responses.activate
@report("entsoe-py#469")
def test_two_auctions_of_the_same_quarter_hours_are_not_mixed(report):
    first, last = utc(2025, 10, 28, 23), utc(2025, 10, 29, 23)
    coupled = price(first, last, [65.83, 62.1, 55.9, 51.38] * 24, step="PT15M", sequence="1")
    local = price(first, last, [64.8, 62.74, 50.0, 44.2] * 24, step="PT15M", sequence="2")
    for order in ((coupled, local), (local, coupled)):
        responses.reset()
        assert entsoe_prices(prices(*order), first, last).tolist() == [65.83, 62.1, 55.9, 51.38] * 24


@responses.activate
@report("ha_epex_spot-PR#317")
def test_a_local_auction_does_not_stand_in_for_the_coupled_one(report):
    first, last = utc(2026, 6, 30, 22), utc(2026, 7, 1, 22)
    local = price(first, last, [99.0] * 96, step="PT15M", sequence="2")
    with pytest.raises(DataUnavailable, match="has no row of the coupled auction"):
        entsoe_prices(prices(local), first, last)
    responses.reset()
    coupled = price(first, last, [50.0] * 96, step="PT15M", sequence="1")
    assert set(entsoe_prices(prices(local, coupled), first, last)) == {50.0}


@responses.activate
def test_hours_and_quarter_hours_in_one_answer_do_not_lie_over_each_other():
    first, last = utc(2025, 10, 26, 23), utc(2025, 10, 27, 23)
    both = prices(price(first, last, [1.0] * 24), price(first, last, [2.0] * 96, step="PT15M"))
    rows = entsoe_prices(both, first, last)
    assert (len(rows), set(rows)) == (96, {2.0})


@responses.activate
@report("hass-entso-e#272")
def test_quarter_hours_make_the_mean_of_their_hour(report):
    first = utc(2026, 3, 3)
    serving(responses, PRICE, lambda p: price_answer(first, first + 24 * HOUR, value=lambda t: float(t.minute)))
    series = opened("energy-charts").fetch("price", "DE-LU", first, first + 24 * HOUR)
    aligned = align(series, TimeGrid(first, 60, 24), zone("Europe/Berlin"))
    assert aligned.values.tolist() == pytest.approx([0.0225] * 24)


@responses.activate
def test_hours_fill_all_their_quarters():
    first = utc(2026, 3, 3)
    serving(responses, PRICE, lambda p: price_answer(first, first + 24 * HOUR, HOUR, value=lambda t: float(t.hour)))
    series = opened("energy-charts").fetch("price", "DE-LU", first, first + 24 * HOUR)
    aligned = align(series, TimeGrid(first, 15, 96), zone("Europe/Berlin"))
    assert aligned.values.tolist() == np.repeat(series.rows.value.to_numpy(), 4).tolist()
    assert aligned.flags == ()


@responses.activate
@report("evcc#16519")
def test_quarter_hours_told_once_an_hour_hold_for_the_hour(report):
    first, last = utc(2024, 10, 5, 22), utc(2024, 10, 6, 22)
    points = {1 + 4 * hour: float(hour) for hour in range(24)}
    rows = entsoe_prices(prices(price(first, last, points, step="PT15M", curve="A03")), first, last)
    assert rows.tolist() == np.repeat(np.arange(24.0), 4).tolist()


@responses.activate
@report("entsoe-api-client#7")
def test_two_hours_of_one_price_are_two_hours(report):
    first, last = utc(2025, 9, 26, 22), utc(2025, 9, 27, 22)
    points = {i: float(i) for i in range(1, 25) if i != 12}
    rows = entsoe_prices(prices(price(first, last, points, curve="A03")), first, last)
    assert (len(rows), rows.iloc[10], rows.iloc[11], rows.iloc[12]) == (24, 11.0, 11.0, 13.0)


@responses.activate
@report("entsoe-apy-PR#153")
def test_both_ways_to_write_a_curve_say_the_same(report):
    first, last = utc(2026, 3, 1, 23), utc(2026, 3, 2, 23)
    full = [float(i // 5) for i in range(24)]
    short = {i + 1: value for i, value in enumerate(full) if i == 0 or full[i - 1] != value}
    fixed = entsoe_prices(prices(price(first, last, full)), first, last)
    responses.reset()
    variable = entsoe_prices(prices(price(first, last, short, curve="A03")), first, last)
    assert fixed.equals(variable)
