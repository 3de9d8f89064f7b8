"""What each parser takes its stamps for, held against the sun: noon lies where the longitude says it does."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import responses

from planner.errors import ConfigError, SchemaChanged
from planner.source_probe import probe
from planner.sources.catalogue import FACTS
from planner.sources.solar_noon import check_noon, noon_shift
from tests.feeds import (
    HALF,
    HOUR,
    KEYS,
    NOW,
    eia_answer,
    entsoe_document,
    entsoe_series,
    moment,
    opened,
    power_answer,
    serving,
    times,
)
from tests.unit.test_solar_noon import sun

ANY = re.compile(".*")
FIRST = NOW.replace(hour=0, minute=0) - timedelta(days=28)
LAST = FIRST + timedelta(days=8)
LATER = LAST + timedelta(days=7)
CISO, DE, GB = -119.8, 10.4, -1.5


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def sunshine(longitude, late):
    """Sunshine by the start of its hour, as a provider would tell it that is some hours late."""
    rows = sun(longitude, FIRST - timedelta(days=10), 50).rows
    known = dict(zip(rows.t_start, rows.value, strict=True))
    return lambda t: round(known[pd.Timestamp(t) - late * HOUR], 3)


def eia(late):
    shine = sunshine(CISO, late)
    serving(responses, ANY, lambda p: eia_answer(moment(p["start"]) - HOUR, moment(p["end"]), fuels={"SUN": shine}))
    return opened("eia", now=LATER).fetch("solar_generation", "CISO", FIRST, LAST), CISO


def energy_charts(late):
    shine = sunshine(DE, late)
    serving(
        responses, ANY, lambda p: power_answer(moment(p["start"]), moment(p["end"]), HOUR, Solar=shine, Nuclear=9.0)
    )
    return opened("energy-charts", now=LATER).fetch("solar_generation", "DE-LU", FIRST, LAST), DE


def entsoe(late):
    shine = sunshine(DE, late)

    def of_window(p):
        form = "%Y%m%d%H%M"
        a, b = (datetime.strptime(p[key], form).replace(tzinfo=FIRST.tzinfo) for key in ("periodStart", "periodEnd"))
        return entsoe_document(entsoe_series(a, b, [shine(t) for t in times(a, b, HOUR)], psr="B16"))

    serving(responses, ANY, of_window)
    return opened("entsoe", now=LATER).fetch("solar_generation", "DE-LU", FIRST, LAST), DE


def open_meteo(late):
    """Stamps irradiance with the end of its hour."""
    shine, start = sunshine(DE, late), NOW.replace(hour=0, minute=0) - timedelta(days=35)
    stamps = list(times(start, start + timedelta(days=40), HOUR))
    hourly = {"time": [f"{t:%Y-%m-%dT%H:%M}" for t in stamps], "shortwave_radiation": [shine(t - HOUR) for t in stamps]}
    answer = {"utc_offset_seconds": 0, "hourly_units": {"shortwave_radiation": "W/m²"}, "hourly": hourly}
    serving(responses, ANY, lambda p: answer)
    source = opened("open-meteo", latitude=51.0, longitude=DE)
    return source.fetch("ghi", "X", FIRST, LAST), DE


def uk_mix(late):
    """Shares of sun and of gas: the carbon of the mix says how much of it was sun."""
    shine = sunshine(GB, late)
    form = "%Y-%m-%dT%H:%MZ"

    def reply(request):
        a, b = (moment(t.replace("Z", "+00:00")) for t in request.url.split("/generation/")[1].split("/"))
        rows = [
            {
                "from": f"{t:{form}}",
                "to": f"{t + HALF:{form}}",
                "generationmix": [
                    {"fuel": "solar", "perc": shine(t.replace(minute=0))},
                    {"fuel": "gas", "perc": 900.0},
                ],
            }
            for t in times(a, b, HALF)
        ]
        return 200, {}, json.dumps({"data": rows})

    responses.add_callback(responses.GET, ANY, reply)
    series = opened("uk-carbon-intensity", now=LATER, basis="lifecycle").fetch("carbon", "GB", FIRST, LAST)
    return series, GB


def shift_of(series, longitude):
    rows = series.rows
    if series.signal == "carbon":  # carbon = (490 x gas + 45 x sun) / (gas + sun), with 900 of gas
        rows = rows.assign(value=900.0 * (490.0 - rows.value) / (rows.value - 45.0))
    return noon_shift(rows, longitude).hours


@responses.activate
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("parser", [eia, energy_charts, entsoe, open_meteo, uk_mix])
def test_noon_lies_where_the_sun_stood_and_an_hour_is_found(parser, late):
    series, longitude = parser(late)
    assert shift_of(series, longitude) == pytest.approx(late, abs=0.05)
    if series.signal == "carbon":
        return
    if late == 0:
        check_noon(series, longitude)
        return
    with pytest.raises(SchemaChanged, match=f"lies 1.0 h {'after' if late > 0 else 'before'} the solar noon of"):
        check_noon(series, longitude)


@pytest.mark.parametrize(("stamp", "zone", "shift"), [("end", "America/Los_Angeles", 0), ("start", "UTC", -7)])
def test_a_file_is_held_to_what_it_declares(stamp, zone, shift, tmp_path):
    shine = sun(CISO, FIRST.replace(month=6), 14).rows
    local = (shine.t_end.dt.tz_convert(ZoneInfo("America/Los_Angeles"))).dt.strftime("%Y-%m-%d %H:%M")
    path = tmp_path / "sun.csv"
    path.write_text(
        "t,v\n" + "\n".join(f"{t},{v:.2f}" for t, v in zip(local, shine.value, strict=True)), encoding="utf-8"
    )
    declared = {
        "path": str(path),
        "time_column": "t",
        "stamp": stamp,
        "time_zone": zone,
        "step_minutes": 60,
        "kind": "actual",
        "columns": {"ghi": {"column": "v", "unit": "W/m2"}},
    }
    series = opened("csv", **declared).fetch("ghi", "X", FIRST.replace(month=6), FIRST.replace(month=7))
    assert round(noon_shift(series.rows, CISO).hours) == (shift + 1 if stamp == "start" else 0)
    if shift:
        with pytest.raises(ConfigError, match=r"h before the solar noon of longitude -119\.8"):
            check_noon(series, CISO)


@responses.activate
def test_a_provider_that_stamps_starts_of_hours_from_now_on_is_found_by_the_probe():
    shine = sunshine(CISO, 1)
    serving(
        responses,
        re.compile(r"https://api\.eia\.gov.*"),
        lambda p: eia_answer(moment(p["start"]) - HOUR, min(moment(p["end"]), NOW), fuels={"SUN": shine, "NG": 500}),
    )
    found = {(one.provider, one.signal): one for one in probe("CISO", clock=lambda: NOW)}
    told = found["eia", "solar_generation"].error
    assert "solar generation of CISO lies 1.0 h after the solar noon of longitude -119.8" in told
    assert not found["eia", "carbon"].error


def test_what_stamps_mean_is_declared_for_every_provider():
    told = {facts.name: facts.stamps for facts in FACTS.values()}
    assert told["eia"] == "ends of hours, UTC"
    assert "ends" in told["open-meteo"]
    assert all("UTC" in stamps for name, stamps in told.items() if name != "csv")
