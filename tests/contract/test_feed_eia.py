"""EIA: generation by fuel in its shape, and the traps of it."""

from __future__ import annotations

import itertools
import random
import re
from datetime import UTC, datetime

import pandas as pd
import pytest
import responses

from planner.errors import AuthError, ConfigError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import HOUR, KEYS, NOW, eia_answer, moment, opened, serving

URL = re.compile(r"https://api\.eia\.gov/v2/electricity/rto/fuel-type-data/data/.*")
START, END = datetime(2026, 3, 1, 6, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)
KNOWN = datetime(2026, 3, 4, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def until_known(params, **kw):
    """What the hours of a request hold: its stamps are ends of hours."""
    return eia_answer(moment(params["start"]) - HOUR, min(moment(params["end"]), KNOWN), **kw)


@responses.activate
def test_a_stamp_is_the_end_of_its_hour():
    noon = datetime(2026, 3, 2, 20, tzinfo=UTC)
    serving(responses, URL, lambda p: until_known(p, fuels={"NG": 250, "SUN": lambda t: "9750" if t == noon else 750}))
    rows = opened("eia").fetch("carbon", "CISO", START, END).rows.set_index("t_start")
    assert rows.value.idxmin() == noon  # stamped 21:00 by the provider
    assert rows.value[noon] == pytest.approx(0.025 * 370)
    assert rows.index[0] == START
    assert rows.t_end.iloc[-1] == KNOWN
    assert set(rows.kind) == {"actual"}


@responses.activate
def test_the_mix_by_hand_without_storage_and_with_text_for_numbers():
    serving(
        responses, URL, lambda p: until_known(p, fuels={"COL": "100", "NG": 200, "SUN": -3, "WND": "700", "BAT": 900})
    )
    series = opened("eia", basis="lifecycle").fetch("carbon", "CISO", START, END)
    assert series.rows.value.tolist() == pytest.approx([0.1 * 820 + 0.2 * 490 + 0.7 * 11] * len(series.rows))
    assert (series.basis, series.source) == ("lifecycle", "EIA CISO, mix x lifecycle-ipcc2014/1")


@responses.activate
def test_a_null_is_no_zero():
    at = datetime(2026, 3, 2, 6, tzinfo=UTC)
    serving(responses, URL, lambda p: until_known(p, fuels={"NG": lambda t: None if t == at else 250, "SUN": 750}))
    rows = opened("eia").fetch("carbon", "CISO", START, END).rows
    assert at not in set(rows.t_start)
    assert set(rows.value) == {92.5}


@responses.activate
@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda p: until_known(p, total="9999"), r"it holds \d+ of 9999 rows"),
        (lambda p: until_known(p, total="many"), "its total is 'many'"),
        (lambda p: until_known(p, data="none"), "it has no list 'data'"),
        (lambda p: {"error": "no"}, "it has no list 'data'"),
        (lambda p: until_known(p, zone="ERCO"), "its respondent is 'ERCO', asked was 'CISO'"),
        (lambda p: until_known(p, fuels={"NG": "lots"}), "NG of the hour until 2026-02-26T01: generation is 'lots'"),
    ],
)
def test_another_shape_is_named(build, told):
    serving(responses, URL, build)
    with pytest.raises(SchemaChanged, match=told):
        opened("eia").fetch("carbon", "CISO", START, END)


@responses.activate
def test_another_unit_or_stamp_is_named():
    for key, value, told in (
        ("value-units", "megawatts", "its unit is 'megawatts'"),
        ("period", "2026-03-01", "no hour"),
    ):
        responses.reset()

        def build(params, key=key, value=value):
            answer = until_known(params)
            answer["response"]["data"][5][key] = value
            return answer

        serving(responses, URL, build)
        with pytest.raises(SchemaChanged, match=told):
            opened("eia").fetch("carbon", "CISO", START, END)


@responses.activate
def test_a_jump_of_a_thousand_is_found_although_shares_hide_it():
    at = datetime(2026, 3, 2, 6, tzinfo=UTC)

    def grown(mw):
        return lambda t: mw * 1000 if t >= at else mw

    serving(responses, URL, lambda p: until_known(p, fuels={"NG": grown(250), "SUN": grown(750)}))
    with pytest.raises(SchemaChanged, match=r"all generation at 2026-0\d-\d\dT.* where"):
        opened("eia").fetch("carbon", "CISO", START, END)


@responses.activate
def test_the_key_goes_out_and_stays_out_of_all_else(tmp_path):
    serving(responses, URL, lambda p: {**until_known(p), "request": {"params": {"api_key": p["api_key"]}}})
    opened("eia", ResponseCache(tmp_path)).fetch("carbon", "CISO", START, END)
    assert responses.calls[0].request.params["api_key"] == KEYS["GRIDPACE_EIA_KEY"]
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()]
    count = len(responses.calls)
    kept = opened("eia", ResponseCache(tmp_path), offline=True).fetch("carbon", "CISO", START, END)
    assert len(responses.calls) == count
    assert len(kept.rows) == (KNOWN - START) / HOUR


