"""A provider that is slow, cut, broken, busy or gone."""

from __future__ import annotations

import gzip
import json
import socket
import time
from datetime import timedelta

import pytest

from planner.errors import AuthError, DataUnavailable, RateLimited, SchemaChanged, StaleData
from planner.sources import transport, uk_carbon_intensity
from planner.sources.answers import check_status, decode
from planner.sources.cache import Answer, ResponseCache
from planner.sources.http import Http
from planner.sources.request import Request
from planner.sources.retry import wait_s
from planner.sources.rows import NoValues
from tests.loopback import GOOD, NOW, ask, cut_chunks, dripping, hang_up, say, silent


def test_a_good_answer(provider):
    server = provider(say())
    reply = ask(server)
    assert (reply.value, reply.fetched_at, reply.stale) == (42, NOW, False)
    assert server.asked[0]["User-Agent"].startswith("gridpace/")


def test_a_packed_answer(provider):
    assert ask(provider(say(body=gzip.compress(GOOD), Content_Encoding="gzip"))).value == 42


@pytest.mark.parametrize("first", [say(500), say(503, b"<html>"), say(429, Retry_After=0), silent, hang_up])
def test_a_passing_fault_is_tried_again(provider, first):
    server = provider(first, say())
    assert ask(server).value == 42
    assert len(server.asked) == 2


@pytest.mark.parametrize("act", [say(200, GOOD, Content_Length=len(GOOD) + 1), cut_chunks])
def test_a_cut_answer_is_asked_for_once_more(provider, act):
    server = provider(act, say())
    assert ask(server).value == 42
    with pytest.raises(DataUnavailable, match="did not answer for carbon of X\nwhy: the answer was cut short"):
        ask(provider(act))


@pytest.mark.parametrize(("status", "tries"), [(500, 4), (503, 4), (404, 1)])
def test_a_lasting_fault_is_no_bad_login(provider, status, tries):
    server = provider(say(status, b"no json"))
    with pytest.raises(DataUnavailable, match=f"Provider answered {status} for carbon of X") as caught:
        ask(server)
    assert type(caught.value) is DataUnavailable
    assert len(server.asked) == tries


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_at_once_even_with_a_kept_answer(provider, status, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say(), say(status, b'{"message": "Invalid token"}'))
    ask(server, cache)
    with pytest.raises(AuthError, match=f"answered {status} for carbon of X\nwhy: Invalid token"):
        ask(server, cache)
    assert len(server.asked) == 2


def test_a_long_ban_is_not_waited_for(provider):
    server = provider(say(429, b"{}", Retry_After=600))
    began = time.monotonic()
    with pytest.raises(RateLimited, match="fix: come back in 600 s"):
        ask(server)
    assert time.monotonic() - began < 1.0
    assert len(server.asked) == 1


@pytest.mark.parametrize(("header", "seconds"), [(None, None), ("7", 7.0), ("soon", None)])
def test_the_wait_asked_for(header, seconds):
    assert wait_s(header) == seconds


def test_a_wait_that_cannot_be_read_is_no_crash(provider):
    server = provider(say(429, b"{}", Retry_After="soon"))
    with pytest.raises(RateLimited, match="come back later"):
        ask(server)


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (silent, "the answer did not come in time"),
        (dripping, "came too slowly|not come in time"),
        (hang_up, "it broke"),
    ],
)
def test_no_provider_outlasts_the_budget(provider, act, cause):
    began = time.monotonic()
    with pytest.raises(DataUnavailable, match=f"did not answer for carbon of X\nwhy: .*({cause})"):
        ask(provider(act), budget_s=0.6)
    assert time.monotonic() - began < 1.5


def test_a_spent_budget_asks_nobody(provider):
    server = provider(say())
    with pytest.raises(DataUnavailable, match="the budget of 0 s is used up"):
        ask(server, budget_s=0.0)
    assert server.asked == []


def test_a_closed_port(provider):
    server = provider(say())
    server.shutdown()
    server.server_close()
    with pytest.raises(DataUnavailable, match="why: no connection, or it broke"):
        ask(server)


def test_a_page_instead_of_json(provider):
    with pytest.raises(SchemaChanged, match="answered 18 bytes of text/html for carbon of X where JSON is agreed"):
        ask(provider(say(body=b"<html>Login</html>", Content_Type="text/html")))


@pytest.mark.parametrize("status", [200, 500])
def test_brackets_without_end_are_no_crash(provider, status):
    with pytest.raises(DataUnavailable, match="Provider answered"):
        ask(provider(say(status, b"[" * 100_000)))


def test_an_answer_without_end(provider, monkeypatch):
    monkeypatch.setattr(transport, "_MOST_BYTES", 1000)
    with pytest.raises(SchemaChanged, match="answered more than"):
        ask(provider(say(body=b" " * 2000)))


