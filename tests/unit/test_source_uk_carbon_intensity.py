"""UK Carbon Intensity: shapes of answers, written here, and the traps of each."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import ConfigError, DataUnavailable, SchemaChanged, StaleData
from planner.sources import SourceSpec, open_source
from planner.sources.cache import ResponseCache

THE_ANSWER = "carbon of GB: the answer has not the agreed shape\nwhy: the answer is"
A_ROW = "carbon of GB: the answer has not the agreed shape\nwhy: a row is"
NOW = datetime(2024, 5, 13, 12, 10, tzinfo=UTC)
URL = re.compile(r"https://api\.carbonintensity\.org\.uk/.*")
FORM = "%Y-%m-%dT%H:%MZ"


def opened(cache=None, *, offline=False, now=NOW):
    return open_source(SourceSpec("uk-carbon-intensity"), cache=cache, offline=offline, clock=lambda: now)


def rows(first, last, value=lambda t: 100 + t.hour, known_until=NOW):
    out, t = [], first
    while t < last:
        actual = value(t) if t + timedelta(minutes=30) <= known_until else None
        intensity = {"forecast": value(t) + 7, "actual": actual, "index": "low"}
        out.append({"from": t.strftime(FORM), "to": (t + timedelta(minutes=30)).strftime(FORM), "intensity": intensity})
        t += timedelta(minutes=30)
    return out


def serve(mock, build):
    """Answer every request by `build(first, last)`, which gives the payload."""
    asked = []

    def reply(request):
        first, last = (
            datetime.strptime(t, FORM).replace(tzinfo=UTC) for t in request.url.split("/intensity/")[1].split("/")[:2]
        )
        asked.append((first, last))
        return 200, {}, json.dumps(build(first, last))

    mock.add_callback(responses.GET, URL, reply)
    return asked


def until_horizon(first, last):
    # The provider gives the half hour before the one asked for as well.
    return {"data": rows(first - timedelta(minutes=30), min(last, NOW + timedelta(hours=48)))}


START, END = datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 20, tzinfo=UTC)


@responses.activate
def test_measured_values_where_there_are_some_else_the_forecast():
    asked = serve(responses, until_horizon)
    series = opened().fetch("carbon", "GB", START, END)
    assert all(last - first <= timedelta(days=14) for first, last in asked)
    assert series.rows.t_start.iloc[0] == START
    assert series.rows.t_end.iloc[-1] == datetime(2024, 5, 15, 12, 0, tzinfo=UTC) + timedelta(minutes=30)
    assert (series.rows.t_start.diff().dropna() == timedelta(minutes=30)).all()
    assert set(series.rows["flags"]) == {""}
    past = series.rows.t_end <= NOW
    assert set(series.rows.kind[past]) == {"actual"}
    assert set(series.rows.kind[~past]) == {"forecast"}
    assert series.rows.value.iloc[0] == 100
    assert series.rows.value.iloc[-1] == 107 + 12
    assert (series.unit, series.basis, series.fetched_at) == ("gCO2e/kWh", "direct", NOW)
    assert responses.calls[0].request.headers["User-Agent"].startswith("gridpace/")


@responses.activate
def test_a_region_has_forecasts_only_and_its_data_as_an_object_or_a_list():
    for wrap in (lambda r: {"data": {"regionid": 13, "data": r}}, lambda r: {"data": [{"regionid": 13, "data": r}]}):
        responses.reset()

        def build(first, last, wrap=wrap):
            plain = rows(first, last)
            for row in plain:
                del row["intensity"]["actual"]
            return wrap(plain)

        serve(responses, build)
        series = opened().fetch("carbon", "GB-13", NOW - timedelta(days=1), NOW)
        assert set(series.rows.kind) == {"forecast"}
        assert "/regionid/13" in responses.calls[0].request.url


@responses.activate
@pytest.mark.parametrize("payload", [{"data": []}, {}, {"data": None}])
def test_a_good_status_without_data_is_no_data(payload):
    serve(responses, lambda first, last: payload)
    with pytest.raises(DataUnavailable, match=r"UK Carbon Intensity has no carbon of GB from 2024-05-01"):
        opened().fetch("carbon", "GB", START, END)


@responses.activate
def test_an_empty_window_is_a_gap_where_others_have_data():
    serve(responses, lambda first, last: {"data": []} if first.day == 2 else until_horizon(first, last))
    series = opened().fetch("carbon", "GB", START, END)
    assert series.rows.t_start.diff().max() == timedelta(days=7, minutes=30)


@responses.activate
def test_nulls_are_gaps_and_text_is_read_as_numbers():
    def build(first, last):
        data = rows(first, last)
        data[3]["intensity"] = {"forecast": None, "actual": None}
        data[4]["intensity"] = {"forecast": "266", "actual": None}
        return {"data": data[::-1]}

    serve(responses, build)
    first = datetime(2024, 5, 9, tzinfo=UTC)
    series = opened().fetch("carbon", "GB", first, first + timedelta(hours=4))
    assert len(series.rows) == 7
    assert series.rows.value.iloc[3] == 266.0


@responses.activate
@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([1, 2], THE_ANSWER),
        ({"data": "none today"}, THE_ANSWER),
        ({"data": [{"from": "2024-05-01T00:00Z"}]}, A_ROW),
        ({"data": [{"from": "2024-05-01 00:00", "to": "2024-05-01 00:30", "intensity": {"forecast": 1}}]}, A_ROW),
        ({"data": [{"from": "2024-05-01T00:00Z", "to": "2024-05-01T00:30Z", "intensity": 5}]}, A_ROW),
        (
            {"data": [{"from": "2024-05-01T00:00Z", "to": "2024-05-01T00:30Z", "intensity": {"forecast": 266_000}}]},
            "2024-05-01T00:00:00Z: carbon is 266000 gCO2e/kWh; possible are 0 to 1500",
        ),
    ],
)
def test_another_shape_is_named_and_not_kept(payload, message, tmp_path):
    serve(responses, lambda first, last: payload)
    cache = ResponseCache(tmp_path)
    with pytest.raises(SchemaChanged, match=message):
        opened(cache).fetch("carbon", "GB", START, END)
    with pytest.raises(DataUnavailable, match="no answer is kept"):
        opened(cache, offline=True).fetch("carbon", "GB", START, END)


@responses.activate
def test_an_error_answer_gives_its_reason():
    body = {"error": {"code": "400 Bad Request", "message": "Please enter a valid date"}}
    responses.add(responses.GET, URL, json=body, status=400)
    with pytest.raises(DataUnavailable, match=r"answered 400 for carbon of GB\nwhy: Please enter a valid date"):
        opened().fetch("carbon", "GB", START, END)


def test_a_week_beyond_the_horizon_asks_nobody():
    later = NOW + timedelta(days=7)
    with pytest.raises(DataUnavailable, match="it forecasts 48 h ahead"):
        opened().fetch("carbon", "GB", later, later + timedelta(days=7))


@pytest.mark.parametrize(
    ("signal", "zone"), [("price", "GB"), ("carbon", "DE"), ("carbon", "GB-18"), ("carbon", "GB-0")]
)
def test_what_it_does_not_have_is_refused(signal, zone):
    with pytest.raises(ConfigError, match=f"has no {signal} of {zone}"):
        opened().fetch(signal, zone, START, END)


@responses.activate
def test_kept_answers_are_fresh_then_stale_then_too_old(tmp_path):
    asked = serve(responses, until_horizon)
    cache = ResponseCache(tmp_path)
    new = opened(cache).fetch("carbon", "GB", START, END)
    count = len(asked)
    again = opened(cache, now=NOW + timedelta(minutes=20)).fetch("carbon", "GB", START, END)
    assert len(asked) == count
    assert again.rows.equals(new.rows)

    responses.reset()
    responses.add(responses.GET, URL, status=400)
    late = opened(cache, now=NOW + timedelta(hours=5)).fetch("carbon", "GB", START, END)
    assert late.fetched_at == NOW
    assert late.rows.value.equals(new.rows.value)
    stale = late.rows["flags"] == "stale"
    assert stale.any()
    assert not stale.all()  # settled weeks stay fresh
    assert set(late.rows.t_start[~stale] < datetime(2024, 5, 9, tzinfo=UTC)) == {True}

    with pytest.raises(
        StaleData, match=r"the last good answer .* is 192 h old; at most 168 h are allowed\nwhy: .* 400"
    ):
        opened(cache, now=NOW + timedelta(days=8)).fetch("carbon", "GB", START, END)


@responses.activate
def test_in_a_long_outage_a_window_never_seen_is_left_out(tmp_path):
    serve(responses, until_horizon)
    cache = ResponseCache(tmp_path)
    new = opened(cache).fetch("carbon", "GB", START, END)
    responses.reset()
    responses.add(responses.GET, URL, status=400)
    later = opened(cache, now=NOW + timedelta(days=6)).fetch("carbon", "GB", START, END + timedelta(days=7))
    assert later.rows.t_start.equals(new.rows.t_start)
    assert later.rows["flags"].iloc[-1] == "stale"


@responses.activate
def test_forecasts_kept_before_the_week_was_over_do_not_pass_for_its_settled_past(tmp_path):
    serve(responses, until_horizon)
    cache = ResponseCache(tmp_path)
    opened(cache).fetch("carbon", "GB", START, END)
    count = len(responses.calls)
    opened(cache, now=NOW + timedelta(days=30)).fetch("carbon", "GB", START, END)
    asked = [call.request.url.split("/intensity/")[1][:10] for call in list(responses.calls)[count:]]
    assert asked == ["2024-05-09", "2024-05-16"]


@responses.activate
def test_an_empty_answer_is_replaced_by_the_last_good_one(tmp_path):
    serve(responses, until_horizon)
    cache = ResponseCache(tmp_path)
    opened(cache).fetch("carbon", "GB", START, END)
    responses.reset()
    serve(responses, lambda first, last: {"data": []})
    series = opened(cache, now=NOW + timedelta(hours=1)).fetch("carbon", "GB", START, END)
    assert (series.rows["flags"] == "stale").any()


def mixed(first, last, mix):
    return [
        {
            "from": (first + i * timedelta(minutes=30)).strftime(FORM),
            "to": (first + (i + 1) * timedelta(minutes=30)).strftime(FORM),
            "generationmix": [{"fuel": fuel, "perc": perc} for fuel, perc in mix.items()],
        }
        for i in range(int((last - first) / timedelta(minutes=30)))
    ]


MIX = {"gas": 30.0, "wind": 50, "imports": 10.0, "nuclear": "10", "coal": 0}


@responses.activate
def test_the_lifecycle_is_made_of_the_national_mix_without_imports():
    rows = mixed(START, NOW.replace(hour=9, minute=0), MIX)
    responses.add(responses.GET, re.compile(r".*/generation/.*"), json={"data": rows})
    source = open_source(SourceSpec("uk-carbon-intensity", {"basis": "lifecycle"}), clock=lambda: NOW)
    series = source.fetch("carbon", "GB", START, END)
    by_hand = (30 * 490 + 50 * 11 + 10 * 12) / 90
    assert series.rows.value.tolist() == pytest.approx([by_hand] * len(rows))
    assert (series.basis, set(series.rows.kind), set(series.rows["flags"])) == ("lifecycle", {"actual"}, {""})
    assert series.source == "UK Carbon Intensity GB, mix x lifecycle-ipcc2014/1"


@responses.activate
def test_a_regions_mix_reaches_into_its_forecast():
    rows = mixed(NOW.replace(hour=0, minute=0), NOW.replace(minute=0) + timedelta(hours=48), MIX)
    responses.add(responses.GET, re.compile(r".*/regionid/13"), json={"data": {"regionid": 13, "data": rows}})
    source = open_source(SourceSpec("uk-carbon-intensity", {"basis": "lifecycle"}), clock=lambda: NOW)
    series = source.fetch("carbon", "GB-13", NOW.replace(hour=0, minute=0), END)
    assert set(series.rows.kind[series.rows.t_start >= NOW]) == {"forecast"}
    assert series.rows.t_end.iloc[-1] == NOW.replace(minute=0) + timedelta(hours=48)


@responses.activate
@pytest.mark.parametrize(
    ("mix", "told"),
    [
        (None, A_ROW),
        ([{"fuel": "gas"}], A_ROW),
        ([{"fuel": "gas", "perc": "lots"}], "carbon of GB, gas of 2024-05-01T00:00Z: the share is 'lots'"),
        ("gas", A_ROW),
    ],
)
def test_a_mix_of_another_shape_is_named(mix, told):
    row = {"from": "2024-05-01T00:00Z", "to": "2024-05-01T00:30Z", "generationmix": mix}
    responses.add(responses.GET, re.compile(r".*/generation/.*"), json={"data": [row]})
    source = open_source(SourceSpec("uk-carbon-intensity", {"basis": "lifecycle"}), clock=lambda: NOW)
    with pytest.raises(SchemaChanged, match=told):
        source.fetch("carbon", "GB", START, END)
