"""Reports of outages, changed shapes and refused keys told wrongly, shown absent here."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

import pytest
import responses

from planner.errors import AuthError, DataUnavailable, SchemaChanged
from planner.sources.align import HISTORY, align
from planner.sources.cache import ResponseCache
from planner.sources.chain import Chain, Link
from planner.timegrid import TimeGrid, zone
from tests.feed_reports import (
    EIA,
    EM,
    ENTSOE,
    PRICE,
    UK,
    local_file,
    report,
    utc,
)
from tests.feeds import (
    HALF,
    HOUR,
    NOW,
    eia_answer,
    opened,
    serving,
    times,
)


@responses.activate
@report("hass-entso-e#321")
def test_an_outage_of_the_platform_takes_both_and_says_so(report, monkeypatch):
    monkeypatch.setattr("planner.sources.retry.BudgetRetry.is_retry", lambda *a, **k: False)
    serving(responses, ENTSOE, lambda p: (503, "<html>Scheduled maintenance is currently underway.</html>"))
    serving(responses, PRICE, lambda p: (404, {"detail": "no content found"}))
    links = tuple(Link(name, opened(name), "DE-LU") for name in ("entsoe", "energy-charts"))
    with pytest.raises(DataUnavailable, match=r"no source has price: entsoe: .* 503 .*; energy-charts: ") as caught:
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
