"""Faults that feeds of others had, each by the public report that names it, shown absent here.

The answers are written for these tests in the shapes that the reports describe.
"""

from __future__ import annotations

import ast
import json
import logging
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import responses

from planner.config import SiteFaults, site_from_text, starter_site
from planner.errors import AuthError, ConfigError, DataUnavailable, SchemaChanged
from planner.sources.align import HISTORY, align
from planner.sources.cache import ResponseCache
from planner.sources.chain import Chain, Link
from planner.timegrid import TimeGrid, iso_week, zone
from tests.feeds import (
    HALF,
    HOUR,
    KEYS,
    NOW,
    acknowledgement,
    eia_answer,
    em_ahead,
    em_past,
    entsoe_document,
    entsoe_series,
    moer_answer,
    moment,
    opened,
    power_answer,
    price_answer,
    serving,
    times,
)

ENTSOE = re.compile(r"https://web-api\.tp\.entsoe\.eu.*")
PRICE = re.compile(r"https://api\.energy-charts\.info/price.*")
POWER = re.compile(r"https://api\.energy-charts\.info/public_power.*")
EIA = re.compile(r"https://api\.eia\.gov.*")
EM = re.compile(r"https://api\.electricitymaps\.com.*")
UK = re.compile(r"https://api\.carbonintensity\.org\.uk.*")
METEO = re.compile(r"https://(archive-)?api\.open-meteo\.com.*")

REFERENCE = (
    "entsoe-py#468",
    "entsoe-py#388",
    "entsoe-py#331",
    "gridstatus-PR#354",
    "gridstatus-PR#473",
    "gridstatus-PR#703",
    "gridstatus#171",
    "home-assistant/core#155210",
    "entsoe-py#187",
    "entsoe-py#445",
    "entsoe-py#469",
    "hass-entso-e#272",
    "ha_epex_spot-PR#317",
    "evcc#16519",
    "entsoe-api-client#7",
    "entsoe-apy-PR#153",
    "entsoe-py#236",
    "entsoe-py#66",
    "carbon-aware-sdk#571",
    "carbon-aware-sdk#570",
    "electricitymaps-contrib#4734",
    "electricitymaps-contrib-PR#7232",
    "open-meteo#71",
    "carbon-aware-sdk#573",
    "electricitymaps-contrib#4052",
    "codecarbon#211",
    "PV_Live-API#49",
    "hass-entso-e#321",
    "evcc#33597",
    "entsoe-py#548",
    "entsoe-apy#98",
    "ha_epex_spot#322",
    "api-definitions#19",
    "api-definitions#12",
    "batpred-PR#4958",
    "home-assistant/core#109233",
    "home-assistant/core#146234",
    "gridstatus#941",
    "worldmonitor-PR#3878",
)
"""Reports that the feeds are to be immune to."""


def report(*names):
    """One test for each of the reports named."""
    return pytest.mark.parametrize("report", names)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def prices(*series):
    return entsoe_document(*series, kind="Publication_MarketDocument")


def price(first, last, points, **kw):
    return entsoe_series(first, last, points, unit="EUR/MWH", **kw)


def entsoe_prices(document, first, last, *, now=None):
    serving(responses, ENTSOE, lambda p: document)
    series = opened("entsoe", now=now or last).fetch("price", "DE-LU", first, last)
    return (series.rows.set_index("t_start").value * 1000.0).round(6)


def local_file(folder, lines, tz="Europe/Berlin", **options):
    (folder / "local.csv").write_text("t,v\n" + "\n".join(lines), encoding="utf-8")
    declared = {
        "path": str(folder / "local.csv"),
        "time_column": "t",
        "stamp": "start",
        "time_zone": tz,
        "step_minutes": 60,
        "kind": "actual",
        "columns": {"price": {"column": "v", "unit": "EUR/MWh"}},
        **options,
    }
    return opened("csv", **declared)


def test_every_report_of_the_list_has_a_test_of_its_name():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    named = [
        argument.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "report"
        for argument in node.args
    ]
    assert sorted(named) == sorted(REFERENCE)


# --- clocks -----------------------------------------------------------------------------------------------------------


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
def test_no_hour_stands_twice_in_a_week_of_the_clocks(report):
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


# --- span and resolution ----------------------------------------------------------------------------------------------


