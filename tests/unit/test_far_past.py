"""The past from further back: files at once, providers on the network window by window, from the cache thereafter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import responses

from planner.extension import carry_on
from planner.far_past import SPREAD_DAYS, far_past
from planner.forecast import boosted
from planner.sources import SourceSpec, open_source
from planner.sources.align import HISTORY
from planner.sources.cache import ResponseCache
from planner.sources.chain import Link
from planner.sources.energy_charts import BASE_URL
from planner.sources.long_past import Budget, reach_back
from planner.sources.open_meteo import ARCHIVE_URL, FORECAST_URL
from planner.sources.rows import add_flag
from planner.sources.series import FALLBACK, STALE
from planner.timegrid import TimeGrid
from tests.feeds import HOUR, NOW, asked, moment, opened, price_answer, serving, times

DAY = timedelta(days=1)
SPOKEN = {"carbon": "carbon", "price": "price", "dry_bulb": "dry bulb", "wind_speed_100m": "wind"}
BEGINS = datetime(2025, 9, 1, tzinfo=UTC)


def wind(t):
    """Wind that comes and goes over days, and that prices follow."""
    h = (t - BEGINS) / HOUR
    return 8.0 + 5.0 * np.sin(h / 31.0) * np.sin(h / 173.0)


def price(t):
    return 120.0 + 20.0 * np.sin(2 * np.pi * t.hour / 24) - 6.0 * wind(t)


def weather_answer(given, now=NOW):
    if "start_date" in given:
        first, last = moment(f"{given['start_date']}T00:00"), moment(f"{given['end_date']}T00:00") + DAY
    else:
        today = now.replace(hour=0, minute=0)
        first, last = today - int(given["past_days"]) * DAY, today + int(given["forecast_days"]) * DAY
    stamps = list(times(first, last, HOUR))
    units = {
        "temperature_2m": "°C",
        "relative_humidity_2m": "%",
        "shortwave_radiation": "W/m²",
        "wind_speed_100m": "m/s",
    }
    values = {
        "temperature_2m": [12.0 + t.hour / 4 for t in stamps],
        "relative_humidity_2m": [70.0] * len(stamps),
        "shortwave_radiation": [max(0.0, 600.0 * np.sin(2 * np.pi * (t.hour - 6) / 24)) for t in stamps],
        "wind_speed_100m": [wind(t) for t in stamps],
    }
    wet = {"wet_bulb_temperature_2m": [10.0] * len(stamps)} if "past_days" in given else {}
    return {
        "utc_offset_seconds": 0,
        "elevation": 100.0,
        "hourly_units": {**units, **({"wet_bulb_temperature_2m": "°C"} if wet else {})},
        "hourly": {"time": [f"{t:%Y-%m-%dT%H:%M}" for t in stamps], **values, **wet},
    }


@pytest.fixture
def net():
    """Energy-Charts with prices since BEGINS, and Open-Meteo; every request is noted."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:

        def prices(given):
            first, last = moment(given["start"]), moment(given["end"])
            published = NOW.replace(hour=0, minute=0) + 2 * DAY
            if last <= BEGINS:
                return 404, {"detail": "no content"}
            return price_answer(max(first, BEGINS), min(last, published), HOUR, price)

        serving(mock, f"{BASE_URL}/price", prices)
        serving(mock, ARCHIVE_URL, weather_answer)
        serving(mock, FORECAST_URL, weather_answer)
        yield mock


def grid_at(now):
    return TimeGrid(now.replace(hour=0, minute=0) + DAY, 60, 168)


def gathered(cache, now=NOW, signals=("wind_speed_100m",), *, prices=True):
    """What a plan asks for first: 28 days and the week."""
    grid = grid_at(now)
    charts = Link("energy-charts", opened("energy-charts", cache, now=now), "DE-LU")
    meteo = Link("open-meteo", opened("open-meteo", cache, now=now, latitude=51.2, longitude=10.4), "DE-LU")
    delivered = [charts.source.fetch("price", "DE-LU", grid.start - HISTORY, grid.end)] if prices else []
    weather = [meteo.source.fetch(signal, "DE-LU", grid.start - HISTORY, grid.end) for signal in signals]
    return grid, [(charts, delivered), (meteo, weather)]


