"""The past of a zone from its own providers: the command without files, from the cache alone, what it cannot have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
import responses
from click.testing import CliRunner

from planner import backtest_past
from planner.backtest_past import past_of_zone
from planner.cli import cli, run
from planner.errors import DataUnavailable
from planner.forecast import backtest, boosted
from planner.forecast.history import PROFILE_DAYS
from planner.forecast.issued import BLEND, NAIVE
from planner.sources import registry
from planner.sources.cache import ResponseCache, default_folder
from planner.sources.chain import Chain, Link
from planner.sources.energy_charts import BASE_URL
from planner.sources.http import Http
from planner.sources.issued import IssuedForecasts
from planner.sources.open_meteo import ARCHIVE_URL, FORECAST_URL
from planner.sources.rows import NoValues, make_series
from planner.zone_feeds import Feed, Feeds
from tests.feeds import HOUR, KEYS, NOW, moment, power_answer, serving
from tests.unit.test_far_past import DAY, weather_answer, wind

FIRST, LAST = datetime(2026, 2, 20, tzinfo=UTC), datetime(2026, 2, 22, tzinfo=UTC)
DAYS = ["--from", f"{FIRST:%Y-%m-%d}", "--to", f"{LAST:%Y-%m-%d}"]
FEWEST = 17
"""Forecasts before the first here: ten that are over in every lead day, so that there are quantiles."""
LEAST = (PROFILE_DAYS + FEWEST) * DAY


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.setattr(boosted, "available", lambda: False)
    monkeypatch.setattr(backtest, "EARLIER_DAYS", FEWEST)
    monkeypatch.setattr(registry, "utc_now", lambda: NOW)
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path / "cache"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@responses.activate
def test_a_zone_is_scored_from_its_own_providers_and_again_from_the_cache_alone(tmp_path):
    def power(given):
        first, last = moment(given["start"]), min(moment(given["end"]), NOW.replace(minute=0))
        return power_answer(first, last, HOUR, Fossil_gas=lambda t: 300.0 - 20.0 * wind(t), Wind_onshore=700.0)

    serving(responses, f"{BASE_URL}/public_power", power)
    responses.add("GET", f"{BASE_URL}/price", status=403)
    for url in (ARCHIVE_URL, FORECAST_URL):
        serving(responses, url, weather_answer)
    one, two = tmp_path / "one", tmp_path / "two"
    asked = ["backtest", "DE-LU", *DAYS, "--signal", "carbon", "--signal", "dry_bulb", "--basis", "lifecycle"]
    done = CliRunner().invoke(cli, [*asked, "--out", str(one)])
    assert done.exit_code == 0, done.output
    assert "DE-LU: 3 daily forecasts of 168 h, from 2026-02-20 to 2026-02-22" in done.stdout
    found = json.loads((one / "backtest.json").read_text(encoding="utf-8"))
    assert [(s["signal"], s["model"]) for s in found["scores"]] == [
        ("carbon", NAIVE), ("carbon", BLEND), ("dry_bulb", NAIVE), ("dry_bulb", BLEND)
    ]  # fmt: skip
    assert found["signals"]["carbon"]["basis"] == "lifecycle"
    assert found["signals"]["carbon"]["source"].startswith("Energy-Charts")
    assert all(value is not None for s in found["scores"] for value in s["by_lead_day"]["crps"])
    # The weather's forecast was kept today, after every origin: nothing to score.
    assert "as_issued" not in found
    (told,) = found["labels"]
    assert told.startswith("No forecast of price: ")
    assert f"note: {told}" in done.stderr
    assert "No forecast of price: " in (one / "backtest.html").read_text(encoding="utf-8")

    responses.reset()  # from here on no address answers
    weather = found["signals"]["dry_bulb"]["source"]
    starts = pd.date_range(FIRST, periods=48, freq="h")
    warmer = 12.0 + starts.hour / 4 + 2.0
    rows = pd.DataFrame({"t_start": starts, "t_end": starts + HOUR, "value": warmer, "kind": "forecast", "flags": ""})
    told_then = make_series(
        signal="dry_bulb", zone="DE-LU", rows=rows, source=weather, licence="own", fetched_at=FIRST - HOUR
    )
    IssuedForecasts(default_folder()).keep(told_then)
    again = CliRunner().invoke(cli, [*asked, "--offline", "--out", str(two)])
    assert again.exit_code == 0, again.output
    offline = json.loads((two / "backtest.json").read_text(encoding="utf-8"))
    assert offline["scores"] == found["scores"]
    (as_issued,) = offline["as_issued"]["signals"]
    assert (as_issued["source"], as_issued["issues"], as_issued["hours"]) == (weather, 1, 48)
    assert as_issued["models"][0]["by_lead_day"]["mae"][:3] == [pytest.approx(2.0), pytest.approx(2.0), None]
    assert "As issued: " in again.stdout


@dataclass(frozen=True)
class Known:
    """A provider on the network that answers from memory: hours from `begins` on, forecasts from `measured` on."""

    http: Http
    signal: str
    begins: datetime = NOW - 1000 * DAY
    measured: datetime = NOW
    name: str = "Known"

    def fetch(self, signal, zone, start, end):
        starts = pd.date_range(max(start, self.begins), min(end, NOW + 48 * HOUR), freq="h", inclusive="left")
        if not len(starts):
            raise NoValues(f"Known has nothing of {signal} before {self.begins:%Y-%m-%d}")
        kind = np.where(starts < self.measured, "actual", "forecast")
        rows = pd.DataFrame({"t_start": starts, "t_end": starts + HOUR, "value": 20.0, "kind": kind, "flags": ""})
        basis = "direct" if signal == "carbon" else ""
        return make_series(
            signal=signal, zone=zone, rows=rows, source=f"Known {signal}", licence="own", basis=basis, fetched_at=NOW
        )


@pytest.fixture
def feeds(tmp_path):
    """What gives feeds of signals that are known from an instant on."""
    http = Http(ResponseCache(tmp_path / "kept"), offline=False, clock=lambda: NOW)

    def of(**signals):
        sources = [Known(http, signal, **known) for signal, known in signals.items()]
        chains = [Chain((Link("Known", source, "XX"),), lambda: NOW) for source in sources]
        return Feeds(tuple(Feed(c, (s.signal,)) for c, s in zip(chains, sources, strict=True)), None, 120)

    return of


def test_all_signals_reach_back_as_far_as_the_first_forecast_needs(feeds):
    past = past_of_zone(feeds(carbon={}, wet_bulb={}), NOW, FIRST, LAST)
    assert FIRST - LEAST - 28 * DAY < past.history.start <= FIRST - LEAST
    assert past.history.at(past.history.n_hours) == LAST + 7 * DAY
    assert past.told == ()


def test_where_trees_are_fitted_all_signals_reach_back_as_far_as_is_asked(feeds, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: True)
    past = past_of_zone(feeds(carbon={}, wet_bulb={}), NOW, FIRST, LAST)  # no tree sees a wet bulb
    assert FIRST - 148 * DAY < past.history.start <= FIRST - 120 * DAY
    begins = FIRST - 90 * DAY
    shorter = past_of_zone(feeds(carbon={"begins": begins}, wet_bulb={}), NOW, FIRST, LAST)
    assert shorter.history.start == begins
    (told,) = shorter.told
    assert told == (
        "The forecast of average carbon intensity sees 99 of 129 days of Known carbon: Known has nothing of carbon "
        f"before {begins:%Y-%m-%d}."
    )


def test_a_signal_that_is_known_too_late_is_left_out(feeds, monkeypatch):
    late = {"begins": FIRST - LEAST + DAY}
    past = past_of_zone(feeds(carbon=late, dry_bulb={}, ghi={"measured": NOW - 900 * DAY}), NOW, FIRST, LAST)
    assert set(past.series) == set(past.history.signals) == {"dry_bulb"}
    need = "and forecasts from 2026-02-20T00:00:00Z on need 45 days before."
    assert past.told == (
        f"No backtest of average carbon intensity: Known carbon is known from 2026-01-07T00:00:00Z on, {need}",
        f"No backtest of sunshine on the level: Known ghi has only forecasts, {need}",
    )
    # So is every one where the time for the far past is too short.
    monkeypatch.setattr(backtest_past, "BUDGET_S", 0.0)
    with pytest.raises(DataUnavailable, match="no provider knows the past from 2026-01-06T00:00:00Z on") as told:
        past_of_zone(feeds(carbon={}), NOW, FIRST, LAST)
    assert "the time for it was used up" in told.value.why
    assert "run it again" in told.value.fix


def test_a_span_that_is_not_over_ends_where_what_came_ends(feeds):
    past = past_of_zone(feeds(carbon={"measured": NOW.replace(minute=0)}), NOW, FIRST, NOW.replace(hour=0, minute=0))
    assert past.history.at(past.history.n_hours) == NOW.replace(minute=0)


def test_offline_without_a_cache_says_that_nothing_was_asked(capsys):
    assert run(["backtest", "DE-LU", *DAYS, "--offline"]) == 4
    assert "was not asked for" in capsys.readouterr().err
    assert run(["backtest", "nowhere", *DAYS]) == 2
    assert "zone 'nowhere' is not listed" in capsys.readouterr().err


def test_options_of_providers_mean_nothing_to_files(tmp_path, capsys):
    file = tmp_path / "sources.toml"
    for option in (["--offline"], ["--basis", "direct"]):
        assert run(["backtest", "XX", *DAYS, "--sources", str(file), *option]) == 2
        assert f"{option[0]} is for the zone's own providers" in capsys.readouterr().err
