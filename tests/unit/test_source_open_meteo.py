"""Open-Meteo: what is asked, how stamps and units are read, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import responses

from planner.errors import ConfigError, DataUnavailable, SchemaChanged
from planner.sources import SourceSpec, open_source
from planner.sources.cache import ResponseCache
from planner.sources.open_meteo import ARCHIVE_URL, FORECAST_URL
from tests.stand_in import UNITS

NOW = datetime(2024, 5, 13, 12, 10, tzinfo=UTC)
TODAY = datetime(2024, 5, 13, tzinfo=UTC)


def opened(cache=None, *, offline=False, now=NOW):
    spec = SourceSpec("open-meteo", {"latitude": 51.5, "longitude": -0.1})
    return open_source(spec, cache=cache, offline=offline, clock=lambda: now)


def payload(query):
    if "start_date" in query:
        first = datetime.fromisoformat(query["start_date"]).replace(tzinfo=UTC)
        last = datetime.fromisoformat(query["end_date"]).replace(tzinfo=UTC) + timedelta(days=1)
    else:
        first = TODAY - timedelta(days=int(query["past_days"]))
        last = TODAY + timedelta(days=int(query["forecast_days"]))
    times = [first + timedelta(hours=i) for i in range((last - first) // timedelta(hours=1))]
    cells = {
        "temperature_2m": [20.0 + t.hour / 10 for t in times],
        "relative_humidity_2m": [50.0 for _ in times],
        "wet_bulb_temperature_2m": [14.0 for _ in times],
        "shortwave_radiation": [100.0 * t.hour if t.hour < 15 else 0.0 for t in times],
        "wind_speed_100m": [8.0 for _ in times],
    }
    wanted = query["hourly"].split(",")
    return {
        "latitude": 51.5,
        "utc_offset_seconds": 0,
        "elevation": 20.0,
        "hourly_units": {k: UNITS[k] for k in ("time", *wanted)},
        "hourly": {"time": [f"{t:%Y-%m-%dT%H:%M}" for t in times], **{k: cells[k] for k in wanted}},
    }


def serve(change=lambda answer: None):
    asked = []

    def reply(request):
        parts = urlsplit(request.url)
        query = {k: v[0] for k, v in parse_qs(parts.query).items()}
        asked.append((f"{parts.scheme}://{parts.netloc}{parts.path}", query))
        answer = payload(query)
        change(answer)
        return 200, {}, json.dumps(answer)

    for url in (FORECAST_URL, ARCHIVE_URL):
        responses.add_callback(responses.GET, url, reply)
    return asked


PAST_DAYS = 60
START, END = TODAY - timedelta(days=PAST_DAYS), TODAY + timedelta(days=7)


@responses.activate
def test_past_and_future_join_without_a_seam():
    asked = serve()
    series = opened().fetch("dry_bulb", "London", START, END)
    assert len(series.rows) == (PAST_DAYS + 7) * 24
    assert (series.rows.t_start.diff().dropna() == timedelta(hours=1)).all()
    assert series.rows.value.tolist() == [20.0 + h / 10 for h in range(24)] * (PAST_DAYS + 7)
    assert series.rows.kind.tolist().index("forecast") == PAST_DAYS * 24 + 12  # the hour that runs is not over
    assert {url for url, _ in asked} == {FORECAST_URL, ARCHIVE_URL}
    assert all(q["timezone"] == "GMT" and q["wind_speed_unit"] == "ms" for _, q in asked)
    assert all("wet_bulb" not in q["hourly"] for url, q in asked if url == ARCHIVE_URL)
    assert max(q["end_date"] for url, q in asked if url == ARCHIVE_URL) <= "2024-05-07"


@responses.activate
def test_one_download_serves_every_signal(tmp_path):
    asked = serve()
    cache = ResponseCache(tmp_path)
    for signal in ("dry_bulb", "wet_bulb", "ghi", "wind_speed_100m"):
        opened(cache).fetch(signal, "London", START, END)
    assert len(asked) == len({json.dumps(q, sort_keys=True) for _, q in asked})


@responses.activate
def test_the_forecast_of_yesterday_is_served_stale(tmp_path):
    serve()
    cache = ResponseCache(tmp_path)
    opened(cache).fetch("dry_bulb", "London", START, END)
    responses.reset()
    responses.add(responses.GET, FORECAST_URL, status=400)
    series = opened(cache, now=NOW + timedelta(days=1)).fetch("dry_bulb", "London", START, END)
    assert series.fetched_at == NOW
    assert len(series.rows) == (PAST_DAYS + 7) * 24
    assert series.rows["flags"].iloc[0] == ""  # the archive's settled past needs no network
    assert series.rows["flags"].iloc[-1] == "stale"


@responses.activate
def test_irradiance_is_stamped_with_the_end_of_its_hour():
    serve()
    series = opened().fetch("ghi", "London", TODAY, TODAY + timedelta(days=1))
    # The provider's 14:00 value of 1,400 W/m2 is the mean from 13:00 to 14:00.
    assert series.rows.value.idxmax() == 13
    assert series.rows.value.max() == 1400.0
    assert len(series.rows) == 24


@responses.activate
def test_irradiance_has_no_gap_where_archive_meets_forecast():
    serve()
    assert len(opened().fetch("ghi", "London", START, END).rows) == (PAST_DAYS + 7) * 24


@responses.activate
def test_the_archive_has_no_wet_bulb_so_it_is_derived_and_flagged():
    serve()
    series = opened().fetch("wet_bulb", "London", START, END)
    derived = series.rows["flags"] == "derived"
    assert derived.iloc[0]
    assert not derived.iloc[-1]
    # 20.0 deg C and 50 % at 20 m: 13.8 deg C by a psychrometric chart.
    assert series.rows.value.iloc[0] == pytest.approx(13.8, abs=0.05)
    assert series.rows.value.iloc[-1] == 14.0


@responses.activate
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda a: a.update(utc_offset_seconds=3600), "its times are 3600 s off UTC"),
        (lambda a: a.pop("utc_offset_seconds"), "its times are None s off UTC"),
        (lambda a: a["hourly_units"].update(temperature_2m="°F"), "temperature_2m is in '°F', agreed is '°C'"),
        (lambda a: a["hourly"].pop("temperature_2m"), "temperature_2m does not have one value for each"),
        (lambda a: a["hourly"]["temperature_2m"].pop(), "temperature_2m does not have one value for each"),
        (lambda a: a.pop("hourly"), "it has no hourly values"),
        (lambda a: a.update(hourly_units="as usual"), "it has no hourly values"),
        (lambda a: a["hourly"].update(time="all day"), "its times are all day"),
        (lambda a: a["hourly"].update(time=24), "its times are 24"),
        (lambda a: a["hourly"]["time"].__setitem__(0, "2024-05-13"), "its times cannot be read"),
    ],
)
def test_another_shape_is_refused(change, why):
    serve(change)
    with pytest.raises(
        SchemaChanged, match=f"Open-Meteo: dry_bulb of London: the answer has not the agreed shape\nwhy: {why}"
    ):
        opened().fetch("dry_bulb", "London", TODAY, END)


@responses.activate
def test_a_real_answer_with_one_offset_for_a_week_with_a_clock_change(shared_data):
    text = (shared_data / "grid" / "fixtures" / "openmeteo_archive_TX_2024_dst_week_fixed_offset.json").read_text()
    responses.add(responses.GET, ARCHIVE_URL, body=text)
    first = datetime(2024, 3, 10, tzinfo=UTC)
    with pytest.raises(SchemaChanged, match="its times are -18000 s off UTC where GMT was asked for"):
        opened().fetch("dry_bulb", "Dallas", first, first + timedelta(days=3))


@responses.activate
def test_nulls_are_gaps():
    serve(
        lambda a: a["hourly"]["temperature_2m"].__setitem__(
            slice(None, None, 2), [None] * len(a["hourly"]["time"][::2])
        )
    )
    series = opened().fetch("dry_bulb", "London", TODAY, TODAY + timedelta(days=1))
    assert [t.hour for t in series.rows.t_start] == list(range(1, 24, 2))


@responses.activate
def test_an_answer_without_hours_is_no_data():
    serve(lambda a: a["hourly"].update(time=[]))
    with pytest.raises(DataUnavailable, match="Open-Meteo has no dry_bulb of London"):
        opened().fetch("dry_bulb", "London", TODAY, END)


@responses.activate
def test_a_refused_request_gives_the_reason():
    body = {"error": True, "reason": "Data corrupted at path ''. Cannot initialize from invalid String value."}
    responses.add(responses.GET, FORECAST_URL, json=body, status=400)
    with pytest.raises(DataUnavailable, match=r"answered 400 for dry_bulb of London\nwhy: Data corrupted"):
        opened().fetch("dry_bulb", "London", TODAY, END)


def test_signals_it_does_not_have():
    with pytest.raises(ConfigError, match="Open-Meteo has no price"):
        opened().fetch("price", "London", START, END)
