"""Reports of gaps and nulls that became values, shown absent here."""

from __future__ import annotations

from datetime import timedelta

import pytest
import responses

from planner.errors import DataUnavailable
from planner.sources.align import align
from planner.timegrid import TimeGrid, zone
from tests.feed_reports import (
    EM,
    ENTSOE,
    METEO,
    POWER,
    entsoe_prices,
    price,
    prices,
    report,
    utc,
)
from tests.feeds import (
    HOUR,
    NOW,
    em_ahead,
    em_past,
    entsoe_document,
    entsoe_series,
    opened,
    power_answer,
    serving,
)


@responses.activate
@report("entsoe-py#236")
def test_a_missing_position_of_a_fixed_curve_is_a_gap_and_no_shift(report):
    first, last = utc(2026, 3, 1, 23), utc(2026, 3, 2, 23)
    points = {i: float(i) for i in range(1, 25) if i not in {4, 5}}
    rows = entsoe_prices(prices(price(first, last, points)), first, last)
    assert len(rows) == 22
    assert rows[first + 5 * HOUR] == 6.0


@responses.activate
@report("entsoe-py#66")
def test_a_period_that_is_missing_is_told_and_no_zero(report):
    first, last = utc(2026, 3, 1, 23), utc(2026, 3, 2, 23)
    gas = {i: 500.0 for i in range(1, 25) if i != 7}
    document = entsoe_document(
        entsoe_series(first, last, gas, psr="B04"), entsoe_series(first, last, [500.0] * 24, psr="B19")
    )
    serving(responses, ENTSOE, lambda p: document)
    series = opened("entsoe", now=last).fetch("carbon", "DE-LU", first, last)
    assert set(series.rows.value) == {185.0}
    assert first + 6 * HOUR not in set(series.rows.t_start)
    aligned = align(series, TimeGrid(first, 60, 24), zone("Europe/Paris"))
    assert aligned.flags == (("filled", 1),)


@responses.activate
@report("carbon-aware-sdk#571")
def test_a_null_intensity_is_left_out_and_the_rest_is_served(report):
    serving(responses, EM, lambda p: em_past(utc(2026, 3, 2), NOW, value=lambda t: None if t.hour == 4 else 300))
    rows = opened("electricity-maps").fetch("carbon", "DE", NOW - 24 * HOUR, NOW - HOUR).rows
    assert set(rows.value) == {300.0}
    assert 4 not in set(rows.t_start.dt.hour)


@responses.activate
@report("carbon-aware-sdk#570")
def test_a_forecast_with_nulls_at_its_end_is_a_shorter_forecast(report):
    hour = NOW.replace(minute=0)
    cut = hour + 60 * HOUR
    serving(responses, EM, lambda p: em_ahead(hour, value=lambda t: None if t >= cut else 250))
    rows = opened("electricity-maps").fetch("carbon", "DE", NOW, NOW + timedelta(days=4)).rows
    assert rows.t_end.iloc[-1] == cut


@responses.activate
@report("electricitymaps-contrib#4734")
def test_a_mix_without_its_largest_type_is_no_clean_hour(report):
    at = utc(2026, 3, 3, 6)
    serving(
        responses,
        POWER,
        lambda p: power_answer(utc(2026, 3, 3), utc(2026, 3, 4), HOUR, Solar=10.0, Nuclear=50.0,
                               Fossil_hard_coal=lambda t: None if t == at else 900.0),
    )  # fmt: skip
    rows = opened("energy-charts").fetch("carbon", "DE-LU", utc(2026, 3, 3), utc(2026, 3, 4)).rows
    assert at not in set(rows.t_start)
    assert rows.value.min() > 700.0


@responses.activate
@report("electricitymaps-contrib-PR#7232")
def test_types_that_are_all_null_or_missing_give_no_row_at_all(report):
    serving(
        responses, POWER, lambda p: power_answer(utc(2026, 3, 3), utc(2026, 3, 4), HOUR, Solar=None, Fossil_gas=None)
    )
    with pytest.raises(DataUnavailable, match="Energy-Charts has no carbon of DE-LU"):
        opened("energy-charts").fetch("carbon", "DE-LU", utc(2026, 3, 3), utc(2026, 3, 4))


@responses.activate
@report("open-meteo#71")
def test_nulls_in_the_last_hours_end_the_series_earlier(report):
    first = NOW.replace(hour=0, minute=0) - timedelta(days=35)
    hours = [first + i * HOUR for i in range(51 * 24)]
    warm = [20.0] * (len(hours) - 3) + [None] * 3
    answer = {
        "utc_offset_seconds": 0,
        "elevation": 10.0,
        "hourly_units": {"temperature_2m": "°C"},
        "hourly": {"time": [t.strftime("%Y-%m-%dT%H:%M") for t in hours], "temperature_2m": warm},
    }
    serving(responses, METEO, lambda p: answer)
    source = opened("open-meteo", latitude=51.0, longitude=10.0)
    rows = source.fetch("dry_bulb", "X", NOW, NOW + timedelta(days=16)).rows
    assert rows.t_end.iloc[-1] == hours[-1] + HOUR - 3 * HOUR
    assert set(rows.value) == {20.0}
