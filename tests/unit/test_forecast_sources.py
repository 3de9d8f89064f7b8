"""What a forecast takes from its sources: what was known at its origin, from whom, and how old."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import responses

from planner.errors import ConfigError, DataUnavailable
from planner.forecast import boosted
from planner.sources.cache import ResponseCache
from planner.sources.issued import IssuedForecasts
from planner.sources.rows import make_series
from planner.zone_feeds import Feeds, Opener, feeds_of_file
from planner.zone_forecast import zone_forecast
from planner.zone_series import fetch_series
from tests.feeds import HOUR, moment, power_answer, serving
from tests.feeds import NOW as CLOCK

NOW = CLOCK.replace(minute=0)
ORIGIN = NOW - timedelta(days=3)
POWER = re.compile(r"https://api\.energy-charts\.info/public_power.*")
FILE = """provider = "csv"
path = "{name}.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
"""


@pytest.fixture(autouse=True)
def _no_trees(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)


def written(folder, name, start, days, **columns):
    """A file of hours, and its table's lines; columns are constant."""
    hours = [start + h * HOUR for h in range(days * 24)]
    lines = [",".join([f"{t:%Y-%m-%dT%H:%M:%SZ}", *(str(v + t.hour) for v in columns.values())]) for t in hours]
    (folder / f"{name}.csv").write_text("\n".join([",".join(["t", *columns]), *lines]), encoding="utf-8")
    return FILE.format(name=name)


CARBON = 'columns.carbon = { column = "carbon", unit = "g/kWh", basis = "direct" }\n'


def asked(tmp_path, text, *, offline=True, now=NOW, days=400):
    file = tmp_path / "sources.toml"
    file.write_text(text, encoding="utf-8")
    opener = Opener(ResponseCache(tmp_path / "kept"), offline=offline, clock=lambda: now)
    feeds = feeds_of_file(file, "DE-LU", opener, place=None, history_days=days)
    series, told = fetch_series(feeds, now, None, 168)
    return zone_forecast("DE-LU", series, feeds, now, n_paths=20, told=told)


# --- what was known at the origin -------------------------------------------------------------------------------------


def carbon(value=300.0, *, actual_until=NOW, ahead=None):
    """Forty days that were and, where `ahead` is given, three days that the source says of them."""
    t = pd.date_range(NOW - timedelta(days=40), actual_until + timedelta(days=3), freq="h", inclusive="left")
    came = t < actual_until
    rows = pd.DataFrame(
        {
            "t_start": t,
            "t_end": t + HOUR,
            "value": np.where(came, value + 10.0 * (t.hour % 5), ahead or 0.0),
            "kind": np.where(came, "actual", "forecast"),
            "flags": "",
        }
    )
    kept = rows[came | (ahead is not None)]
    named = {"signal": "carbon", "zone": "X", "source": "Provider X", "licence": "", "basis": "direct"}
    return make_series(**named, rows=kept, fetched_at=NOW)


def made(series, tmp_path, origin=ORIGIN):
    feeds = Feeds((), None, 400)
    found = zone_forecast("X", {"carbon": series}, feeds, NOW, origin=origin, n_paths=20, cache=ResponseCache(tmp_path))
    return found.signals["carbon"]


def test_a_forecast_from_a_past_origin_does_not_see_what_its_source_says_now(tmp_path):
    now = made(carbon(ahead=900.0), tmp_path)
    assert now.provider_until is None
    assert (now.ahead.point == made(carbon(), tmp_path).ahead.point).all()
    assert made(carbon(ahead=900.0), tmp_path, NOW).provider_until == NOW + timedelta(days=3)


def test_it_sees_what_was_kept_as_issued_before_and_nothing_of_later(tmp_path):
    kept = IssuedForecasts(ResponseCache(tmp_path).folder)
    then = carbon(actual_until=ORIGIN, ahead=500.0)
    kept.keep(replace(then, fetched_at=ORIGIN - HOUR / 2))
    before = made(carbon(ahead=900.0), tmp_path)
    assert before.provider_until == ORIGIN + timedelta(days=3)
    assert before.ahead.point[:48] == pytest.approx(500.0)
    for days in (0.5, 1, 2, 2.5):  # later ones, each 400 off what came: they tell an error that nobody knew then
        at = ORIGIN + timedelta(days=days)
        later = carbon(actual_until=at, ahead=900.0)
        kept.keep(replace(later, fetched_at=at))
    after = made(carbon(ahead=900.0), tmp_path)
    assert after.shift == before.shift == 0.0
    assert (after.ahead.point == before.ahead.point).all()


# --- from whom --------------------------------------------------------------------------------------------------------


def test_generation_in_a_file_is_forecast_too(tmp_path):
    text = written(tmp_path, "a", NOW - timedelta(days=40), 40, carbon=300, wind=50)
    text = f'[sources.mine]\n{text}{CARBON}columns.wind_generation = {{ column = "wind", unit = "MW" }}\n'
    found = asked(tmp_path, text).signals
    assert list(found) == ["carbon", "wind_generation"]
    assert found["wind_generation"].unit == "kW"
    assert found["wind_generation"].ahead.point[:24] == pytest.approx([1000.0 * (50 + t.hour) for t in ahead(24)])


def ahead(n):
    return [NOW + h * HOUR for h in range(n)]


