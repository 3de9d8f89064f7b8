"""Energy-Charts: prices and mixes in its shape, and the traps of each."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import ConfigError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import HOUR, NOW, QUARTER, moment, opened, power_answer, price_answer, serving

PRICE = re.compile(r"https://api\.energy-charts\.info/price.*")
POWER = re.compile(r"https://api\.energy-charts\.info/public_power.*")
START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)
PUBLISHED = datetime(2026, 3, 4, 23, tzinfo=UTC)  # to the end of the local day


def until_published(params, build=price_answer, **kw):
    return build(moment(params["start"]), min(moment(params["end"]), PUBLISHED), **kw)


@responses.activate
def test_prices_per_kwh_to_the_end_of_what_is_published():
    serving(responses, PRICE, until_published)
    series = opened("energy-charts").fetch("price", "DE-LU", START, END)
    assert (series.unit, series.basis, series.fetched_at) == ("EUR/kWh", "", NOW)
    assert series.licence == "CC BY 4.0 from Bundesnetzagentur | SMARD.de"
    assert series.rows.t_start.iloc[0] == START
    assert series.rows.t_end.iloc[-1] == PUBLISHED
    assert series.rows.value.iloc[0] == 0.05
    assert set(series.rows.kind[series.rows.t_start < NOW]) == {"actual"}
    assert set(series.rows.kind[series.rows.t_start >= NOW]) == {"forecast"}
    assert {call.request.params["bzn"] for call in responses.calls} == {"DE-LU"}


@responses.activate
def test_the_change_from_hours_to_quarter_hours_within_one_answer():
    change = datetime(2025, 9, 30, 22, tzinfo=UTC)

    def both(params):
        a, b = (
            price_answer(first, last, step)
            for first, last, step in ((change - 24 * HOUR, change, HOUR), (change, change + 6 * HOUR, QUARTER))
        )
        return {**a, **{key: a[key] + b[key] for key in ("unix_seconds", "price")}}

    serving(responses, PRICE, both)
    series = opened("energy-charts").fetch("price", "DE-LU", change - 24 * HOUR, change + 6 * HOUR)
    lengths = (series.rows.t_end - series.rows.t_start).tolist()
    assert lengths == [HOUR] * 24 + [QUARTER] * 24


@responses.activate
def test_the_mix_times_factors_by_hand():
    serving(responses, POWER, lambda p: until_published(p, power_answer, Load=9999.0, Hydro_pumped_storage=500.0,
            Fossil_gas=300.0, Wind_onshore=600.0, Wind_offshore=100.0, Nuclear=None))  # fmt: skip
    series = opened("energy-charts", basis="lifecycle").fetch("carbon", "DE-LU", START, NOW)
    # 0.3 x 490 + 0.7 x 11; storage and load are no generation, and a type that is always null is none either
    assert series.rows.value.tolist() == pytest.approx([154.7] * len(series.rows))
    assert (series.basis, series.source) == ("lifecycle", "Energy-Charts DE-LU, mix of de x lifecycle-ipcc2014/1")
    assert set(series.rows["flags"]) == {""}
    assert responses.calls[0].request.params["country"] == "de"
    direct = opened("energy-charts").fetch("carbon", "DE-LU", START, NOW)
    assert direct.rows.value.tolist() == pytest.approx([111.0] * len(direct.rows))


@responses.activate
def test_a_type_without_a_name_is_told():
    def unnamed(params):
        answer = until_published(params, power_answer)
        answer["production_types"][0]["name"] = ["Fossil gas"]
        return answer

    serving(responses, POWER, unnamed)
    with pytest.raises(SchemaChanged, match="the name of a type of generation is \\['Fossil gas'\\]"):
        opened("energy-charts").fetch("carbon", "DE-LU", START, NOW)


@responses.activate
def test_a_null_of_a_large_type_is_a_gap_and_of_a_small_one_a_flag():
    at = datetime(2026, 3, 2, 6, tzinfo=UTC)
    serving(
        responses,
        POWER,
        lambda p: until_published(
            p,
            power_answer,
            Fossil_gas=lambda t: None if t == at else 300.0,
            Wind_onshore=690.0,
            Solar=lambda t: None if t == at + HOUR else 10.0,
        ),
    )
    rows = opened("energy-charts").fetch("carbon", "DE-LU", START, NOW).rows.set_index("t_start")
    assert at not in rows.index
    assert rows["flags"][at + HOUR] == "partial_mix"
    assert rows.value[at + HOUR] == pytest.approx(370.0 * 300.0 / 990.0)
    assert rows["flags"].value_counts().to_dict() == {"": len(rows) - 1, "partial_mix": 1}


@responses.activate
def test_a_type_nobody_knows_counts_as_unknown_and_is_flagged():
    serving(responses, POWER, lambda p: until_published(p, power_answer, Fusion=500.0, Solar=500.0))
    rows = opened("energy-charts").fetch("carbon", "DE-LU", START, NOW).rows
    assert set(rows["flags"]) == {"partial_mix"}
    assert rows.value.iloc[0] == pytest.approx(287.5)  # half of 575


@responses.activate
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"unit": "EUR / kWh"}, "its unit is 'EUR / kWh', agreed is 'EUR / MWh'"),
        ({"price": [1.0]}, "price does not have one value for each of its"),
        ({"unix_seconds": "soon"}, "it has no list 'unix_seconds'"),
        ({"unix_seconds": [5, 4]}, "the row of 1970-01-01T00:00:04Z does not come after the one before it"),
        ({"unix_seconds": [4, 4]}, "the row of 1970-01-01T00:00:04Z does not come after the one before it"),
        ({"unix_seconds": [4, "5"]}, "time 2 is '5', agreed are whole seconds since 1970"),
        ({"unix_seconds": [10**58]}, "time 1 is '1000000000"),
        ({"deprecated": True}, "out of use"),
    ],
)
def test_another_shape_is_named_and_not_kept(change, told, tmp_path):
    serving(responses, PRICE, lambda p: until_published(p) | change)
    with pytest.raises(SchemaChanged, match=told):
        opened("energy-charts", ResponseCache(tmp_path)).fetch("price", "DE-LU", START, END)
    with pytest.raises(DataUnavailable, match="no answer is kept"):
        opened("energy-charts", ResponseCache(tmp_path), offline=True).fetch("price", "DE-LU", START, END)


@responses.activate
def test_a_number_that_is_none_names_its_row():
    serving(responses, PRICE, lambda p: until_published(p, value=lambda t: "n/a?" if t.hour == 7 else 1.0))
    with pytest.raises(SchemaChanged, match=r"price of DE-LU, row of 2026-0\d-\d\dT07:00:00Z: price is 'n/a\?'"):
        opened("energy-charts").fetch("price", "DE-LU", START, END)


@responses.activate
def test_not_found_is_nothing_there_and_says_on_whom_it_stands():
    serving(responses, PRICE, lambda p: (404, {"detail": "no content found"}))
    with pytest.raises(DataUnavailable, match=r"Energy-Charts has no price of DE-LU from 2026-03-01") as caught:
        opened("energy-charts").fetch("price", "DE-LU", START, END)
    assert "ENTSO-E" in str(caught.value)


def test_what_it_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="has no dry_bulb"):
        opened("energy-charts").fetch("dry_bulb", "DE-LU", START, END)
    with pytest.raises(ConfigError, match="basis is 'marginal'"):
        opened("energy-charts", basis="marginal")


@responses.activate
def test_a_week_of_the_clocks_has_its_hours():
    for monday, hours in ((datetime(2026, 3, 22, 23, tzinfo=UTC), 167), (datetime(2026, 10, 18, 22, tzinfo=UTC), 169)):
        responses.reset()
        serving(responses, PRICE, lambda p: price_answer(moment(p["start"]), moment(p["end"]), HOUR))
        now = monday + timedelta(days=8)
        series = opened("energy-charts", now=now).fetch("price", "DE-LU", monday, monday + hours * HOUR)
        assert len(series.rows) == hours


@responses.activate
def test_a_mix_of_nulls_says_so_beside_what_it_stands_on():
    serving(responses, POWER, lambda p: until_published(p, power_answer, Fossil_gas=None, Wind_onshore=None))
    with pytest.raises(DataUnavailable, match="has no carbon of DE-LU") as caught:
        opened("energy-charts").fetch("carbon", "DE-LU", START, NOW)
    assert "every value of the mix is null" in caught.value.why
    assert "ENTSO-E" in caught.value.why


@responses.activate
def test_how_long_an_answer_is_fresh_depends_on_the_signal(tmp_path):
    serving(responses, PRICE, until_published)
    serving(responses, POWER, lambda p: until_published(p, power_answer))
    for minutes in (0, 20):
        source = opened("energy-charts", ResponseCache(tmp_path), now=NOW + timedelta(minutes=minutes))
        for signal in ("price", "carbon"):
            source.fetch(signal, "DE-LU", NOW - HOUR, NOW)
    asked = [call.request.url.split("?")[0].rsplit("/", 1)[1] for call in responses.calls]
    assert asked == ["price", "public_power", "public_power"]