def spans_of(mock):
    """First instant that each request asked for, by address."""
    given = [(call.request.url.split("?")[0], asked(call.request)) for call in mock.calls]
    return [(url, parameters.get("start") or parameters.get("start_date") or "ahead") for url, parameters in given]


def test_the_second_plan_asks_the_network_for_the_new_days_alone(net, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: True)
    cache = ResponseCache(tmp_path)
    grid, groups = gathered(cache)
    first = far_past(groups, grid, 120, SPOKEN)
    assert set(first.series) == {"price", "wind_speed_100m"}
    assert first.told == {}
    for series in first.series.values():
        known = series.rows
        assert known.t_start.iloc[0] <= grid.start - 120 * DAY
        assert (known.t_start.to_numpy()[1:] == known.t_end.to_numpy()[:-1]).all()
    assert len(spans_of(net)) == len(set(spans_of(net))) > 20  # and nothing twice
    net.calls.reset()
    later = NOW + DAY
    grid, groups = gathered(cache, later)
    second = far_past(groups, grid, 120, SPOKEN)
    assert second.series["price"].rows.t_start.iloc[0] == first.series["price"].rows.t_start.iloc[0]
    again = [start for url, start in spans_of(net) if start != "ahead"]
    # Windows of a week of prices are open until three days after their end, those of the archive a week.
    assert again
    assert min(again) >= f"{later - 10 * DAY:%Y-%m-%d}"
    assert len(spans_of(net)) <= 4


def test_trees_are_fitted_on_what_the_network_knows(net, tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "LEAST_TRAINING_H", 40 * 24)
    monkeypatch.setattr(boosted, "_ROUNDS", 30)
    grid, groups = gathered(ResponseCache(tmp_path))
    found = [series for _, delivered in groups for series in delivered]
    far = far_past(groups, grid, 160, SPOKEN)
    trees, done = carry_on(found, far.series, grid, SPOKEN)[0]
    plain, short = carry_on(found, {}, grid, SPOKEN)[0]
    assert (done.ahead.model, short.ahead.model) == ("lightgbm-wx/2", "robust-blend/1")
    assert short.ahead.quantiles is None
    assert (np.diff(done.ahead.quantiles, axis=0) >= 0.0).all()
    came = np.array([price(t) / 1000.0 for t in grid.starts])
    hours = slice(-168, None)
    error, other = (np.abs(s.rows["value"].to_numpy()[hours] - came).mean() for s in (trees, plain))
    assert error < 0.8 * other


