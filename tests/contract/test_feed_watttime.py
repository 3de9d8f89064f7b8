"""WattTime: marginal values in its shape, its login, and the traps of each."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import AuthError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import KEYS, NOW, moer_answer, moment, opened, serving

LOGIN = "https://api.watttime.org/login"
PAST = re.compile(r"https://api\.watttime\.org/v3/historical.*")
AHEAD = re.compile(r"https://api\.watttime\.org/v3/forecast.*")
START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
THIS_HOUR = datetime(2026, 3, 4, 12, tzinfo=UTC)
FIVE = timedelta(minutes=5)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def serve(**meta):
    responses.add(responses.GET, LOGIN, json={"token": "t0ken-tops3cret"})
    serving(responses, PAST, lambda p: moer_answer(moment(p["start"]), min(moment(p["end"]) + FIVE, THIS_HOUR), **meta))
    serving(responses, AHEAD, lambda p: moer_answer(THIS_HOUR, THIS_HOUR + timedelta(hours=72), **meta))


@responses.activate
def test_pounds_per_megawatt_hour_become_grams_and_stay_marginal():
    serve()
    series = opened("watttime").fetch("carbon", "CAISO_NORTH", START, END)
    assert (series.basis, series.unit) == ("marginal", "gCO2e/kWh")
    assert series.rows.value.iloc[0] == pytest.approx(800 * 0.45359237)
    assert series.rows.t_start.iloc[0] == START
    assert series.rows.t_end.iloc[-1] == THIS_HOUR + timedelta(hours=72)
    assert ((series.rows.t_end - series.rows.t_start) == FIVE).all()
    assert set(series.rows.kind[series.rows.t_start >= THIS_HOUR]) == {"forecast"}
    assert series.issued_at == datetime(2026, 3, 4, 12, 5, tzinfo=UTC)


@responses.activate
def test_one_login_serves_all_requests_and_its_token_is_kept_nowhere(tmp_path, caplog):
    caplog.set_level("DEBUG")
    serve()
    source = opened("watttime", ResponseCache(tmp_path))
    source.fetch("carbon", "CAISO_NORTH", START, END)
    source.fetch("carbon", "CAISO_NORTH", START - timedelta(days=60), END)
    logins = [call.request for call in responses.calls if call.request.url == LOGIN]
    assert len(logins) == 1
    assert base64.b64decode(logins[0].headers["Authorization"].removeprefix("Basic ")) == b"me:wt-tops3cret"
    others = [call.request for call in responses.calls if call.request.url != LOGIN]
    assert {request.headers["Authorization"] for request in others} == {"Bearer t0ken-tops3cret"}
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()]
    assert "tops3cret" not in caplog.text + repr(source)


@responses.activate
def test_a_token_is_fetched_anew_before_it_ends():
    serve()
    source = opened("watttime")
    for minutes in (0, 24, 26):
        object.__setattr__(source.http, "clock", lambda m=minutes: NOW + timedelta(minutes=m))
        source.fetch("carbon", "CAISO_NORTH", START, END)
    assert len([call for call in responses.calls if call.request.url == LOGIN]) == 2


@responses.activate
@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({"units": "kg_co2_per_mwh"}, "its unit is 'kg_co2_per_mwh'"),
        ({"signal_type": "co2_aoer"}, "its signal is 'co2_aoer', asked was 'co2_moer'"),
        ({"region": "ERCOT_NORTH"}, "its region is 'ERCOT_NORTH'"),
        ({"data_point_period_seconds": 3600}, "its step in seconds is 3600, asked was 300"),
        ({"generated_at": "today"}, "time 'today' is no ISO 8601 stamp"),
    ],
)
def test_another_meaning_is_named(meta, told):
    responses.add(responses.GET, LOGIN, json={"token": "t"})
    serving(responses, AHEAD, lambda p: {**(a := moer_answer(THIS_HOUR, END)), "meta": {**a["meta"], **meta}})
    with pytest.raises(SchemaChanged, match=told):
        opened("watttime").fetch("carbon", "CAISO_NORTH", NOW, END)


@responses.activate
def test_a_bad_login_and_an_outage_are_told_apart(monkeypatch):
    responses.add(responses.GET, LOGIN, json={"error": "Unauthorized"}, status=401)
    with pytest.raises(AuthError, match="WattTime answered 401 for a token"):
        opened("watttime").fetch("carbon", "CAISO_NORTH", START, END)
    responses.replace(responses.GET, LOGIN, body="down", status=400)
    with pytest.raises(DataUnavailable) as caught:
        opened("watttime").fetch("carbon", "CAISO_NORTH", START, END)
    assert not isinstance(caught.value, AuthError)
    responses.replace(responses.GET, LOGIN, json={})
    with pytest.raises(SchemaChanged, match="the login gives none"):
        opened("watttime").fetch("carbon", "CAISO_NORTH", START, END)
    monkeypatch.setenv("GRIDPACE_WATTTIME_KEY", "nocolon")
    with pytest.raises(AuthError, match="write it as user:password"):
        opened("watttime").fetch("carbon", "CAISO_NORTH", START, END)