@responses.activate
def test_no_key_and_a_refused_key(monkeypatch):
    serving(responses, URL, lambda p: (403, {"error": {"code": "API_KEY_INVALID", "message": "An invalid api_key"}}))
    with pytest.raises(AuthError, match="answered 403 for carbon of CISO\nwhy: An invalid api_key"):
        opened("eia").fetch("carbon", "CISO", START, END)
    monkeypatch.delenv("GRIDPACE_EIA_KEY")
    with pytest.raises(AuthError, match="EIA needs a key, and none is there"):
        opened("eia").fetch("carbon", "CISO", START, END)


@responses.activate
def test_no_rows_are_nothing_there():
    serving(responses, URL, lambda p: eia_answer(NOW, NOW))
    with pytest.raises(DataUnavailable, match="EIA has no carbon of CISO from"):
        opened("eia").fetch("carbon", "CISO", START, END)
    with pytest.raises(ConfigError, match="has no price"):
        opened("eia").fetch("price", "CISO", START, END)


# --- pages ------------------------------------------------------------------------------------------------------------

FUELS = {"NG": 250, "SUN": 500, **{f"X{i:02d}": 25 / 3 for i in range(30)}}  # 32 types x 168 hours are 5,376 rows
FULL = 5000


def paged(rows_of, total=str, page=FULL):
    """Serves the rows of `rows_of(parameters)` a page at a time."""

    def build(params):
        answer = rows_of(params)
        rows, offset = answer["response"]["data"], int(params["offset"])
        cut = {**answer["response"], "total": total(len(rows)), "data": rows[offset : offset + page]}
        return {**answer, "response": cut}

    return build


def whole_week(params):
    return eia_answer(moment(params["start"]) - HOUR, moment(params["end"]), fuels=FUELS)


WEEK = datetime(2026, 2, 26, tzinfo=UTC), datetime(2026, 3, 5, tzinfo=UTC)


def fetched_week(cache=None, **kw):
    return opened("eia", cache, now=WEEK[1], **kw).fetch("carbon", "CISO", *WEEK)


@responses.activate
@pytest.mark.parametrize(("total", "page"), [(str, FULL), (int, FULL), (str, 3000), (lambda n: None, FULL)])
def test_a_week_of_more_than_a_page_is_read_whole(total, page):
    serving(responses, URL, paged(whole_week, total, page))
    series = fetched_week()
    assert len(series.rows) == 168
    assert series.rows.value.tolist() == pytest.approx([0.25 * 370 + 0.25 * 575] * 168)
    assert set(series.rows["flags"]) == {"partial_mix"}  # types that nobody knows
    offsets = [int(call.request.params["offset"]) for call in responses.calls]
    assert offsets == list(range(0, 5376, page))
    assert {call.request.params["length"] for call in responses.calls} == {"5000"}
    order = {call.request.params["sort[1][column]"] for call in responses.calls}
    assert order == {"fueltype"}  # else rows of one hour could stand on two pages or on none


@responses.activate
def test_rows_in_any_order_make_the_same_series():
    def shuffled(params):
        answer = whole_week(params)
        random.Random(5).shuffle(answer["response"]["data"])
        return answer

    serving(responses, URL, paged(shuffled))
    mixed = fetched_week().rows
    responses.reset()
    serving(responses, URL, paged(whole_week))
    pd.testing.assert_frame_equal(mixed, fetched_week().rows)


@responses.activate
def test_rows_that_stand_twice_do_not_hide_those_that_stand_nowhere():
    def moved(params):
        answer = whole_week(params)
        rows = answer["response"]["data"]
        rows[FULL:] = rows[FULL - 1 : -1]  # between two pages a row came in before the edge
        return answer

    serving(responses, URL, paged(moved))
    with pytest.raises(SchemaChanged, match="it holds 5375 of 5376 rows"):
        fetched_week()


@responses.activate
def test_a_total_that_changes_between_pages_begins_anew_and_once_only():
    totals = iter([5376, 5377, 5377, 5377])

    def build(params):
        answer = eia_answer(moment(params["start"]) - HOUR, moment(params["end"]), fuels=FUELS)
        rows = answer["response"]["data"]
        if len(responses.calls) > 1:
            rows.append({**rows[-1], "fueltype": "WND", "value": "0"})
        offset = int(params["offset"])
        answer["response"] |= {"total": str(next(totals)), "data": rows[offset : offset + FULL]}
        return answer

    serving(responses, URL, build)
    assert len(fetched_week().rows) == 168
    assert [call.request.params["offset"] for call in responses.calls] == ["0", "5000"] * 2
    responses.reset()
    counted = itertools.count(5376)
    serving(responses, URL, paged(whole_week, total=lambda n: next(counted)))
    with pytest.raises(
        DataUnavailable, match="EIA changes its answer for carbon of CISO while its pages are read"
    ) as e:
        fetched_week()
    assert e.value.why == "of 5378 rows there are now 5379"


@responses.activate
def test_pages_are_kept_and_served_alone_and_one_that_is_gone_is_no_short_answer(tmp_path):
    cache = ResponseCache(tmp_path)
    serving(responses, URL, paged(whole_week))
    fetched_week(cache)
    count = len(responses.calls)
    assert len(fetched_week(cache, offline=True).rows) == 168
    assert len(responses.calls) == count
    responses.reset()
    serving(responses, URL, lambda p: paged(whole_week)(p) if p["offset"] == "0" else (500, "no"))
    with pytest.raises(DataUnavailable, match="answered 500"):
        fetched_week()
