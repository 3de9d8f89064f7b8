"""A week whose first provider fails in every way there is: it ends in time, comes from the fallback, and says so."""

from __future__ import annotations

import html
import json
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from planner import outlook
from planner.config import site_from_text, starter_site
from planner.errors import DataUnavailable
from planner.export.report import report_html
from planner.gather import gather
from planner.optimize import PlanOptions
from planner.pipeline import plan_week
from planner.sources import transport
from planner.sources.cache import ResponseCache
from planner.sources.registry import open_source
from tests.feeds import HALF, HOUR, moment, power_answer, times
from tests.loopback import cut_chunks, dripping, hang_up, say, silent

NOW = datetime(2024, 5, 12, 9, 30, tzinfo=UTC)
BUDGET_S = 0.8
ACTS = {
    "slow": silent,
    "dripping": dripping,
    "cut": cut_chunks,
    "hang-up": hang_up,
    "429": say(429, b"{}", Retry_After=600),
    "500": say(500, b"oops"),
    "503": say(503, b"<html>later</html>"),
    "empty": say(200, b'{"data": []}'),
    "nothing": say(200, b""),
    "wrong-schema": say(200, b'{"intensities": [1, 2, 3]}'),
    "page": say(200, b"<html>maintenance</html>", Content_Type="text/html"),
    "huge": say(200, b" " * 200_000),
    "redirect": say(302, Location="http://localhost:9/"),
    "bad-key": say(401, b'{"message": "no"}'),
}
CHAIN = """[sources.carbon]
provider = "uk-carbon-intensity"
zone = "GB"

[[sources.carbon.fallback]]
provider = "energy-charts"
zone = "DE-LU"
"""


def good(handler):
    """What the fallback measured up to half an hour ago."""
    asked = parse_qs(urlsplit(handler.path).query)
    first, last = (moment(asked[key][0]) for key in ("start", "end"))
    body = json.dumps(power_answer(first, min(last, NOW - HOUR / 2), HOUR / 4)).encode()
    say(body=body)(handler)


@pytest.fixture
def site(tmp_path):
    text = starter_site().replace("# Without [sources]", f"{CHAIN}\n# Without", 1)
    return site_from_text(text, tmp_path / "site.toml")


@pytest.fixture
def served(provider, monkeypatch):
    """Lets each provider be one on the loopback, the first with a short budget where it is hurried."""

    def at(scheme="http", tls=None, *, hurried=True, **acts):
        servers = {name: provider(act, tls=tls if name == "uk" else None) for name, act in acts.items()}

        def opened(spec, **kw):
            source = open_source(spec, **kw)
            name = spec.provider.split("-")[0]
            if name not in servers:
                return source
            limits = {"budget_s": 20.0, "backoff_s": 0.01}
            limits |= {"budget_s": BUDGET_S, "connect_s": 0.3, "read_s": 0.3} if name == "uk" and hurried else {}
            place = f"{scheme if name == 'uk' else 'http'}://127.0.0.1:{servers[name].server_address[1]}"
            return replace(source, http=replace(source.http, **limits), base_url=place)

        monkeypatch.setattr(outlook, "open_source", opened)
        monkeypatch.setattr(transport, "_MOST_BYTES", 100_000 if acts["uk"] is ACTS["huge"] else 32 * 1024**2)
        return servers

    return at


def told(week):
    (label,) = [text for text in week.labels if text.startswith("Fallback: ")]
    return label


@pytest.mark.parametrize("name", ACTS)
def test_the_week_is_gathered_from_the_fallback_in_time_and_says_so(served, site, tmp_path, name):
    servers = served(uk=ACTS[name], energy=good)
    began = time.monotonic()
    week = gather(site, now=NOW, cache=ResponseCache(tmp_path / "cache"))
    assert time.monotonic() - began < BUDGET_S + 8.0  # and what the fallback takes on a busy machine
    assert servers["uk"].asked
    assert told(week).startswith(
        "Fallback: carbon is from Energy-Charts DE-LU, mix of de x direct-ipcc2014/1, fetched 2024-05-12T09:30:00Z"
        " (0.0 h old), because uk-carbon-intensity: UK Carbon Intensity"
    )
    carbon = week.provenance[0]
    assert carbon.source.startswith("Energy-Charts DE-LU")
    assert dict(carbon.flags)["extrapolated"] == week.grid.n_slots  # it measures the past; the week is our forecast
    assert set(week.signals.ci_gco2_per_kwh.round(6)) == {111.0}


@pytest.mark.parametrize("how", ["none", "self-signed"])
def test_no_secure_connection_is_no_connection(served, site, how, request):
    began = time.monotonic()
    served("https", None if how == "none" else request.getfixturevalue("self_signed"), uk=good, energy=good)
    assert "uk-carbon-intensity: UK Carbon Intensity did not answer" in told(gather(site, now=NOW))
    assert time.monotonic() - began < BUDGET_S + 8.0


def test_a_first_provider_that_comes_back_is_used_again(served, site, tmp_path):
    cache = ResponseCache(tmp_path / "cache")
    servers = served(uk=ACTS["empty"], energy=good, hurried=False)
    told(gather(site, now=NOW, cache=cache))
    form, start = "%Y-%m-%dT%H:%MZ", NOW.replace(minute=0) - timedelta(days=40)
    rows = [
        {"from": f"{t:{form}}", "to": f"{t + HALF:{form}}", "intensity": {"forecast": 77}}
        for t in times(start, NOW + timedelta(hours=48), HALF)
    ]
    servers["uk"].acts = (say(body=json.dumps({"data": rows}).encode()),)
    week = gather(site, now=NOW, cache=cache)
    assert not [text for text in week.labels if text.startswith("Fallback")]
    assert set(week.signals.ci_gco2_per_kwh) == {77.0}


def test_where_every_provider_fails_the_last_good_answer_is_used_with_its_age(served, site, tmp_path):
    cache = ResponseCache(tmp_path / "cache")
    servers = served(uk=ACTS["empty"], energy=good)
    gather(site, now=NOW, cache=cache)
    servers["uk"].acts, servers["energy"].acts = (ACTS["503"],), (ACTS["429"],)
    week = gather(site, now=NOW + timedelta(hours=5), cache=cache)
    assert "(5.0 h old)" in told(week)
    assert any("is the last good answer, 5.0 h old" in text for text in week.labels)
    assert {"stale", "fallback"} <= set(dict(week.provenance[0].flags))


def test_where_nothing_is_left_each_is_named(served, site):
    served(uk=ACTS["503"], energy=ACTS["500"])
    with pytest.raises(DataUnavailable, match=r"no source has carbon: uk-carbon-.*: .*503.*; energy-charts: .*500"):
        gather(site, now=NOW)


def test_a_plan_is_made_and_its_report_says_which_value_came_from_where_and_how_old(served, site):
    served(uk=ACTS["503"], energy=good)
    week = gather(site, now=NOW)
    outcome, _ = plan_week(week, PlanOptions(time_limit_s=20.0, gap_target=0.5), lambda text: nullcontext())
    assert outcome.evaluation.clean
    page = html.unescape(report_html(outcome).decode())
    assert told(week) in page
    assert "Energy-Charts DE-LU, mix of de x direct-ipcc2014/1" in page
