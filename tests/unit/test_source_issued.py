"""Every forecast is kept as it was issued: whole, once, by when it was known, whatever stops the process after that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
import responses

from planner.errors import DataUnavailable
from planner.sources.cache import ResponseCache
from planner.sources.issued import IssuedForecasts
from planner.sources.rows import make_series
from tests.feeds import HALF, HOUR, KEYS, NOW, em_ahead, em_past, moment, opened, price_answer, serving, times

EM = r"https://api\.electricitymaps\.com/v4/carbon-intensity"
UK = re.compile(r"https://api\.carbonintensity\.org\.uk.*")
PRICE = re.compile(r"https://api\.energy-charts\.info/price.*")
THIS_HOUR = NOW.replace(minute=0)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def series(value=100.0, *, age=timedelta(0), kind="forecast", source="s"):
    starts = pd.date_range(NOW, periods=24, freq="h")
    rows = pd.DataFrame({"t_start": starts, "t_end": starts + HOUR, "value": value, "kind": kind, "flags": ""})
    return make_series(
        signal="carbon", zone="X", rows=rows, source=source, licence="own", basis="direct", fetched_at=NOW - age
    )


def serve(value=300.0):
    serving(responses, re.compile(EM + "/past-range.*"), lambda p: em_past(moment(p["start"]), THIS_HOUR))
    serving(responses, re.compile(EM + "/forecast.*"), lambda p: em_ahead(THIS_HOUR, value=lambda t: value))


def test_a_forecast_is_found_by_when_it_was_known(tmp_path):
    issued = IssuedForecasts(tmp_path)
    early, late = series(100.0, age=6 * HOUR), series(120.0, age=1 * HOUR)
    for one in (late, early):  # the order of keeping does not matter
        issued.keep(one)
    assert issued.as_issued("carbon", "X", NOW - 7 * HOUR) is None
    assert set(issued.as_issued("carbon", "X", NOW - 2 * HOUR).rows.value) == {100.0}
    found = IssuedForecasts(tmp_path).as_issued("carbon", "X", NOW)
    pd.testing.assert_frame_equal(found.rows, late.rows)
    assert (found.fetched_at, found.unit, found.basis) == (late.fetched_at, late.unit, late.basis)
    assert issued.as_issued("price", "X", NOW) is None
    assert issued.as_issued("carbon", "X", NOW, source="other") is None
    assert issued.as_issued("carbon", "X", NOW, basis="lifecycle") is None
    assert issued.issues("carbon", "X") == ((NOW - 6 * HOUR, "s"), (NOW - HOUR, "s"))


def test_the_same_forecast_is_kept_once_and_what_was_measured_is_none(tmp_path):
    issued = IssuedForecasts(tmp_path)
    for age_h in (3, 2, 1):
        issued.keep(series(age=age_h * HOUR))
    issued.keep(series(5.0, kind="actual"))
    assert issued.issues("carbon", "X") == ((NOW - 3 * HOUR, "s"),)


@responses.activate
def test_a_forecast_is_kept_whole_although_less_was_asked_for(tmp_path):
    serve()
    cache = ResponseCache(tmp_path)
    asked = opened("electricity-maps", cache).fetch("carbon", "DE", NOW, NOW + 5 * HOUR)
    assert len(asked.rows) == 5
    (known,) = IssuedForecasts(tmp_path).issues("carbon", "DE")
    found = IssuedForecasts(tmp_path).as_issued("carbon", "DE", NOW)
    assert known == (NOW, "Electricity Maps DE")
    assert (len(found.rows), found.issued_at) == (73, datetime(2026, 3, 4, 12, 5, tzinfo=UTC))


@responses.activate
def test_a_forecast_is_kept_although_a_later_answer_fails(tmp_path):
    form = "%Y-%m-%dT%H:%MZ"

    def reply(request):
        first, last = (moment(t.replace("Z", "+00:00")) for t in request.url.split("/intensity/")[1].split("/")[:2])
        if first > NOW:
            return 404, {}, "{}"
        rows = [
            {"from": f"{t:{form}}", "to": f"{t + HALF:{form}}", "intensity": {"forecast": 90}}
            for t in times(first, last, HALF)
        ]
        return 200, {}, json.dumps({"data": rows})

    responses.add_callback(responses.GET, UK, reply)
    with pytest.raises(DataUnavailable, match="answered 404"):
        opened("uk-carbon-intensity", ResponseCache(tmp_path)).fetch("carbon", "GB", NOW, NOW + 48 * HOUR)
    assert len(IssuedForecasts(tmp_path).issues("carbon", "GB")) == 1


@responses.activate
def test_a_forecast_of_two_answers_is_one_issue_known_when_the_later_came(tmp_path):
    form = "%Y-%m-%dT%H:%MZ"

    def reply(request):
        first, last = (moment(t.replace("Z", "+00:00")) for t in request.url.split("/intensity/")[1].split("/")[:2])
        rows = [
            {"from": f"{t:{form}}", "to": f"{t + HALF:{form}}", "intensity": {"forecast": 90}}
            for t in times(max(first, NOW.replace(minute=0)), min(last, NOW + 48 * HOUR), HALF)
        ]
        return 200, {}, json.dumps({"data": rows})

    responses.add_callback(responses.GET, UK, reply)
    opened("uk-carbon-intensity", ResponseCache(tmp_path)).fetch("carbon", "GB", NOW - HOUR, NOW + 48 * HOUR)
    assert len(responses.calls) == 2  # the week of windows ends within the 48 h
    issued = IssuedForecasts(tmp_path)
    assert issued.issues("carbon", "GB") == ((NOW, "UK Carbon Intensity GB"),)
    assert len(issued.as_issued("carbon", "GB", NOW).rows) == 97  # 48 h from the half hour before, both answers


@responses.activate
def test_a_settled_past_does_not_make_todays_forecast_older(tmp_path):
    serving(responses, PRICE, lambda p: price_answer(moment(p["start"]), moment(p["end"]), HOUR))
    cache = ResponseCache(tmp_path)
    start, later = NOW - timedelta(days=14), NOW + timedelta(days=20)
    opened("energy-charts", cache).fetch("price", "DE-LU", start, NOW)
    asked = len(responses.calls)
    got = opened("energy-charts", cache, now=later).fetch("price", "DE-LU", start, later + 24 * HOUR)
    assert 0 < len(responses.calls) - asked < 7  # the oldest windows came from the cache
    assert got.fetched_at == later
    issued = IssuedForecasts(tmp_path)
    assert max(at for at, _ in issued.issues("price", "DE-LU")) == later
    before = issued.as_issued("price", "DE-LU", later - HOUR)
    assert before is None or before.rows.t_start.iloc[-1] < later


@responses.activate
def test_where_all_is_settled_the_age_is_that_of_the_newest(tmp_path):
    serving(responses, PRICE, lambda p: price_answer(moment(p["start"]), moment(p["end"]), HOUR))
    cache, start = ResponseCache(tmp_path), NOW - timedelta(days=60)
    opened("energy-charts", cache).fetch("price", "DE-LU", start, start + timedelta(days=8))
    later = NOW + timedelta(days=9)
    whole = opened("energy-charts", cache, now=later).fetch("price", "DE-LU", start, start + timedelta(days=20))
    assert whole.fetched_at == later


@responses.activate
def test_a_forecast_outlives_a_process_that_dies_before_its_answer_is_kept(tmp_path, monkeypatch):
    class Killed(BaseException):
        """As a signal would end it."""

    def die(*_, **__):
        raise Killed

    serve(300.0)
    with monkeypatch.context() as patch:
        patch.setattr(ResponseCache, "put", die)
        with pytest.raises(Killed):
            opened("electricity-maps", ResponseCache(tmp_path)).fetch("carbon", "DE", NOW, NOW + 24 * HOUR)
    responses.reset()
    serve(200.0)
    later = NOW + 2 * HOUR
    opened("electricity-maps", ResponseCache(tmp_path), now=later).fetch("carbon", "DE", later, later + 24 * HOUR)
    issued = IssuedForecasts(tmp_path)
    assert set(issued.as_issued("carbon", "DE", later - HOUR).rows.value) == {300.0}
    assert set(issued.as_issued("carbon", "DE", later).rows.value) == {200.0}


def test_what_was_kept_is_there_after_a_kill(tmp_path, root):
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from planner.sources.issued import IssuedForecasts\n"
        "from tests.unit.test_source_issued import series\n"
        "IssuedForecasts(Path(sys.argv[1])).keep(series(77.0))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, check=False)
    assert done.returncode == -9
    assert set(IssuedForecasts(tmp_path).as_issued("carbon", "X", NOW).rows.value) == {77.0}