@responses.activate
@report("entsoe-py#187")
def test_the_last_and_the_first_row_of_every_window_are_there(report):
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
def test_hours_and_quarter_hours_in_one_answer_do_not_lie_over_each_other(report):
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
@report("ha_epex_spot-PR#317")
def test_hours_fill_all_their_quarters(report):
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


# --- gaps and nulls ---------------------------------------------------------------------------------------------------


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
def test_a_type_without_a_value_is_no_zero(report):
    first, last = utc(2026, 3, 1, 23), utc(2026, 3, 2, 23)
    gas = {i: 500.0 for i in range(1, 25) if i != 7}
    document = entsoe_document(
        entsoe_series(first, last, gas, psr="B04"), entsoe_series(first, last, [500.0] * 24, psr="B19")
    )
    serving(responses, ENTSOE, lambda p: document)
    rows = opened("entsoe", now=last).fetch("carbon", "DE-LU", first, last).rows
    assert set(rows.value) == {185.0}
    assert first + 6 * HOUR not in set(rows.t_start)


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


# --- units and meaning ------------------------------------------------------------------------------------------------


@responses.activate
@report("carbon-aware-sdk#573")
def test_marginal_is_called_marginal_and_average_is_not(report):
    hour = NOW.replace(minute=0)
    responses.add(responses.GET, "https://api.watttime.org/login", json={"token": "t"})
    serving(responses, re.compile(r"https://api\.watttime\.org/v3.*"), lambda p: moer_answer(hour, hour + 72 * HOUR))
    serving(responses, EM, lambda p: em_ahead(hour))
    ahead = (NOW, NOW + 24 * HOUR)
    assert opened("watttime").fetch("carbon", "CAISO_NORTH", *ahead).basis == "marginal"
    assert opened("electricity-maps").fetch("carbon", "DE", *ahead).basis == "direct"
    text = starter_site().replace("# Without [sources]", '[sources.carbon]\nprovider = "watttime"\n# Without')
    with pytest.raises(SiteFaults, match="watttime gives marginal carbon, not carbon"):
        site_from_text(text, Path("site.toml"))


@responses.activate
@report("electricitymaps-contrib#4052")
def test_a_stamp_of_the_hours_end_is_moved_to_its_start(report):
    noon = utc(2026, 3, 3, 20)
    sun = {"NG": 100, "SUN": lambda t: 900 if t == noon else 100}
    serving(responses, EIA, lambda p: eia_answer(utc(2026, 3, 3), utc(2026, 3, 4), fuels=sun))
    rows = opened("eia").fetch("carbon", "CISO", utc(2026, 3, 3), utc(2026, 3, 4)).rows
    assert rows.t_start[rows.value.idxmin()] == noon


@responses.activate
@report("codecarbon#211")
def test_a_clean_zone_is_not_given_the_number_of_another(report):
    mix = {"Nuclear": 650.0, "Hydro_Run-of-River": 140.0, "Fossil_gas": 60.0, "Wind_onshore": 100.0, "Solar": 50.0}
    serving(responses, POWER, lambda p: power_answer(utc(2026, 3, 3), utc(2026, 3, 4), HOUR, **mix))
    french = opened("energy-charts", basis="lifecycle").fetch("carbon", "FR", utc(2026, 3, 3), utc(2026, 3, 4))
    assert set(french.rows.value.round(6)) == {43.91}  # 7.8 + 3.36 + 29.4 + 1.1 + 2.25
    assert {call.request.params["country"] for call in responses.calls} == {"fr"}
    serving(responses, EM, lambda p: em_past(utc(2026, 3, 3), NOW, zone="US-TEX-ERCO", value=lambda t: 424))
    with pytest.raises(SchemaChanged, match="its zone is 'US-TEX-ERCO', asked was 'FR'"):
        opened("electricity-maps").fetch("carbon", "FR", NOW - 24 * HOUR, NOW - HOUR)


@responses.activate
@report("PV_Live-API#49")
def test_a_unit_that_changes_by_a_thousand_is_named_with_its_day(report):
    change = utc(2026, 3, 3)
    serving(
        responses,
        PRICE,
        lambda p: price_answer(
            utc(2026, 3, 1), utc(2026, 3, 4), value=lambda t: (0.05 if t < change else 50.0) * (1 + t.hour / 24)
        ),
    )
    with pytest.raises(SchemaChanged, match=r"row of 2026-03-03T00:00:00Z: price of DE-LU goes from about") as caught:
        opened("energy-charts").fetch("price", "DE-LU", utc(2026, 3, 1), utc(2026, 3, 4))
    assert "Energy-Charts" in caught.value.what