def test_without_trees_only_what_tells_the_errors_is_asked_for(net, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    grid, groups = gathered(ResponseCache(tmp_path))
    far = far_past(groups, grid, 730, SPOKEN)
    assert set(far.series) == {"price"}  # weather is known to the week's end, and no model looks at it
    start = far.series["price"].rows.t_start.iloc[0]
    assert grid.start - (SPREAD_DAYS + 28) * DAY < start <= grid.start - SPREAD_DAYS * DAY
    (_, done), *_ = carry_on(groups[0][1], far.series, grid, SPOKEN)
    assert done.ahead.quantiles is not None


def test_a_provider_that_has_no_more_is_told_and_what_there_is_is_used(net, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: True)
    grid, groups = gathered(ResponseCache(tmp_path), signals=())
    far = far_past(groups, grid, 700, SPOKEN)
    start = far.series["price"].rows.t_start.iloc[0]
    assert start == BEGINS
    days = (grid.start - BEGINS) // DAY
    assert far.told["price"].startswith(
        f"Forecasts of this week see {days} of 700 days of price of Energy-Charts DE-LU: Energy-Charts has no price of "
        "DE-LU from "
    )


def test_a_provider_that_fails_leaves_the_28_days_and_says_so(net, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: True)
    grid, groups = gathered(ResponseCache(tmp_path))
    net.reset()
    for url in (f"{BASE_URL}/price", ARCHIVE_URL):
        net.add("GET", url, status=404 if url == ARCHIVE_URL else 403)
    far = far_past(groups, grid, 700, SPOKEN)
    assert len(far.series["price"].rows) == len(groups[0][1][0].rows)
    assert far.told["price"].startswith("Forecasts of this week see 28 of 700 days of price of Energy-Charts DE-LU: ")
    (series, _), *_ = carry_on(groups[0][1], far.series, grid, SPOKEN)
    assert "robust-blend/1" in series.told[-1]


def test_the_time_for_it_is_kept_and_the_next_plan_goes_on(net, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: True)
    cache = ResponseCache(tmp_path)
    grid, groups = gathered(cache)
    far = far_past(groups, grid, 60, SPOKEN, budget_s=0.0)
    assert len(far.series["price"].rows) == len(groups[0][1][0].rows)
    sentence = (
        "Forecasts of this week see 28 of 60 days of price of Energy-Charts DE-LU: the time for it was used up, and "
        "the next plan goes on from there."
    )
    assert far.told["price"] == sentence
    assert far_past(groups, grid, 60, SPOKEN).told == {}


@pytest.mark.parametrize("flag", [STALE, FALLBACK])
def test_a_source_that_did_not_answer_afresh_is_not_asked_for_more(net, tmp_path, flag):
    grid, groups = gathered(ResponseCache(tmp_path), signals=())
    link, (series,) = groups[0]
    old = replace(series, rows=add_flag(series.rows, flag))
    net.calls.reset()
    reached = reach_back(link.source, old, link.zone, grid.start - 200 * DAY, Budget(30.0))
    assert reached.series.rows is old.rows
    assert reached.stopped == "the source did not answer afresh"
    assert len(net.calls) == 0


def test_nothing_is_asked_where_nothing_is_kept_or_nothing_is_missing(net, tmp_path):
    grid, groups = gathered(None)
    net.calls.reset()
    assert far_past(groups, grid, 300, SPOKEN).series == {}
    short = TimeGrid(grid.start - 3 * DAY, 60, 48)
    assert far_past(gathered(ResponseCache(tmp_path))[1], short, 300, SPOKEN).series == {}


def test_a_file_is_asked_for_all_that_is_wanted_and_for_all_weather_it_has(tmp_path):
    start = datetime(2023, 1, 2, tzinfo=UTC)
    rows = [f"{(start + h * HOUR).isoformat()},5,7,300" for h in range(1000)]
    (tmp_path / "w.csv").write_text("\n".join(["t,temp,cloud,ci", *rows]), encoding="utf-8")
    options = {
        "path": str(tmp_path / "w.csv"), "time_column": "t", "stamp": "start", "time_zone": "UTC",
        "step_minutes": 60, "kind": "actual",
        "columns": {
            "dry_bulb": {"column": "temp", "unit": "degC"}, "cloud_cover": {"column": "cloud", "unit": "%"},
            "carbon": {"column": "ci", "unit": "g/kWh", "basis": "direct"},
        },
    }  # fmt: skip
    grid = TimeGrid(datetime(2023, 2, 10, tzinfo=UTC), 60, 168)
    link = Link("csv", open_source(SourceSpec("csv", options)), "")
    delivered = [link.source.fetch(signal, "", grid.start - 5 * DAY, grid.end) for signal in ("carbon", "dry_bulb")]
    found = far_past([(link, delivered)], grid, 730, SPOKEN).series
    assert {signal: len(series.rows) for signal, series in found.items()} == {
        "carbon": 1000, "dry_bulb": 1000, "cloud_cover": 1000
    }  # fmt: skip
    assert len(far_past([(link, delivered)], grid, 28, SPOKEN).series["carbon"].rows) == 1000 - (39 - 28) * 24
    demo = Link("demo", open_source(SourceSpec("demo")), "demo-central")
    assert far_past([(demo, delivered)], grid, 730, SPOKEN).series == {}