@pytest.mark.parametrize("act", [say(500), say(429, Retry_After=600), say(body=b"<html>"), hang_up, silent])
def test_the_last_good_answer_is_served_stale_and_never_too_old(provider, act, tmp_path, caplog):
    cache = ResponseCache(tmp_path)
    server = provider(say(), act)
    ask(server, cache)
    reply = ask(server, cache, now=NOW + timedelta(hours=5))
    assert (reply.value, reply.fetched_at, reply.stale) == (42, NOW, True)
    assert "5 h old" in caplog.text
    with pytest.raises(StaleData, match="is 169 h old; at most 168 h are allowed"):
        ask(server, cache, now=NOW + timedelta(hours=169))


def test_a_fresh_answer_needs_no_network(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say(), say(500))
    ask(server, cache, ttl=timedelta(hours=1))
    assert not ask(server, cache, ttl=timedelta(hours=1), now=NOW + timedelta(minutes=59)).stale
    assert len(server.asked) == 1
    assert ask(server, cache, ttl=timedelta(hours=1), now=NOW + timedelta(minutes=60)).stale


def test_an_answer_from_the_future_is_not_fresh(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say(), say(body=b'{"value": 43}'))
    ask(server, cache, ttl=timedelta(hours=1), now=NOW + timedelta(days=1))
    assert ask(server, cache, ttl=timedelta(hours=1)).value == 43


def test_an_answer_of_another_shape_is_loud_and_not_kept(provider, tmp_path):
    cache = ResponseCache(tmp_path)

    def read(payload):
        raise SchemaChanged("the answer has another shape")

    server = provider(say())
    request = Request("Provider", "carbon of X", f"http://127.0.0.1:{server.server_address[1]}/", (), timedelta(0))
    http = Http(cache=cache, offline=False, clock=lambda: NOW)
    with pytest.raises(SchemaChanged, match="another shape"):
        http.get(request, read, http.deadline())
    assert cache.get(request.key) is None


def test_a_kept_answer_that_cannot_be_read_is_asked_for_anew(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say(), say(body=b'{"value": 43}'))
    ask(server, cache)
    request_key = f"GET http://127.0.0.1:{server.server_address[1]}/data?zone=X"
    kept = cache.get(request_key)
    cache.put(request_key, type(kept)(200, {}, b"<html>", NOW))
    assert ask(server, cache, ttl=timedelta(hours=1)).value == 43


def test_offline_opens_no_socket(provider, tmp_path, monkeypatch):
    cache = ResponseCache(tmp_path)
    server = provider(say())
    ask(server, cache)

    def forbidden(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    assert ask(server, cache, offline=True).stale
    with pytest.raises(DataUnavailable, match="no answer is kept\nwhy: gridpace works offline"):
        ask(server, None, offline=True)


def test_a_provider_is_reached_through_it(provider):
    row = {"from": "2024-05-12T00:00Z", "to": "2024-05-12T00:30Z", "intensity": {"forecast": 99, "actual": None}}
    server = provider(say(503), say(body=json.dumps({"data": [row]}).encode()))
    http = Http(cache=None, offline=False, clock=lambda: NOW, backoff_s=0.01)
    source = uk_carbon_intensity.UkCarbonIntensity(http, f"http://127.0.0.1:{server.server_address[1]}")
    series = source.fetch("carbon", "GB", NOW - timedelta(days=2), NOW - timedelta(days=1))
    assert series.rows.value.tolist() == [99.0]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<a><b/></a>", None),
        (b"<a><b>", "answered 6 bytes of text/xml for carbon of X where XML is agreed"),
        (b"PK\x03\x04....", "answered 8 bytes of a ZIP archive for carbon of X where XML is agreed"),
        (b"<html><body>Login", "where XML is agreed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "where XML is agreed"),
        ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'.encode("utf-16"), "XML is"),
        (b"<!--" + b" " * 5000 + b'--><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "where XML is agreed"),
    ],
)
def test_xml(body, told):
    request = Request("Provider", "carbon of X", "http://x", (), timedelta(0), form="xml")
    answer = Answer(200, {"content-type": "text/xml"}, body, NOW)
    if told is None:
        assert [child.tag for child in decode(answer, request)] == ["b"]
        return
    with pytest.raises(SchemaChanged, match=told):
        decode(answer, request)


def test_what_a_provider_says_when_it_has_nothing_is_no_fault():
    request = Request("P", "carbon of X", "http://x", (), timedelta(0), absent=((404, ""), (400, "No matching")))
    for status, body in ((404, b"{}"), (400, b"<Reason><text>No matching data</text></Reason>")):
        with pytest.raises(NoValues):
            check_status(Answer(status, {}, body, NOW), request)
    with pytest.raises(DataUnavailable, match="why: Invalid zone") as caught:
        check_status(Answer(400, {}, b"<Reason><code>999</code><text>Invalid zone</text></Reason>", NOW), request)
    assert not isinstance(caught.value, NoValues)