# --- outages, shapes and keys -----------------------------------------------------------------------------------------


@responses.activate
@report("hass-entso-e#321")
def test_an_outage_of_the_platform_takes_both_and_says_so(report):
    serving(responses, ENTSOE, lambda p: acknowledgement())
    serving(responses, PRICE, lambda p: (404, {"detail": "no content found"}))
    links = tuple(Link(name, opened(name), "DE-LU") for name in ("entsoe", "energy-charts"))
    with pytest.raises(DataUnavailable, match=r"no source has price: entsoe: .*; energy-charts: ") as caught:
        Chain(links, lambda: NOW).fetch("price", NOW - 24 * HOUR, NOW)
    assert "entsoe and energy-charts both stand on ENTSO-E and fail together" in caught.value.why


@responses.activate
@report("evcc#33597")
def test_no_content_is_no_bad_address_and_a_file_steps_in(report, tmp_path):
    serving(responses, PRICE, lambda p: (404, {"detail": "no content found"}))
    lines = [f"{t:%Y-%m-%d %H:%M},50" for t in times(NOW.replace(minute=0) - 48 * HOUR, NOW + 48 * HOUR, HOUR)]
    links = (
        Link("energy-charts", opened("energy-charts"), "NL"),
        Link("csv", local_file(tmp_path, lines, "UTC"), "NL"),
    )
    series = Chain(links, lambda: NOW).fetch("price", NOW - 24 * HOUR, NOW)
    assert set(series.rows["flags"]) == {"fallback"}
    assert series.told[0].startswith(
        "Fallback: price is from csv local.csv, because energy-charts: Energy-Charts has no"
    )


@responses.activate
@report("entsoe-py#548")
def test_a_page_for_a_document_is_told_as_one_and_not_kept(report, tmp_path):
    serving(responses, ENTSOE, lambda p: "<!DOCTYPE html><html><body>Service unavailable</body></html>")
    with pytest.raises(SchemaChanged, match="for price of DE-LU where XML is agreed"):
        opened("entsoe", ResponseCache(tmp_path)).fetch("price", "DE-LU", NOW - 24 * HOUR, NOW)
    with pytest.raises(DataUnavailable, match="no answer is kept"):
        opened("entsoe", ResponseCache(tmp_path), offline=True).fetch("price", "DE-LU", NOW - 24 * HOUR, NOW)


@responses.activate
@report("entsoe-apy#98")
def test_an_archive_for_a_document_is_told_as_one(report):
    serving(responses, ENTSOE, lambda p: b"PK\x03\x04\x14\x00")
    with pytest.raises(SchemaChanged, match="6 bytes of a ZIP archive for price of DE-LU where XML is agreed"):
        opened("entsoe").fetch("price", "DE-LU", NOW - 24 * HOUR, NOW)


