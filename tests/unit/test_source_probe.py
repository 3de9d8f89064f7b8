"""`gridpace sources`: the providers listed, and one hour of each fetched."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import responses
from click.testing import CliRunner

from planner.cli import cli
from planner.errors import ConfigError
from planner.source_probe import probe, zone_names
from planner.sources import registry
from planner.sources.catalogue import FACTS, PROVIDERS
from tests.feeds import (
    HOUR,
    KEYS,
    NOW,
    em_ahead,
    em_past,
    entsoe_document,
    entsoe_series,
    moment,
    power_answer,
    price_answer,
    serving,
)
from tests.unit.test_solar_noon import sun

THIS_HOUR = NOW.replace(minute=0)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def weather(shift_h=0):
    start = THIS_HOUR.replace(hour=0) - timedelta(days=35)
    sunny = sun(10.4, start, 51)
    stamps = [(t + HOUR + shift_h * HOUR).strftime("%Y-%m-%dT%H:%M") for t in sunny.rows.t_start]
    names = {
        "temperature_2m": "°C",
        "relative_humidity_2m": "%",
        "wind_speed_100m": "m/s",
        "wet_bulb_temperature_2m": "°C",
    }
    hourly = {name: [8.0] * len(stamps) for name in names} | {"shortwave_radiation": sunny.rows.value.tolist()}
    return {
        "utc_offset_seconds": 0,
        "elevation": 100.0,
        "hourly_units": {**names, "shortwave_radiation": "W/m²"},
        "hourly": {"time": stamps, **hourly},
    }


def serve(shift_h=0):
    ec, em = r"https://api\.energy-charts\.info", r"https://api\.electricitymaps\.com/v4/carbon-intensity"
    serving(responses, re.compile(ec + "/price.*"), lambda p: price_answer(moment(p["start"]), moment(p["end"])))
    serving(
        responses, re.compile(ec + "/public_power.*"), lambda p: power_answer(moment(p["start"]), THIS_HOUR - 2 * HOUR)
    )
    serving(responses, re.compile(em + "/past-range.*"), lambda p: em_past(moment(p["start"]), THIS_HOUR))
    serving(responses, re.compile(em + "/forecast.*"), lambda p: em_ahead(THIS_HOUR))
    serving(responses, re.compile(r"https://(archive-)?api\.open-meteo\.com.*"), lambda p: weather(shift_h))
    day = THIS_HOUR.replace(hour=0)
    ahead = entsoe_document(
        *(entsoe_series(day, day + 24 * HOUR, [1.0] * 24, psr=psr) for psr in ("B16", "B18", "B19"))
    )
    serving(
        responses,
        re.compile(r"https://web-api\.tp\.entsoe\.eu.*"),
        lambda p: ahead if p["documentType"] == "A69" else (503, "down"),
    )


@responses.activate
def test_one_hour_of_each_that_can_serve_the_zone():
    serve()
    found = {(one.provider, one.signal): one for one in probe("DE-LU", clock=lambda: NOW)}
    price = found["energy-charts", "price"]
    assert (price.hour, price.value, price.age, price.error) == ("2026-03-04T12:00:00Z", "0.062 EUR/kWh", "0.0 h", "")
    carbon = found["energy-charts", "carbon"]
    assert (carbon.hour, carbon.value, carbon.basis, carbon.kind) == (
        "2026-03-04T09:00:00Z",
        "111 gCO2e/kWh",
        "direct",
        "actual",
    )
    assert found["electricity-maps", "carbon"].value == "312 gCO2e/kWh"
    assert found["electricity-maps", "carbon"].kind == "forecast"
    assert found["entsoe", "wind_generation"].value == "2000 kW"
    assert found["entsoe", "price"].error.startswith("ENTSO-E answered 503 for price of DE-LU: ")
    assert found["open-meteo", "dry_bulb"].value == "8 degC"
    assert re.fullmatch(r"noon off by [+-]0\.0 h", found["open-meteo", "ghi"].flags)
    assert {provider for provider, _ in found} == {"energy-charts", "entsoe", "electricity-maps", "open-meteo"}


@responses.activate
def test_sunshine_at_the_wrong_hour_is_an_error_of_its_provider():
    serve(shift_h=1)
    (ghi,) = [one for one in probe("DE-LU", clock=lambda: NOW) if one.signal == "ghi"]
    assert "lies 1.0 h after the solar noon of longitude 10.4" in ghi.error


@responses.activate
def test_the_command_prints_a_line_each_and_no_key(monkeypatch, tmp_path):
    serve()
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path))
    monkeypatch.setattr(registry, "utc_now", lambda: NOW)
    monkeypatch.delenv("GRIDPACE_ENTSOE_KEY")
    done = CliRunner().invoke(cli, ["sources", "test", "DE-LU"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["provider", "signal", "hour", "value", "basis", "kind", "fetched", "flags"]
    assert any("ENTSO-E needs a key, and none is there" in line for line in lines)
    assert any(
        line.split()[:5] == ["energy-charts", "price", "2026-03-04T12:00:00Z", "0.062", "EUR/kWh"] for line in lines
    )
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert "tops3cret" not in done.output
    assert b"tops3cret" not in kept


def test_where_nothing_came_the_exit_code_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path))
    done = CliRunner().invoke(cli, ["sources", "test", "XX", "--offline"])
    assert done.exit_code == 4
    assert "no source has an hour of XX" in done.stderr
    assert "where? say --at LATITUDE,LONGITUDE" in done.stdout


@pytest.mark.parametrize("place", ["here", "91,0", "1,2,3", "nan,0"])
def test_a_place_that_is_none_is_refused(place):
    done = CliRunner().invoke(cli, ["sources", "test", "XX", "--offline", "--at", place])
    assert isinstance(done.exception, ConfigError)


def test_the_list_names_every_provider_and_the_state_of_its_key(monkeypatch):
    monkeypatch.delenv("GRIDPACE_EIA_KEY")
    done = CliRunner().invoke(cli, ["sources"])
    assert done.exit_code == 0
    blocks = re.split(r"\n(?=\S)", done.stdout)
    assert [block.split()[0] for block in blocks] == list(PROVIDERS)
    told = dict(zip(PROVIDERS, blocks, strict=True))
    assert re.search(r"key +missing", told["eia"])
    assert re.search(r"key +set \(environment\)", told["entsoe"])
    assert re.search(r"key +not needed", told["energy-charts"])
    assert "tops3cret" not in done.output
    for facts in FACTS.values():
        assert facts.licence in told[facts.name]


def test_a_zone_that_is_not_listed_is_asked_for_as_it_stands():
    assert zone_names("CISO")["watttime"] == "CAISO_NORTH"
    assert zone_names("NO4")["entsoe"] == "NO4"


def test_the_page_names_every_provider_and_every_flag(root):
    from planner.sources import series

    page = (root / "docs" / "sources.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PROVIDERS)
    flags = [value for name, value in vars(series).items() if name.isupper() and isinstance(value, str)]
    assert all(f"| `{flag}` |" in page for flag in flags)
