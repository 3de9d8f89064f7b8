"""The command, its page, its table and its JSON, from files and from providers on the network."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import responses
from click.testing import CliRunner

from planner.cli import cli, run
from planner.errors import ConfigError, DataUnavailable
from planner.export.forecast import COLUMNS
from planner.forecast import boosted
from planner.forecast.history import MARGINAL
from planner.forecast.spread import LEVELS
from planner.forecast_history import read_past
from planner.sources import watttime
from planner.sources.cache import ResponseCache
from planner.sources.open_meteo import ARCHIVE_URL, FORECAST_URL
from planner.zone_feeds import Opener, feeds_of_file, feeds_of_zone
from planner.zone_forecast import zone_forecast
from planner.zone_series import fetch_series
from tests.feeds import HOUR, KEYS, NOW, eia_answer, moer_answer, moment, serving
from tests.forecasts import START, made_up
from tests.unit.test_far_past import weather_answer

DAYS = 110
FILES = """
[sources.grid]
provider = "csv"
path = "zone.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
columns.carbon = { column = "carbon", unit = "g/kWh", basis = "direct" }
columns.dry_bulb = { column = "dry_bulb", unit = "degC" }
columns.wind_speed_10m = { column = "wind_speed_10m", unit = "m/s" }

[sources.sky]
provider = "csv"
path = "sky.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
columns.ghi = { column = "ghi", unit = "W/m2" }
columns.carbon = { column = "moer", unit = "g/kWh", basis = "marginal" }
"""


@pytest.fixture(autouse=True)
def _no_trees(monkeypatch, tmp_path):
    monkeypatch.setattr(boosted, "available", lambda: False)
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def sources(tmp_path):
    history = made_up(DAYS)
    names = list(history.signals)
    rows = [
        ",".join([history.at(h).isoformat(), *(f"{history.signals[name][h]:.6f}" for name in names)])
        for h in range(history.n_hours)
    ]
    (tmp_path / "zone.csv").write_text("\n".join([",".join(["t", *names]), *rows]), encoding="utf-8")
    h = np.arange(history.n_hours)
    ghi = np.maximum(0.0, 500.0 * np.sin(2 * np.pi * (h - 6) / 24)) * (0.5 + h // 24 % 5 / 10)
    moer = history.signals["carbon"] + 300.0 + 50.0 * (h % 7)
    sky = [f"{history.at(i).isoformat()},{sun},{gram}" for i, (sun, gram) in enumerate(zip(ghi, moer, strict=True))]
    (tmp_path / "sky.csv").write_text("\n".join(["t,ghi,moer", *sky]), encoding="utf-8")
    file = tmp_path / "sources.toml"
    file.write_text(FILES, encoding="utf-8")
    return file


def test_table_page_csv_and_json_of_files(sources, tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(
        cli, ["forecast", "XX", "--sources", str(sources), "--at", "51,10", "--paths", "40", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    end = START + timedelta(days=DAYS)
    assert f"XX: 168 h from {end:%Y-%m-%dT%H:%M:%SZ}" in done.stdout  # where the files end
    found = json.loads((out / "forecast.json").read_text(encoding="utf-8"))
    names = ["carbon", MARGINAL, "dry_bulb", "ghi", "wind_speed_10m", "solar_yield", "wind_yield"]
    assert list(found["signals"]) == names
    for name, told in found["signals"].items():
        assert np.shape(told["point"]) == (168,)
        quantiles, paths = np.array(told["quantiles"]), np.array(told["paths"])
        assert quantiles.shape == (len(LEVELS), 168)
        assert (np.diff(quantiles, axis=0) >= 0.0).all()
        assert paths.shape == (40, 168)
        assert told["marginal"] == (name == MARGINAL)
        assert told["past_days"] == DAYS
    average, marginal = found["signals"]["carbon"], found["signals"][MARGINAL]
    assert (average["basis"], marginal["basis"]) == ("direct", "marginal")
    assert marginal["name"] == "marginal carbon intensity"
    # They differ by 300 g and more here, and neither has anything of the other.
    assert min(np.array(marginal["point"]) - np.array(average["point"])) > 200.0
    assert re.search(r"average carbon intensity +gCO2e/kWh \(direct\) ", done.stdout)
    assert re.search(r"marginal carbon intensity +gCO2e/kWh \(marginal\) ", done.stdout)
    with (out / "forecast.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS == ("t_start", "signal", "unit", "basis", "point", "q05", "q10", "q25", "q50",
                                         "q75", "q90", "q95")  # fmt: skip
    assert len(rows) == 168 * len(names)
    first = next(row for row in rows if row["signal"] == MARGINAL)
    assert first["t_start"] == f"{end:%Y-%m-%dT%H:%M:%SZ}"
    assert first["basis"] == "marginal"
    assert float(first["q90"]) == marginal["quantiles"][5][0]
    page = (out / "forecast.html").read_text(encoding="utf-8")
    assert re.findall(r'src="|href="(?!data:)', page.split("<script>")[0]) == []
    assert page.count('class="chart"') == len(names)
    assert "<h2>Marginal carbon intensity, gCO2e/kWh, marginal</h2>" in page
    assert "5 to 95 %" in page


def test_where_only_clouds_are_known_the_sun_shines_beneath_them(sources):
    text = FILES.replace(
        'columns.ghi = { column = "ghi", unit = "W/m2" }', 'columns.cloud_cover = { column = "ghi", unit = "%" }'
    )
    sky = sources.parent / "sky.csv"
    head, *lines = sky.read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    sky.write_text("\n".join([head, *(f"{t},{min(100.0, float(c))},{m}" for t, c, m in cells)]), encoding="utf-8")
    sources.write_text(text, encoding="utf-8")
    opener = Opener(None, offline=True, clock=lambda: NOW)
    feeds = feeds_of_file(sources, "XX", opener, place=(51.0, 10.0), history_days=400)
    found = zone_forecast("XX", fetch_series(feeds, NOW, None, 168)[0], feeds, NOW, n_paths=25)
    sun = found.signals["solar_yield"].ahead
    assert sun.model == "robust-blend/1 of cloud cover through PVWatts"
    assert "ghi" not in found.signals
    hour = np.array([t.hour for t in found.starts])
    assert (sun.paths[:, (hour < 3) | (hour > 20)] == 0.0).all()
    # Clouds of the afternoon let a quarter through at least.
    assert sun.paths[:, hour == 11].min() > 0.1
    assert sun.paths.max() <= 1.0 / 1.2


def test_json_alone_on_standard_output_and_a_horizon_that_is_no_week(sources, tmp_path):
    origin = START + timedelta(days=100)
    asked = ["--origin", origin.isoformat(), "--hours", "60", "--json", "--out", str(tmp_path / "o")]
    done = CliRunner().invoke(cli, ["forecast", "XX", "--sources", str(sources), *asked])
    found = json.loads(done.stdout)
    assert found["schema"] == "gridpace.forecast/1"
    assert found["horizon_h"] == len(found["signals"]["carbon"]["point"]) == 60
    assert "solar_yield" not in found["signals"]  # nobody said where


def test_what_came_after_the_origin_changes_nothing(sources, tmp_path):
    origin = START + timedelta(days=90)
    opener = Opener(None, offline=True, clock=lambda: NOW)

    def made():
        feeds = feeds_of_file(sources, "XX", opener, place=(51.0, 10.0), history_days=400)
        series, _ = fetch_series(feeds, NOW, origin, 168)
        return zone_forecast("XX", series, feeds, NOW, origin=origin, n_paths=20).signals

    clean = made()
    for name in ("zone.csv", "sky.csv"):
        head, *lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        wild = [line.split(",")[0] + ",42" * head.count(",") for line in lines[90 * 24 :]]
        (tmp_path / name).write_text("\n".join([head, *lines[: 90 * 24], *wild]), encoding="utf-8")
    other = made()
    assert set(clean) == set(other)
    for name, told in clean.items():
        assert (told.ahead.point == other[name].ahead.point).all(), name
        assert (told.ahead.paths == other[name].ahead.paths).all(), name


def test_a_site_file_gives_its_own_plants_and_labels(tmp_path):
    site = str(tmp_path / "site" / "site.toml")
    assert run(["init", str(tmp_path / "site")]) == 0
    out = tmp_path / "out"
    asked = ["--sources", site, "--origin", "2024-05-20T00:00:00Z", "--out", str(out), "--json"]
    done = CliRunner().invoke(cli, ["forecast", "here", *asked])
    assert done.exit_code == 0, done.output
    found = json.loads((out / "forecast.json").read_text(encoding="utf-8"))
    assert "solar_yield:hall" in found["signals"]
    assert found["signals"]["solar_yield:hall"]["unit"] == "kW/kW"
    assert found["labels"] == ["Synthetic data: demo demo-central is made up, not measured."]
    dark = np.array([(datetime(2024, 5, 20, tzinfo=UTC) + h * HOUR).hour in {23, 0, 1} for h in range(168)])
    assert max(np.array(found["signals"]["solar_yield:hall"]["point"])[dark]) == 0.0


@pytest.fixture
def california(monkeypatch):
    """EIA, WattTime and Open-Meteo for CISO."""
    for name in ("GRIDPACE_EIA_KEY", "GRIDPACE_WATTTIME_KEY"):
        monkeypatch.setenv(name, KEYS[name])
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.add("GET", f"{watttime.BASE_URL}/login", json={"token": "t"})

        def moer(given):
            return moer_answer(
                moment(given["start"]), min(moment(given["end"]) + timedelta(minutes=5), NOW.replace(minute=0))
            )

        def gas(given):
            # The provider stamps hours with their ends.
            first = moment(f"{given['start']}:00") - HOUR
            return eia_answer(first, min(moment(f"{given['end']}:00"), NOW.replace(minute=0) - 2 * HOUR))

        serving(mock, f"{watttime.BASE_URL}/v3/historical", moer)
        this_hour = NOW.replace(minute=0)
        serving(mock, f"{watttime.BASE_URL}/v3/forecast", lambda _: moer_answer(this_hour, this_hour + 72 * HOUR))
        serving(mock, "https://api.eia.gov/v2/electricity/rto/fuel-type-data/data/", gas)
        serving(mock, ARCHIVE_URL, weather_answer)
        serving(mock, FORECAST_URL, weather_answer)
        yield mock


def test_marginal_carbon_is_a_signal_of_its_own_beside_the_average(california, tmp_path):
    opener = Opener(ResponseCache(tmp_path / "kept"), offline=False, clock=lambda: NOW)
    feeds = feeds_of_zone("CISO", opener, place=None, basis="direct", history_days=35)
    series, told = fetch_series(feeds, NOW, None, 168)
    found = zone_forecast("CISO", series, feeds, NOW, told=told)
    assert found.origin == NOW.replace(minute=0)
    average, marginal = found.signals["carbon"], found.signals[MARGINAL]
    assert average.basis == "direct"
    assert marginal.basis == "marginal"
    assert average.source.startswith("EIA")
    assert marginal.source == "WattTime CAISO_NORTH"
    # A quarter gas and no more, against 800 to 823 lb/MWh.
    assert average.ahead.point.max() < 200.0
    hours = [t.hour for t in found.starts]
    told_g = np.array([(800 + hour) * 0.45359237 for hour in hours])
    assert marginal.ahead.point[:60] == pytest.approx(told_g[:60])
    assert marginal.ahead.point == pytest.approx(told_g, rel=0.02)
    assert marginal.provider_until == found.origin + 72 * HOUR
    assert average.provider_until is None
    assert {"solar_yield", "wind_yield"} <= set(found.signals)


def test_a_source_that_fails_is_told_and_the_others_are_forecast(california, tmp_path):
    california.reset()
    for url in (ARCHIVE_URL, FORECAST_URL):
        serving(california, url, weather_answer)
    california.add("GET", re.compile("https://api"), status=403)
    opener = Opener(ResponseCache(tmp_path / "kept"), offline=False, clock=lambda: NOW)
    feeds = feeds_of_zone("CISO", opener, place=None, basis="direct", history_days=28)
    series, told = fetch_series(feeds, NOW, None, 168)
    assert set(series) == {"dry_bulb", "wet_bulb", "ghi", "wind_speed_100m"}
    assert any(label.startswith("No forecast of average carbon intensity: ") for label in told)


def test_zones_that_are_not_listed_and_sources_that_say_nothing():
    opener = Opener(None, offline=True, clock=lambda: NOW)
    with pytest.raises(ConfigError, match="zone 'nowhere' is not listed"):
        feeds_of_zone("nowhere", opener, place=None, basis="direct", history_days=28)
    feeds = feeds_of_zone("GB", opener, place=None, basis="direct", history_days=28)
    with pytest.raises(DataUnavailable, match="was not asked for"):
        fetch_series(feeds, NOW, None, 168)


def test_signals_given_twice_and_hours_that_are_none(sources, tmp_path, capsys):
    sources.write_text(FILES.replace("marginal", "lifecycle"), encoding="utf-8")
    assert run(["forecast", "XX", "--sources", str(sources), "--out", str(tmp_path / "o")]) == 2
    assert "average carbon intensity is given twice" in capsys.readouterr().err
    assert run(["forecast", "XX", "--sources", str(sources), "--origin", "2023-04-01T00:30:00Z"]) == 2
    assert "is no whole hour" in capsys.readouterr().err
    assert run(["forecast", "XX", "--sources", str(sources), "--basis", "direct"]) == 2
    assert "--basis is for the zone's own providers" in capsys.readouterr().err


def test_backtests_know_marginal_carbon_apart_too(sources):
    past = read_past(sources, "XX", START, START + timedelta(days=DAYS))
    assert {"carbon", MARGINAL} <= set(past.history.signals)
    assert past.series[MARGINAL].basis == "marginal"
