"""Electricity Maps: the past and the forecast in its shape, and the traps of each."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import AuthError, ConfigError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import HOUR, KEYS, NOW, em_ahead, em_past, moment, opened, serving

PAST = re.compile(r"https://api\.electricitymaps\.com/v4/carbon-intensity/past-range.*")
AHEAD = re.compile(r"https://api\.electricitymaps\.com/v4/carbon-intensity/forecast.*")
START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
THIS_HOUR = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def serve(past=None, ahead=None):
    def known(params, **kw):
        return em_past(moment(params["start"]), min(moment(params["end"]), NOW), **kw)

    serving(responses, PAST, lambda p: known(p) if past is None else past(p, known))
    serving(responses, AHEAD, lambda p: em_ahead(THIS_HOUR) if ahead is None else ahead(p))


@responses.activate
def test_the_past_then_the_forecast_with_what_each_is():
    serve()
    series = opened("electricity-maps").fetch("carbon", "DE", START, END)
    rows = series.rows.set_index("t_start")
    assert (rows.index[1:] - rows.index[:-1] == HOUR).all()
    assert rows.t_end.iloc[-1] == THIS_HOUR + 73 * HOUR  # one point more than hours were asked for
    assert rows.value[THIS_HOUR - HOUR] == 211
    assert rows.value[THIS_HOUR] == 312
    assert set(rows.kind[rows.index >= THIS_HOUR]) == {"forecast"}
    past = rows[rows.index < THIS_HOUR]
    assert set(past["flags"][past.index.hour == 3]) == {"estimated"}
    assert set(past.kind[past.index.hour == 3]) == {"modelled"}
    assert set(past.kind[past.index.hour != 3]) == {"actual"}
    assert series.issued_at == datetime(2026, 3, 4, 12, 5, tzinfo=UTC)
    assert (series.basis, series.unit) == ("direct", "gCO2e/kWh")


@responses.activate
def test_what_is_asked_says_basis_and_forbids_a_lookup_by_caller():
    serve(ahead=lambda p: em_ahead(THIS_HOUR), past=lambda p, known: known(p, basis="lifecycle"))
    opened("electricity-maps", basis="lifecycle").fetch("carbon", "DE", START, END)
    for call in responses.calls:
        assert call.request.params["emissionFactorType"] == "lifecycle"
        assert call.request.params["disableCallerLookup"] == "true"
        assert call.request.headers["auth-token"] == KEYS["GRIDPACE_ELECTRICITY_MAPS_KEY"]
        assert "tops3cret" not in call.request.url
        if "start" in call.request.params:
            assert moment(call.request.params["end"]) - moment(call.request.params["start"]) <= timedelta(days=10)


@responses.activate
@pytest.mark.parametrize(
    ("past", "told"),
    [
        (lambda p, known: known(p, zone="FR"), "its zone is 'FR', asked was 'DE'"),
        (lambda p, known: known(p, basis="lifecycle"), "its basis is 'lifecycle', asked was 'direct'"),
        (lambda p, known: {"zone": "DE"}, "it has no list 'data'"),
        (lambda p, known: {**known(p), "temporalGranularity": "15_minutes"}, "its resolution is '15_minutes'"),
        (lambda p, known: known(p, datetime="2026-03-01T00:00:00"), "no ISO 8601 stamp with an offset"),
        (lambda p, known: known(p, datetime="2026-03-01T00:20:00Z"), "does not start with an hour"),
        (lambda p, known: known(p, carbonIntensity="high"), "carbonIntensity is 'high', which is no number"),
        (lambda p, known: known(p, carbonIntensity=99_000), "carbon is 99000 gCO2e/kWh; possible are 0 to 1500"),
    ],
)
def test_another_meaning_is_named(past, told):
    serve(past=past)
    with pytest.raises(SchemaChanged, match=told):
        opened("electricity-maps").fetch("carbon", "DE", START, END)


@responses.activate
def test_a_null_is_a_gap_and_an_empty_past_leaves_the_forecast():
    serve(
        ahead=lambda p: em_ahead(THIS_HOUR, value=lambda t: None if t.hour == 5 else 300),
        past=lambda p, _: em_past(NOW, NOW),
    )
    rows = opened("electricity-maps").fetch("carbon", "DE", START, END).rows
    assert rows.t_start.iloc[0] == THIS_HOUR
    assert 5 not in set(rows.t_start.dt.hour)
    assert set(rows.value) == {300}


@responses.activate
@pytest.mark.parametrize("said", [{"message": "Token unauthorized for zoneKey"}, {"error": "Endpoint not available"}])
def test_a_refused_key_says_so(said, tmp_path):
    serve(past=lambda p, known: (401, said))
    with pytest.raises(AuthError, match=f"why: {next(iter(said.values()))}"):
        opened("electricity-maps", ResponseCache(tmp_path)).fetch("carbon", "DE", START, END)
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()]


@responses.activate
def test_a_week_beyond_its_forecast_asks_nobody():
    with pytest.raises(DataUnavailable, match="it forecasts 72 h ahead"):
        opened("electricity-maps").fetch("carbon", "DE", NOW + timedelta(days=9), NOW + timedelta(days=16))
    with pytest.raises(ConfigError, match="has no price"):
        opened("electricity-maps").fetch("price", "DE", START, END)
    with pytest.raises(ConfigError, match="version is 'v5'"):
        opened("electricity-maps", version="v5")


@responses.activate
def test_the_older_interface_on_demand():
    url = re.compile(r"https://api\.electricitymaps\.com/v3/carbon-intensity/.*")
    serving(responses, url, lambda p: em_ahead(THIS_HOUR))
    rows = opened("electricity-maps", version="v3").fetch("carbon", "DE", NOW, END).rows
    assert rows.t_start.iloc[0] == THIS_HOUR + HOUR