def test_a_table_names_who_stands_in_for_it(tmp_path):
    file = written(tmp_path, "a", NOW - timedelta(days=40), 40, carbon=300)
    text = '[sources.carbon]\nprovider = "uk-carbon-intensity"\nzone = "GB"\n'
    found = asked(tmp_path, f"{text}[[sources.carbon.fallback]]\n{file}{CARBON}")
    assert found.signals["carbon"].source == "csv a.csv"
    assert any(label.startswith("Fallback: carbon is from csv a.csv") for label in found.labels)
    with pytest.raises(ConfigError, match=r"fallback of sources\.carbon is no list of tables"):
        asked(tmp_path, f"{text}fallback = 3\n")
    with pytest.raises(ConfigError, match=r"sources\.carbon\.fallback names no provider"):
        asked(tmp_path, f"{text}[[sources.carbon.fallback]]\nzone = 3\n")


@responses.activate
@pytest.mark.parametrize("days_ago", [0, 400])
def test_who_stands_in_for_a_file_is_asked_for_the_near_past_alone(tmp_path, days_ago):
    """A file is asked for all its past; a provider on the network never for that."""
    serving(responses, POWER, lambda p: power_answer(moment(p["start"]), min(moment(p["end"]) + HOUR / 60, NOW), HOUR))
    file = written(tmp_path, "a", NOW - timedelta(days=40 + days_ago), 40, carbon=300)
    text = f'[sources.carbon]\n{file}{CARBON}[[sources.carbon.fallback]]\nprovider = "energy-charts"\n'
    found = asked(tmp_path, text, offline=False).signals["carbon"]
    assert len(responses.calls) == (6 if days_ago else 0)  # weeks that hold the last 28 days and the next two
    assert found.past_days == (28 if days_ago else 40)
    assert found.source.startswith("Energy-Charts" if days_ago else "csv")


# --- and how old ------------------------------------------------------------------------------------------------------


def test_a_series_that_ended_before_all_that_is_asked_for_is_told(tmp_path):
    new = written(tmp_path, "a", NOW - timedelta(days=40), 40, carbon=300)
    old = written(tmp_path, "b", NOW - timedelta(days=500), 40, price=50)
    text = f'[sources.a]\n{new}{CARBON}[sources.b]\n{old}columns.price = {{ column = "price", unit = "EUR/MWh" }}\n'
    found = asked(tmp_path, text)
    assert list(found.signals) == ["carbon"]
    at = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    told = (
        f"No forecast of price: csv b.csv has less than 7 days, the first of them whole, in the 400 days before {at}."
    )
    assert told in found.labels
    assert "No forecast of solar and wind yield: the place is not known; --at says it." in found.labels


def test_hours_that_are_not_known_are_told_and_nothing_is_made_from_what_ended_long_before(tmp_path):
    late = written(tmp_path, "a", NOW - timedelta(days=42), 40, carbon=300)
    other = written(tmp_path, "b", NOW - timedelta(days=40), 40, price=50)
    prices = f'[sources.b]\n{other}columns.price = {{ column = "price", unit = "EUR/MWh" }}\n'
    found = asked(tmp_path, f"[sources.a]\n{late}{CARBON}{prices}")
    assert found.origin == NOW
    at = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert found.labels[0] == (
        f"Gaps filled: 48 of 1008 hours of average carbon intensity before {at} are not known of csv a.csv, and are "
        "taken from the same hours of the days before."
    )
    early = written(tmp_path, "a", NOW - timedelta(days=48), 40, carbon=300)
    found = asked(tmp_path, f"[sources.a]\n{early}{CARBON}{prices}")
    assert list(found.signals) == ["price"]
    ended = f"{NOW - timedelta(days=8):%Y-%m-%dT%H:%M:%SZ}"
    assert found.labels[0] == (
        f"No forecast of average carbon intensity: csv a.csv ends {ended}, more than 7 days before {at}."
    )
    with pytest.raises(DataUnavailable, match="no series of DE-LU can be forecast from") as caught:
        asked(tmp_path, f"[sources.a]\n{written(tmp_path, 'a', NOW - timedelta(days=5), 5, carbon=300)}{CARBON}")
    assert "csv a.csv has less than 7 days, the first of them whole, in the 400 days before" in caught.value.why


def test_a_forecast_begins_where_the_files_of_the_grid_end_and_not_where_the_weather_does(tmp_path):
    carbon = written(tmp_path, "a", NOW - timedelta(days=42), 40, carbon=300)
    sky = written(tmp_path, "b", NOW - timedelta(days=40), 40, wet=10, dry=12)
    columns = "".join(f'columns.{name}_bulb = {{ column = "{name}", unit = "degC" }}\n' for name in ("wet", "dry"))
    found = asked(tmp_path, f"[sources.a]\n{carbon}{CARBON}[sources.b]\n{sky}{columns}")
    assert found.origin == NOW - timedelta(days=2)


@responses.activate
def test_a_last_good_answer_is_told_with_its_age(tmp_path):
    serving(responses, POWER, lambda p: power_answer(moment(p["start"]), min(moment(p["end"]) + HOUR / 60, NOW), HOUR))
    text = '[sources.carbon]\nprovider = "energy-charts"\n'
    asked(tmp_path, text, offline=False, days=28)
    later = asked(tmp_path, text, now=NOW + 5 * HOUR, days=28)
    (told,) = [label for label in later.labels if label.startswith("Stale")]
    assert told.endswith("is the last good answer, 5.0 h old.")
