"""Answers damaged at random: whatever a provider sends, a fetch ends with a sound series or a typed error."""

from __future__ import annotations

import contextlib
import json
import random
import re
from datetime import timedelta

import numpy as np
import pytest
import responses

from planner.errors import GridpaceError
from tests.feeds import (
    HALF,
    HOUR,
    KEYS,
    NOW,
    eia_answer,
    em_ahead,
    em_past,
    em_prices,
    entsoe_document,
    entsoe_series,
    moer_answer,
    opened,
    power_answer,
    price_answer,
    times,
)

DAY = timedelta(days=1)
FIRST = NOW.replace(hour=0, minute=0) - DAY
LAST = FIRST + DAY
TRIES = 10
ODD = (
    None, "", "x", "n/a", "-", True, [], {}, [1], {"a": 1}, -1, 0, 1, 1e9, -1e300, float("inf"), float("nan"), 10**400,
    "1e5", "1,5", "٣", "2026-02-30T00:00Z", "9999-12-31T23:30Z", "0001-01-01T00:00:00+00:00", "2026-03-03",
    "1601-01-01T00:00:00Z", "2026-03-03T01:17:00Z", "Infinity", 1772496000, 10**18, -(10**12),
)  # fmt: skip


def uk(first, last, *, regional=False):
    form = "%Y-%m-%dT%H:%MZ"
    mix = [{"fuel": "gas", "perc": 40.0}, {"fuel": "wind", "perc": 50.5}, {"fuel": "imports", "perc": 9.5}]
    rows = [
        {
            "from": f"{t:{form}}",
            "to": f"{t + HALF:{form}}",
            "intensity": {"forecast": 120, "actual": 118, "index": "low"},
            "generationmix": mix,
        }
        for t in times(first, last, HALF)
    ]
    return {"data": [{"regionid": 13, "data": rows}] if regional else rows}


def weather(first, last):
    hours = [t.strftime("%Y-%m-%dT%H:%M") for t in times(first, last + HOUR, HOUR)]
    names = {"temperature_2m": "°C", "relative_humidity_2m": "%", "shortwave_radiation": "W/m²"}
    return {
        "utc_offset_seconds": 0,
        "elevation": 100.0,
        "hourly_units": names,
        "hourly": {"time": hours, **{name: [20.0] * len(hours) for name in names}},
    }


def prices(first, last):
    return entsoe_document(
        entsoe_series(first, first + 12 * HOUR, {1: 10.0, 3: 20.0}, curve="A03", sequence="1", unit="EUR/MWH"),
        entsoe_series(first + 12 * HOUR, last, [5.0] * 48, step="PT15M", sequence="1", unit="EUR/MWH"),
        kind="Publication_MarketDocument",
    )


def mix(first, last):
    return entsoe_document(
        entsoe_series(first, last, [300] * 96, step="PT15M", psr="B04"),
        entsoe_series(first, last, {1: 650, 5: 600}, curve="A03", psr="B19"),
    )


FEEDS = {
    "uk": ("uk-carbon-intensity", {}, "carbon", "GB", uk(FIRST, LAST)),
    "uk-region": ("uk-carbon-intensity", {}, "carbon", "GB-13", uk(FIRST, LAST, regional=True)),
    "uk-mix": ("uk-carbon-intensity", {"basis": "lifecycle"}, "carbon", "GB", uk(FIRST, LAST)),
    "energy-charts-price": ("energy-charts", {}, "price", "DE-LU", price_answer(FIRST, LAST, HOUR)),
    "energy-charts-mix": ("energy-charts", {}, "carbon", "DE-LU", power_answer(FIRST, LAST, HOUR)),
    "weather": ("open-meteo", {"latitude": 51.0, "longitude": 10.0}, "wet_bulb", "X", weather(FIRST, LAST)),
    "sun": ("open-meteo", {"latitude": 51.0, "longitude": 10.0}, "ghi", "X", weather(FIRST, LAST)),
    "em-past": ("electricity-maps", {}, "carbon", "DE", em_past(FIRST, LAST)),
    "em-ahead": ("electricity-maps", {}, "carbon", "DE", em_ahead(NOW.replace(minute=0), 23)),
    "em-price": ("electricity-maps", {}, "price", "DE", em_prices(FIRST, LAST)),
    "watttime": ("watttime", {}, "carbon", "CAISO_NORTH", moer_answer(NOW.replace(minute=0), NOW + 4 * HOUR)),
    "eia": ("eia", {}, "carbon", "CISO", eia_answer(FIRST, LAST)),
    "entsoe-price": ("entsoe", {}, "price", "DE-LU", prices(FIRST, LAST)),
    "entsoe-mix": ("entsoe", {}, "carbon", "DE-LU", mix(FIRST, LAST)),
    "entsoe-wind": ("entsoe", {}, "wind_generation", "DE-LU", mix(FIRST, LAST)),
}
"""Name -> provider, options, signal, zone, a good answer."""


