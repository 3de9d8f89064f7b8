"""A provider that fails is left alone for a while, and what several want at once is asked for once."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from planner.errors import DataUnavailable, RateLimited
from planner.sources.cache import ResponseCache
from planner.sources.flight import single_flight
from planner.sources.retry import pause_s
from tests.loopback import NOW, ask, say


def test_a_provider_that_fails_again_and_again_is_left_alone_and_then_asked_again(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(*[say(500)] * 12, say())
    for _ in range(3):
        with pytest.raises(DataUnavailable, match="answered 500"):
            ask(server, cache)
    assert len(server.asked) == 12
    with pytest.raises(DataUnavailable, match=r"Provider is left alone until 2024-05-13T12:02:00Z"):
        ask(server, ResponseCache(tmp_path))
    assert len(server.asked) == 12
    assert ask(server, cache, now=NOW + timedelta(minutes=2)).value == 42


def test_a_pause_asked_for_is_kept_by_the_next_process_too(provider, tmp_path):
    server = provider(say(429, b"{}", Retry_After=600), say())
    with pytest.raises(RateLimited):
        ask(server, ResponseCache(tmp_path))
    with pytest.raises(DataUnavailable, match="left alone until 2024-05-13T12:10:00Z"):
        ask(server, ResponseCache(tmp_path), now=NOW + timedelta(minutes=9))
    assert len(server.asked) == 1


def test_a_ban_that_nobody_tells_is_known(provider, tmp_path):
    """ENTSO-E refuses for ten minutes after 400 requests in one, and each further request is in vain."""
    server = provider(say(429, b"{}"), say())
    with pytest.raises(RateLimited, match="fix: come back in 600 s"):
        ask(server, ResponseCache(tmp_path), asked={"ban_s": 600.0})
    with pytest.raises(DataUnavailable, match="left alone until 2024-05-13T12:10:00Z"):
        ask(server, ResponseCache(tmp_path), now=NOW + timedelta(minutes=9), asked={"ban_s": 600.0})
    assert len(server.asked) == 1
    later = NOW + timedelta(minutes=10)
    assert ask(server, ResponseCache(tmp_path), now=later, asked={"ban_s": 600.0}).value == 42


def test_a_pause_that_is_told_goes_before_the_known_ban():
    assert pause_s(429, "7", 600.0) == 7.0
    assert pause_s(429, None, 600.0) == 600.0
    assert pause_s(429, None, None) is None
    assert pause_s(503, None, 600.0) is None  # out of order is no ban


def slowly(handler):
    time.sleep(0.2)
    say()(handler)


def test_threads_that_want_the_same_ask_once(provider, tmp_path):
    server = provider(slowly)
    with ThreadPoolExecutor(6) as pool:
        given = [
            pool.submit(ask, server, ResponseCache(tmp_path), ttl=timedelta(hours=1), read_s=2.0) for _ in range(6)
        ]
        assert [one.result().value for one in given] == [42] * 6
    assert len(server.asked) == 1


def test_processes_that_want_the_same_ask_once(provider, tmp_path, root):
    server = provider(slowly)
    program = (
        "import sys; from datetime import *; from pathlib import Path\n"
        "from planner.sources.cache import ResponseCache\n"
        "from planner.sources.http import Http\n"
        "from planner.sources.request import Request\n"
        "http = Http(ResponseCache(Path(sys.argv[2])), offline=False, clock=lambda: datetime.now(UTC))\n"
        "request = Request('P', 'x', sys.argv[1], (), timedelta(hours=1))\n"
        "print(http.get(request, lambda p: p['value'], http.deadline()).value)\n"
    )
    url = f"http://127.0.0.1:{server.server_address[1]}/data"
    workers = [
        subprocess.Popen([sys.executable, "-c", program, url, str(tmp_path)], cwd=root, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [w.communicate(timeout=60)[0].strip() for w in workers] == [b"42"] * 2
    assert len(server.asked) == 1


def test_who_waits_for_another_ends_within_its_budget_too(tmp_path):
    with single_flight(tmp_path, "key", time.monotonic() + 1.0) as first:
        began = time.monotonic()
        with single_flight(tmp_path, "key", began + 0.2) as second:
            assert (first, second) == (True, False)
        assert time.monotonic() - began < 0.5