@responses.activate
@report("ha_epex_spot#322")
def test_a_token_stands_in_no_log_and_no_error(report, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(DataUnavailable) as caught:  # nothing answers, and the library's own error holds the address
        opened("entsoe").fetch("price", "DE-LU", NOW - 24 * HOUR, NOW)
    assert "tops3cret" in responses.calls[0].request.url
    assert caught.value.__cause__ is None
    assert "tops3cret" not in f"{caught.value!r} {caught.value} {caplog.text}"


@responses.activate
@report("api-definitions#19")
def test_an_error_500_gives_its_reason_and_is_no_data(report, monkeypatch):
    monkeypatch.setattr("planner.sources.retry.BudgetRetry.is_retry", lambda *a, **k: False)
    said = {"error": {"code": "500 Internal Server Error", "message": "Requested resource not found."}}
    serving(responses, UK, lambda p: (500, said))
    with pytest.raises(DataUnavailable, match=r"answered 500 for carbon of GB\nwhy: Requested resource not found\."):
        opened("uk-carbon-intensity").fetch("carbon", "GB", NOW - 24 * HOUR, NOW)


@responses.activate
@report("api-definitions#12")
def test_an_object_where_a_list_is_documented_is_read(report):
    first = NOW.replace(minute=0) - 4 * HOUR
    form = "%Y-%m-%dT%H:%MZ"
    rows = [
        {"from": f"{t:{form}}", "to": f"{t + HALF:{form}}", "intensity": {"forecast": 120, "index": "low"}}
        for t in times(first, first + 2 * HOUR, HALF)
    ]
    serving(responses, UK, lambda p: {"data": {"regionid": 13, "data": rows}})
    series = opened("uk-carbon-intensity").fetch("carbon", "GB-13", first, first + 2 * HOUR)
    assert series.rows.value.tolist() == [120.0] * 4


@responses.activate
@report("batpred-PR#4958")
def test_a_forecast_that_ends_early_is_normal_and_its_seam_is_marked(report):
    form = "%Y-%m-%dT%H:%MZ"
    end = NOW.replace(hour=23, minute=0)

    def short(request):
        first, last = (
            datetime.strptime(t, form).replace(tzinfo=UTC) for t in request.url.split("/intensity/")[1].split("/")[:2]
        )
        rows = [
            {"from": f"{t:{form}}", "to": f"{t + HALF:{form}}", "intensity": {"forecast": 90, "actual": None}}
            for t in times(first, min(last, end), HALF)
        ]
        return 200, {}, json.dumps({"data": rows} if rows else {})

    responses.add_callback(responses.GET, UK, short)
    grid = TimeGrid(NOW.replace(hour=0, minute=0), 60, 168)
    series = opened("uk-carbon-intensity").fetch("carbon", "GB", grid.start - HISTORY, grid.end)
    aligned = align(series, grid, zone("Europe/London"))
    assert aligned.seam == end
    assert dict(aligned.flags)["profile"] == 168 - 23


@responses.activate
@report("home-assistant/core#109233")
def test_an_address_that_is_gone_is_no_bad_login(report):
    serving(responses, EM, lambda p: (404, {"message": "no Route matched with those values"}))
    with pytest.raises(DataUnavailable, match=r"answered 404 .*\nwhy: no Route matched") as caught:
        opened("electricity-maps").fetch("carbon", "DE", NOW - 24 * HOUR, NOW - HOUR)
    assert not isinstance(caught.value, AuthError)


@responses.activate
@report("home-assistant/core#146234")
def test_a_503_is_no_bad_login(report, monkeypatch):
    monkeypatch.setattr("planner.sources.retry.BudgetRetry.is_retry", lambda *a, **k: False)
    serving(responses, EM, lambda p: (503, "Service Unavailable"))
    with pytest.raises(DataUnavailable, match="answered 503") as caught:
        opened("electricity-maps").fetch("carbon", "DE", NOW - 24 * HOUR, NOW - HOUR)
    assert not isinstance(caught.value, AuthError)


@responses.activate
@report("gridstatus#941")
def test_numbers_written_as_text_are_read_and_a_page_cut_short_is_not(report):
    first, last = utc(2026, 3, 3), utc(2026, 3, 4)
    serving(responses, EIA, lambda p: eia_answer(first, last, fuels={"NG": "250", "SUN": "750"}))
    assert set(opened("eia").fetch("carbon", "CISO", first, last).rows.value) == {92.5}
    responses.reset()
    serving(responses, EIA, lambda p: eia_answer(first, last, total="5001"))
    with pytest.raises(SchemaChanged, match="it holds 48 of 5001 rows"):
        opened("eia").fetch("carbon", "CISO", first, last)


@responses.activate
@report("worldmonitor-PR#3878")
def test_rows_of_another_series_are_never_mixed_in(report):
    first, last = utc(2026, 3, 3), utc(2026, 3, 4)

    def interleaved(params):
        answer = eia_answer(first, last)
        answer["response"]["data"].insert(7, {**answer["response"]["data"][7], "respondent": "ERCO", "value": "9"})
        return answer

    serving(responses, EIA, interleaved)
    with pytest.raises(SchemaChanged, match="its respondent is 'ERCO', asked was 'CISO'"):
        opened("eia").fetch("carbon", "CISO", first, last)
    params = responses.calls[0].request.params
    assert (params["frequency"], params["facets[respondent][]"], params["data[0]"]) == ("hourly", "CISO", "value")