BODIES = (
    "5", "true", "null", "NaN", "1e999", "[]", "[1]", "{}", "[[]]", '"data"', '{"data": 5}', '{"data": [5]}',
    '{"data": [null]}', '{"response": {"data": [{}], "total": {}}}', "<a/>",
    "<GL_MarketDocument><TimeSeries/></GL_MarketDocument>",
)  # fmt: skip
"""What is no answer of any provider."""
FAR = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-14:00", "0001-01-01T00", "9999-12-31T23", "9999-12-31T23:30Z")
"""Times that cannot be taken to UTC, or have no hour before or after them."""
STAMP = re.compile(r'("(?:datetime|point_time|generated_at|updatedAt|period|from|to)": )"[^"]*"')


def places(tree, here=()):
    """Yield the way to every node of a JSON value."""
    yield here
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from places(child, (*here, key))


def damaged_json(good, rng):
    tree = json.loads(json.dumps(good))
    for _ in range(rng.choice((1, 1, 2, 5))):
        *way, key = rng.choice([place for place in places(tree) if place])
        holder = tree
        for step in way:
            holder = holder[step]
        act = rng.choice(("odd", "odd", "drop", "twice", "shuffle"))
        if act == "drop":
            del holder[key]
        elif act == "twice" and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif act == "shuffle" and isinstance(holder, list):
            rng.shuffle(holder)
        else:
            holder[key] = rng.choice(ODD)
        if not isinstance(tree, dict) or not tree:
            break
    return json.dumps(tree).encode()


def damaged_xml(good, rng):
    for _ in range(rng.choice((1, 1, 2, 5))):
        leaves = list(re.finditer(r"<([\w.:]+)>([^<>]*)</\1>", good))
        if not leaves:
            break
        leaf = rng.choice(leaves)
        odd = str(rng.choice(ODD)).replace("<", "")
        name = leaf[1]
        new = rng.choice((f"<{name}>{odd}</{name}>", "", leaf[0] * 2, f"<{name}/>"))
        good = good[: leaf.start()] + new + good[leaf.end() :]
    return good.encode()


def damaged(good, rng):
    whole = damaged_xml(good, rng) if isinstance(good, str) else damaged_json(good, rng)
    return whole[: rng.randrange(len(whole))] if rng.random() < 0.05 else whole


@responses.activate
@pytest.mark.parametrize("name", FEEDS)
def test_no_answer_at_all_and_times_of_no_calendar_are_typed_errors(name, monkeypatch):
    for key, value in KEYS.items():
        monkeypatch.setenv(key, value)
    provider, options, signal, zone, good = FEEDS[name]
    responses.add("GET", re.compile(".*/login"), json={"token": "t"})
    start, end = (NOW, NOW + DAY) if "ahead" in name or name == "watttime" else (FIRST, LAST)
    far = [STAMP.sub(rf'\1"{odd}"', json.dumps(good), count=1) for odd in FAR]
    for body in (*BODIES, *([] if isinstance(good, str) else far)):
        responses.add("GET", re.compile(".*"), body=body)
        if body in far:
            with contextlib.suppress(GridpaceError):
                rows = opened(provider, now=NOW, **options).fetch(signal, zone, start, end).rows
                assert set(rows.t_start.dt.year) == {NOW.year}
        else:
            with pytest.raises(GridpaceError):
                opened(provider, now=NOW, **options).fetch(signal, zone, start, end)
        responses.remove("GET", re.compile(".*"))


@responses.activate
@pytest.mark.parametrize("name", FEEDS)
def test_a_damaged_answer_makes_a_sound_series_or_a_typed_error(name, monkeypatch):
    for key, value in KEYS.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr("planner.sources.retry.BudgetRetry.is_retry", lambda *a, **k: False)
    provider, options, signal, zone, good = FEEDS[name]
    rng = random.Random(name)
    sent = []

    def reply(request):
        if request.url.endswith("/login"):
            return 200, {}, json.dumps({"token": "t"})
        whole = good.encode() if isinstance(good, str) else json.dumps(good).encode()
        sent.append(damaged(good, rng) if sent else whole)
        return 200, {}, sent[-1]

    responses.add_callback(responses.GET, re.compile(".*"), reply)
    start, end = (NOW, NOW + DAY) if "ahead" in name or name == "watttime" else (FIRST, LAST)
    assert len(opened(provider, now=NOW, **options).fetch(signal, zone, start, end).rows) > 1
    faults = []
    for _ in range(TRIES):
        try:
            rows = opened(provider, now=NOW, **options).fetch(signal, zone, start, end).rows
        except GridpaceError as error:
            faults.append(error)
            continue
        assert np.isfinite(rows.value).all(), sent[-1][:2000]
        assert (rows.t_end > rows.t_start).all()
        assert (rows.t_start.diff().dropna() > timedelta(0)).all()
        assert (rows.t_end.to_numpy()[:-1] <= rows.t_start.to_numpy()[1:]).all()
    assert faults
    assert all(fault.fix for fault in faults)
