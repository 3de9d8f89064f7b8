"""ENTSO-E: documents in its shape, and the traps of each."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import AuthError, ConfigError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from planner.sources.entsoe import area_code
from tests.feeds import HOUR, KEYS, QUARTER, acknowledgement, entsoe_document, entsoe_series, opened, serving

URL = re.compile(r"https://web-api\.tp\.entsoe\.eu/api.*")
DAY = datetime(2026, 3, 2, 23, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)
PUBLICATION = "Publication_MarketDocument"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def prices(*series):
    return entsoe_document(*series, kind=PUBLICATION)


def price(points, first=DAY, last=NEXT, **kw):
    return entsoe_series(first, last, points, unit="EUR/MWH", **kw)


def fetched(document, signal="price", zone="DE-LU", first=DAY, last=NEXT, **kw):
    serving(responses, URL, lambda p: document)
    return opened("entsoe", **kw).fetch(signal, zone, first, last)


@responses.activate
def test_a_missing_position_repeats_the_one_before_to_the_end_of_the_period():
    series = fetched(prices(price({1: 10.0, 5: -20.0, 6: 30.0, 20: 44.0}, curve="A03")))
    per_mwh = (series.rows.value * 1000).round(9).tolist()
    assert per_mwh == [10.0] * 4 + [-20.0] + [30.0] * 14 + [44.0] * 5
    assert series.rows.t_end.iloc[-1] == NEXT
    assert series.unit == "EUR/kWh"


@responses.activate
def test_in_a_fixed_curve_a_missing_position_is_a_gap():
    series = fetched(prices(price({1: 10.0, 2: 11.0, 24: 30.0})))
    assert series.rows.t_start.tolist() == [DAY, DAY + HOUR, DAY + 23 * HOUR]


@responses.activate
def test_a_null_in_a_variable_curve_is_not_bridged():
    series = fetched(prices(price({1: 10.0, 5: "", 9: 30.0}, curve="A03")))
    assert len(series.rows) == 4 + 16


@responses.activate
@pytest.mark.parametrize(
    ("start", "hours"), [(datetime(2026, 3, 28, 23, tzinfo=UTC), 23), (datetime(2025, 10, 25, 22, tzinfo=UTC), 25)]
)
def test_days_of_the_clocks(start, hours):
    end = start + hours * HOUR
    series = fetched(prices(price([float(h) for h in range(hours)], start, end)), first=start, last=end, now=end)
    assert len(series.rows) == hours
    assert (series.rows.value * 1000).round(6).tolist() == list(range(hours))


@responses.activate
def test_only_the_coupled_auction_counts():
    series = fetched(prices(price([7.0] * 24, sequence="2"), price([5.0] * 24, sequence="1")))
    assert set((series.rows.value * 1000).round(6)) == {5.0}
    responses.reset()
    with pytest.raises(DataUnavailable, match="ENTSO-E has no price of DE-LU"):
        fetched(prices(price([7.0] * 24, sequence="2")))


@responses.activate
def test_intraday_auctions_in_the_same_document_do_not_count():
    # entsoe-py issue 446
    series = fetched(prices(price([7.0] * 24, contract="A07"), price([5.0] * 24, contract="A01")))
    assert set((series.rows.value * 1000).round(6)) == {5.0}


@responses.activate
@pytest.mark.parametrize(
    ("first", "kept"), [(DAY, 9.0), (datetime(2024, 3, 2, 23, tzinfo=UTC), 5.0)], ids=["since-quarters", "before"]
)
def test_of_two_resolutions_the_coupled_auctions_own_counts(first, kept):
    last = first + 24 * HOUR
    both = prices(price([5.0] * 24, first, last), price([9.0] * 96, first, last, step="PT15M"))
    series = fetched(both, first=first, last=last)
    assert len(series.rows) == 96
    assert set((series.rows.value * 1000).round(6)) == {kept}


@responses.activate
def test_a_change_of_resolution_within_one_answer():
    change = datetime(2025, 9, 30, 22, tzinfo=UTC)
    first, last = change - 24 * HOUR, change + 24 * HOUR
    series = fetched(
        prices(price([5.0] * 24, first, change), price([9.0] * 96, change, last, step="PT15M")),
        first=first,
        last=last,
    )
    rows = series.rows.set_index("t_start")
    assert rows.value[change - QUARTER] == 0.005
    assert rows.value[change] == 0.009


@responses.activate
def test_the_mix_by_hand_without_pumps_and_storage():
    document = entsoe_document(
        entsoe_series(DAY, NEXT, [300] * 96, step="PT15M", psr="B04"),
        entsoe_series(DAY, NEXT, {1: 650}, curve="A03", psr="B19"),
        entsoe_series(DAY, NEXT, [-50] * 24, psr="B14"),
        entsoe_series(DAY, NEXT, [50] * 24, psr="B18"),
        entsoe_series(DAY, NEXT, [800] * 24, psr="B10"),
        entsoe_series(DAY, NEXT, [999] * 24, psr="B04", consumed=True),
    )
    series = fetched(document, "carbon", basis="lifecycle")
    assert len(series.rows) == 96
    assert series.rows.value.tolist() == pytest.approx([0.3 * 490 + 0.7 * 11] * 96)
    assert series.source == "ENTSO-E DE-LU, mix x lifecycle-ipcc2014/1"


@responses.activate
def test_wind_and_sun_ahead_in_kilowatts():
    document = entsoe_document(
        entsoe_series(DAY, NEXT, [100] * 96, step="PT15M", psr="B18"),
        entsoe_series(DAY, NEXT, [200] * 24, psr="B19"),
        entsoe_series(DAY, NEXT, [7] * 24, psr="B16"),
    )
    wind = fetched(document, "wind_generation")
    assert (wind.unit, set(wind.rows.value), set(wind.rows.kind)) == ("kW", {300_000.0}, {"forecast"})
    assert set(opened("entsoe").fetch("solar_generation", "DE-LU", DAY, NEXT).rows.value) == {7000.0}
    asked = responses.calls[0].request.params
    assert (asked["documentType"], asked["processType"]) == ("A69", "A01")


@responses.activate
def test_a_type_that_is_told_twice_is_not_added_twice():
    alike = entsoe_series(DAY, NEXT, [100] * 24, psr="B19")
    both = fetched(entsoe_document(alike, alike, entsoe_series(DAY, NEXT, [50] * 24, psr="B18")), "wind_generation")
    assert (set(both.rows.value), set(both.rows["flags"])) == ({150_000.0}, {"duplicate_resolved"})
    responses.reset()
    other = entsoe_series(DAY, NEXT, [105] * 96, step="PT15M", psr="B19")
    with pytest.raises(SchemaChanged, match="wind_generation of DE-LU: B19 at 2026-03-02T23:00:00Z is 100 and 105"):
        fetched(entsoe_document(alike, other), "wind_generation")


@responses.activate
@pytest.mark.parametrize("signal", ["price", "carbon"])
def test_a_position_that_stands_twice_alike_is_flagged(signal):
    once = price([5.0] * 24) if signal == "price" else entsoe_series(DAY, NEXT, [5.0] * 24, psr="B04")
    point = once[once.index("<Point>") : once.index("</Point>") + len("</Point>")]
    document = (
        prices(once.replace(point, point * 2)) if signal == "price" else entsoe_document(once.replace(point, point * 2))
    )
    rows = fetched(document, signal).rows
    assert rows["flags"].tolist() == ["duplicate_resolved"] + [""] * 23


@responses.activate
def test_all_generation_ahead():
    series = fetched(entsoe_document(entsoe_series(DAY, NEXT, [50_000] * 24)), "generation")
    assert set(series.rows.value) == {5e7}
    assert responses.calls[0].request.params["documentType"] == "A71"


@responses.activate
@pytest.mark.parametrize("answer", [acknowledgement(), (400, acknowledgement()), prices()])
def test_nothing_is_nothing_whatever_the_status(answer):
    serving(responses, URL, lambda p: answer)
    with pytest.raises(DataUnavailable, match="ENTSO-E has no price of DE-LU from 2026-03-02T23") as caught:
        opened("entsoe").fetch("price", "DE-LU", DAY, NEXT)
    assert not isinstance(caught.value, SchemaChanged)


@responses.activate
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"PK\x03\x04zip", "of a ZIP archive for price of DE-LU where XML is agreed"),
        ("<html><body>maintenance</body></html>", "it is a html"),
        (acknowledgement("Delivered time interval is not valid", "999"), "it is a refusal: 999 Delivered time"),
        (prices(price([1.0] * 24, step="P7D")), "in steps of 'P7D'"),
        (prices(price({10**30: 1.0})), "a position of the period from 2026-03-02T23:00Z is '1000000"),
        (prices(price([1.0] * 24).replace("2026-03-03T23", "2199-03-03T23")), "to 2199-03-03T23:00Z is in steps of"),
        (prices(price([1.0] * 24, sequence="one")), "the number of its auction is 'one'"),
        (prices(price([1.0] * 25)), "position 25 lies outside the 24 of the period from 2026-03-02T23:00Z"),
        (prices(price([1.0] * 24).replace(">EUR<", ">PLN<")), "its unit is 'PLN/MWH', agreed is 'EUR/MWH'"),
        (prices(price({1: "lots"})), "the value of 2026-03-02T23:00Z is 'lots'"),
        (prices(price([1.0] * 24, curve="A02")), "its curve type is 'A02'"),
        (prices(price({1: 1.0}), price({1: 2.0})), "two rows start at the same time and differ"),
        (prices(price([9.0] * 24).replace("2026", "2062")), "has a row of 2062-03-02T23:00Z; asked was"),
        (prices(price({1: 1.0}).replace("<Point>", "<Point><position>1</position></Point><Point>")), None),
    ],
)
def test_another_shape_is_named_with_its_first_bad_row(answer, told, tmp_path):
    serving(responses, URL, lambda p: answer)
    source = opened("entsoe", ResponseCache(tmp_path))
    if told is None:
        with pytest.raises(SchemaChanged, match="is both nan and 1"):
            source.fetch("price", "DE-LU", DAY, NEXT)
        return
    with pytest.raises(SchemaChanged) as caught:
        source.fetch("price", "DE-LU", DAY, NEXT)
    assert told in str(caught.value)
    assert "ENTSO-E" in str(caught.value)
    assert "DE-LU" in str(caught.value)


@responses.activate
def test_the_token_stays_hidden_also_where_the_platform_repeats_it(tmp_path, caplog):
    caplog.set_level("DEBUG")
    said = f"Unauthorized. Token {KEYS['GRIDPACE_ENTSOE_KEY']} is not known"
    serving(responses, URL, lambda p: (401, acknowledgement(said)))
    with pytest.raises(AuthError) as caught:
        opened("entsoe", ResponseCache(tmp_path)).fetch("price", "DE-LU", DAY, NEXT)
    assert "Token *** is not known" in str(caught.value)
    assert "tops3cret" not in str(caught.value) + caplog.text
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()]


def test_zones_are_those_of_entsoe_py():
    assert area_code("DE-LU") == "10Y1001A1001A82H"
    assert area_code("NO2") == area_code("NO-2") == "10YNO-2--------T"
    with pytest.raises(ConfigError, match=r"ENTSO-E has no zone 'DE-LX'") as caught:
        area_code("DE-LX")
    assert 'did you mean "DE-LU"' in caught.value.fix


def test_our_reading_is_entsoe_pys_where_that_is_sound():
    from entsoe.parsers import parse_prices

    from planner.sources.answers import ET
    from planner.sources.entsoe_xml import curves

    text = prices(price([float(h) for h in range(24)], curve="A03"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it reads XML as HTML
        theirs = parse_prices(text)["60min"]
    (ours,) = curves(ET.fromstring(text), "ENTSO-E: price of DE-LU")
    assert ours.rows.value.tolist() == theirs.tolist()
    assert ours.rows.t_start.tolist() == theirs.index.tz_convert("UTC").tolist()


def test_without_entsoe_py_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("planner.sources.entsoe.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs entsoe-py, which is not installed") as caught:
        opened("entsoe")
    assert caught.value.fix == "pip install 'gridpace[entsoe]'"


def test_what_it_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="has no dry_bulb"):
        opened("entsoe").fetch("dry_bulb", "DE-LU", DAY, NEXT)


# --- pages ------------------------------------------------------------------------------------------------------------


def hundred(first, count=100):
    """That many series of 15 minutes each, from `first` on."""
    starts = [first + i * QUARTER for i in range(count)]
    return prices(*(price([float(i)], t, t + QUARTER, step="PT15M") for i, t in enumerate(starts)))


@responses.activate
@pytest.mark.parametrize("last", [acknowledgement(), (400, acknowledgement())])
def test_a_document_of_a_hundred_series_is_followed_by_the_next(last):
    later = hundred(DAY + 100 * QUARTER, 44)
    pages = {None: hundred(DAY), "100": later}
    serving(responses, URL, lambda p: pages.get(p.get("offset"), last))
    series = opened("entsoe").fetch("price", "DE-LU", DAY, DAY + 144 * QUARTER)
    assert len(series.rows) == 144
    assert [call.request.params.get("offset") for call in responses.calls] == [None, "100"]
    responses.reset()
    pages["100"] = hundred(DAY + 100 * QUARTER)
    serving(responses, URL, lambda p: pages.get(p.get("offset"), last))
    assert len(opened("entsoe").fetch("price", "DE-LU", DAY, DAY + 196 * QUARTER).rows) == 196
    assert [call.request.params.get("offset") for call in responses.calls] == [None, "100", "200"]


@responses.activate
def test_a_document_that_holds_more_than_a_page_is_whole():
    serving(responses, URL, lambda p: hundred(DAY, 144))
    assert len(opened("entsoe").fetch("price", "DE-LU", DAY, DAY + 144 * QUARTER).rows) == 144
    assert len(responses.calls) == 1


@responses.activate
def test_the_types_of_a_mix_may_stand_on_two_pages():
    gas = [entsoe_series(DAY + i * QUARTER, DAY + (i + 1) * QUARTER, [300], "PT15M", psr="B04") for i in range(100)]
    wind = entsoe_series(DAY, DAY + 100 * QUARTER, [700] * 100, "PT15M", psr="B19")
    pages = {None: entsoe_document(*gas), "100": entsoe_document(wind)}
    serving(responses, URL, lambda p: pages[p.get("offset")])
    rows = opened("entsoe", now=NEXT + timedelta(days=1)).fetch("carbon", "DE-LU", DAY, DAY + 100 * QUARTER).rows
    assert set(rows.value.round(6)) == {111.0}


@responses.activate
def test_a_platform_that_does_not_turn_pages_is_not_asked_for_ever():
    serving(responses, URL, lambda p: hundred(DAY))
    assert len(opened("entsoe").fetch("price", "DE-LU", DAY, DAY + 100 * QUARTER).rows) == 100
    assert len(responses.calls) == 2
