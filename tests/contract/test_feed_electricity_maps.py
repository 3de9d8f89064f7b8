"""Electricity Maps: the past and the forecast in its shape, and the traps of each."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import responses

from planner.errors import AuthError, ConfigError, DataUnavailable, SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import FIVE, HOUR, KEYS, NOW, QUARTER, em_ahead, em_past, em_prices, moment, opened, serving

PAST = re.compile(r"https://api\.electricitymaps\.com/v4/carbon-intensity/past-range.*")
AHEAD = re.compile(r"https://api\.electricitymaps\.com/v4/carbon-intensity/forecast.*")
PUBLISHED = re.compile(r"https://api\.electricitymaps\.com/v4/price-day-ahead/actual.*")
MODELLED = re.compile(r"https://api\.electricitymaps\.com/v4/price-day-ahead/forecast.*")
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
    with pytest.raises(DataUnavailable, match="not every zone has prices"):
        opened("electricity-maps").fetch("price", "DE", NOW + timedelta(days=9), NOW + timedelta(days=16))
    with pytest.raises(ConfigError, match="has no dry_bulb"):
        opened("electricity-maps").fetch("dry_bulb", "DE", START, END)
    with pytest.raises(ConfigError, match="version is 'v5'"):
        opened("electricity-maps", version="v5")


@responses.activate
def test_the_older_interface_on_demand():
    url = re.compile(r"https://api\.electricitymaps\.com/v3/carbon-intensity/.*")
    serving(responses, url, lambda p: em_ahead(THIS_HOUR))
    rows = opened("electricity-maps", version="v3").fetch("carbon", "DE", NOW, END).rows
    assert rows.t_start.iloc[0] == THIS_HOUR + HOUR


@responses.activate
@pytest.mark.parametrize(("granularity", "step"), [("15_minutes", QUARTER), ("5_minutes", FIVE)])
def test_steps_of_a_quarter_hour_and_of_five_minutes(granularity, step):
    serve(
        past=lambda p, known: known(p, step=step, temporalGranularity=granularity),
        ahead=lambda p: em_ahead(THIS_HOUR, step=step, temporalGranularity=granularity),
    )
    rows = opened("electricity-maps", granularity=granularity).fetch("carbon", "DE", START, END).rows
    assert ((rows.t_end - rows.t_start) == step).all()
    assert (rows.t_start.diff().dropna() == step).all()
    assert rows.t_end.iloc[-1] == THIS_HOUR + 72 * HOUR + step
    assert {call.request.params["temporalGranularity"] for call in responses.calls} == {granularity}
    for call in responses.calls:
        if "start" in call.request.params:
            assert moment(call.request.params["end"]) - moment(call.request.params["start"]) <= timedelta(days=10)


@responses.activate
def test_hours_for_five_minutes_are_no_rows_with_gaps():
    serve(past=lambda p, known: known(p))
    with pytest.raises(SchemaChanged, match=r"its rows from .* on lie 60 min apart, asked were 5 min"):
        opened("electricity-maps", granularity="5_minutes").fetch("carbon", "DE", START, END)
    responses.reset()
    serve(past=lambda p, known: known(p, step=FIVE, datetime="2026-03-01T00:02:00Z"))
    with pytest.raises(SchemaChanged, match="does not start with a step of 5 min"):
        opened("electricity-maps", granularity="5_minutes").fetch("carbon", "DE", START, END)
    with pytest.raises(ConfigError, match="granularity is 'daily'; allowed are hourly, 15_minutes, 5_minutes"):
        opened("electricity-maps", granularity="daily")


# --- prices -----------------------------------------------------------------------------------------------------------

CLEARED = datetime(2026, 3, 5, 23, tzinfo=UTC)  # to the end of the next local day


def until_cleared(params, **kw):
    return em_prices(moment(params["start"]), min(moment(params["end"]), CLEARED), **kw)


@responses.activate
def test_published_prices_in_the_currency_of_the_answer():
    serving(responses, PUBLISHED, lambda p: until_cleared(p, unit="AUD/MWh"))
    series = opened("electricity-maps").fetch("price", "DE", START, END)
    assert (series.unit, series.basis, series.source) == ("AUD/kWh", "", "Electricity Maps DE, published prices")
    assert series.rows.value.iloc[0] == 0.04
    assert (series.rows.t_start.iloc[0], series.rows.t_end.iloc[-1]) == (START, CLEARED)
    assert set(series.rows.kind[series.rows.t_start < NOW]) == {"actual"}
    assert set(series.rows.kind[series.rows.t_start >= NOW]) == {"forecast"}
    assert set(series.rows["flags"]) == {""}
    for call in responses.calls:
        assert call.request.params["disableCallerLookup"] == "true"
        assert "emissionFactorType" not in call.request.params
        assert call.request.headers["auth-token"] == KEYS["GRIDPACE_ELECTRICITY_MAPS_KEY"]


@responses.activate
def test_modelled_prices_are_asked_for_by_name_and_flagged():
    def mixed(p):
        return until_cleared(
            p, source=lambda t: "exchange.example" if t < CLEARED - 24 * HOUR else "electricitymaps.com"
        )

    serving(responses, MODELLED, mixed)
    series = opened("electricity-maps", prices="modelled").fetch("price", "DE", START, END)
    assert series.source == "Electricity Maps DE, modelled prices"
    modelled = series.rows.t_start >= CLEARED - 24 * HOUR
    assert set(series.rows["flags"][modelled]) == {"estimated"}
    assert set(series.rows["flags"][~modelled]) == {""}
    assert set(series.rows.kind[series.rows.t_start >= NOW]) == {"forecast"}
    gone = series.rows.t_start < NOW
    assert set(series.rows.kind[gone & modelled]) == set()
    serving(responses, PUBLISHED, mixed)
    with pytest.raises(SchemaChanged, match=r"row of 2026-03-04T23:00:00Z is modelled where published prices"):
        opened("electricity-maps").fetch("price", "DE", START, END)


@responses.activate
def test_what_was_only_modelled_was_not_measured():
    serving(responses, MODELLED, lambda p: until_cleared(p, source="electricitymaps.com"))
    rows = opened("electricity-maps", prices="modelled").fetch("price", "DE", START, END).rows
    assert set(rows.kind[rows.t_start < NOW]) == {"modelled"}


@responses.activate
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"unit": lambda t: "BGN/MWh" if t < datetime(2026, 3, 3, tzinfo=UTC) else "EUR/MWh"},
            "row of 2026-03-03T00:00:00Z is in EUR/MWh, those",
        ),
        ({"unit": "EUR"}, "row of 2026-02-26T00:00:00Z has the unit 'EUR', agreed is a currency per MWh or kWh"),
        ({"unit": None}, "has the unit None"),
        ({"zone": "FR"}, "its zone is 'FR', asked was 'DE'"),
        ({"value": lambda t: "dear"}, "value is 'dear', which is no number"),
        ({"value": lambda t: 90_000.0}, "price is 90 EUR/kWh; possible are -25 to 25 EUR/kWh"),
        ({"temporalGranularity": "15_minutes"}, "its resolution is '15_minutes', asked was 'hourly'"),
    ],
)
def test_another_meaning_of_a_price_is_named(changes, told):
    serving(responses, PUBLISHED, lambda p: until_cleared(p, **changes))
    with pytest.raises(SchemaChanged, match=told):
        opened("electricity-maps").fetch("price", "DE", START, END)


@responses.activate
def test_a_currency_that_changes_between_two_answers_is_named():
    change = datetime(2026, 2, 26, tzinfo=UTC)  # an edge of two windows
    serving(responses, PUBLISHED, lambda p: until_cleared(p, unit=lambda t: "EUR/MWh" if t >= change else "BGN/MWh"))
    with pytest.raises(
        SchemaChanged, match="row of 2026-02-26T00:00:00Z is in EUR, those before in BGN; money is never"
    ):
        opened("electricity-maps").fetch("price", "DE", START - timedelta(days=7), END)


@responses.activate
def test_quarter_hourly_prices_and_a_zone_without_prices():
    serving(responses, PUBLISHED, lambda p: until_cleared(p, step=QUARTER))
    rows = opened("electricity-maps", granularity="15_minutes").fetch("price", "DE", START, END).rows
    assert ((rows.t_end - rows.t_start) == QUARTER).all()
    responses.reset()
    serving(responses, PUBLISHED, lambda p: {"zone": "DE", "data": []})
    with pytest.raises(DataUnavailable, match=r"has no price of DE from .*\nwhy: .*; not every zone has prices"):
        opened("electricity-maps").fetch("price", "DE", START, END)
