"""An answer that is refused is not kept: once its provider has mended it, it is asked for anew, however old it is."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import responses

from planner.errors import SchemaChanged
from planner.sources.cache import ResponseCache
from tests.feeds import (
    HOUR,
    KEYS,
    NOW,
    eia_answer,
    em_past,
    entsoe_document,
    entsoe_series,
    moment,
    opened,
    serving,
)

EIA = re.compile(r"https://api\.eia\.gov/.*")
ENTSOE = re.compile(r"https://web-api\.tp\.entsoe\.eu/.*")
EM = re.compile(r"https://api\.electricitymap.*")
LONG_AGO = NOW.replace(minute=0) - timedelta(days=40)  # settled, and so fresh for good where it is kept
SPAN = LONG_AGO, LONG_AGO + 24 * HOUR
TEN_YEARS = timedelta(days=3653)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def eia(params, value="250", **kw):
    return eia_answer(moment(params["start"]) - HOUR, moment(params["end"]), fuels={"NG": value, "SUN": 750}, **kw)


def entsoe(params, value=300):
    first, last = (
        moment(f"{p[:4]}-{p[4:6]}-{p[6:8]}T{p[8:10]}:00") for p in (params["periodStart"], params["periodEnd"])
    )
    count = int((last - first) / HOUR)
    return entsoe_document(
        entsoe_series(first, last, [300] * (count - 1) + [value], psr="B04"),
        entsoe_series(first, last, [700] * count, psr="B19"),
    )


def maps(params, later=timedelta(0)):
    first, last = (moment(params[edge].replace("Z", "+00:00")) for edge in ("start", "end"))
    return em_past(first + later, last + later)


CASES = {
    "a value that is none": ("eia", "CISO", EIA, lambda p: eia(p, "lots"), eia, "is 'lots'"),
    "a unit that jumps": (
        "eia",
        "CISO",
        EIA,
        lambda p: eia(p, lambda t: 250 if t < LONG_AGO else 250_000),
        eia,
        "all generation at",
    ),
    "a value of no number": ("entsoe", "DE-LU", ENTSOE, lambda p: entsoe(p, "n.b."), entsoe, "is 'n.b.'"),
    "a jump on the platform": ("entsoe", "DE-LU", ENTSOE, lambda p: entsoe(p, 10**7), entsoe, "all generation at"),
    "wrong years of carbon": ("electricity-maps", "DE", EM, lambda p: maps(p, TEN_YEARS), maps, "asked was"),
}


@responses.activate
@pytest.mark.parametrize("case", CASES)
def test_a_refused_answer_is_asked_for_anew(case, tmp_path):
    provider, zone, url, bad, good, told = CASES[case]
    cache = ResponseCache(tmp_path)
    serving(responses, url, bad)
    with pytest.raises(SchemaChanged, match=re.escape(told)):
        opened(provider, cache).fetch("carbon", zone, *SPAN)
    responses.reset()
    serving(responses, url, good)
    series = opened(provider, cache).fetch("carbon", zone, *SPAN)
    assert len(series.rows) == 24
    assert not series.rows["flags"].str.contains("stale").any()


@responses.activate
def test_a_bad_page_that_was_kept_does_not_spoil_the_whole_for_ever(tmp_path):
    """Pages before the last are kept before all are known: what makes no sense together is asked for once more."""
    cache, first = ResponseCache(tmp_path), []
    fuels = {"NG": 250, **{f"X{i:02d}": 25 for i in range(32)}}

    def build(params):
        answer = eia_answer(moment(params["start"]) - HOUR, moment(params["end"]), fuels=fuels)
        rows, offset = answer["response"]["data"], int(params["offset"])
        if not offset and not first:
            rows[3]["value"] = "lots"
        answer["response"] |= {"data": rows[offset : offset + 5000]}
        first.append(offset)
        return answer

    serving(responses, EIA, build)
    assert len(opened("eia", cache).fetch("carbon", "CISO", *SPAN).rows) == 24
    assert first == [0, 5000, 0, 5000]
