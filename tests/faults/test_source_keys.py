"""Where a key goes, and where it must not: logs, errors, files, other hosts, connections that are not secure."""

from __future__ import annotations

import json
import time
import traceback
from datetime import timedelta

import pytest

from planner.errors import DataUnavailable
from planner.sources.cache import ResponseCache
from planner.sources.keys import Secret
from tests.loopback import ask, hang_up, say, silent

KEY = "tops3cret/+"
HIDING = {"secret_params": (("api_key", Secret(KEY)),), "secret_headers": (("auth-token", Secret(KEY)),)}


def echoing(handler):
    said = json.dumps({"value": 42, "path": handler.path, "token": handler.headers["auth-token"]}).encode()
    say(body=said, X_Asked=handler.path)(handler)


@pytest.mark.parametrize(
    "acts",
    [
        (echoing,),
        (say(500), say(503), echoing),
        (hang_up,),
        (silent,),
        (say(401, json.dumps({"message": f"bad key {KEY}"}).encode()),),
        (say(body=f"<html>{KEY}".encode()),),
        (say(302, Location=f"http://localhost:1/data?api_key={KEY}"),),
    ],
    ids=["echo", "retried", "hang-up", "silent", "refused", "page", "redirect"],
)
def test_a_key_reaches_the_provider_and_no_log_error_or_file(provider, acts, tmp_path, caplog):
    caplog.set_level("DEBUG")
    server = provider(*acts)
    told = ""
    try:
        ask(server, ResponseCache(tmp_path), asked=HIDING, budget_s=1.0)
    except DataUnavailable as exc:
        told = "".join(traceback.format_exception(exc)) + repr(exc)
    assert server.asked[0]["auth-token"] == KEY
    assert "tops3cret" not in told + caplog.text
    assert [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()] == []


def test_an_answer_with_a_token_is_not_kept(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say())
    ask(server, cache, asked={"keep": False}, ttl=timedelta(hours=1))
    ask(server, cache, asked={"keep": False}, ttl=timedelta(hours=1))
    assert len(server.asked) == 2
    assert not cache.path.exists()


def test_a_redirect_to_another_host_is_refused_and_gets_no_key(provider):
    other = provider(say())
    place = f"http://localhost:{other.server_address[1]}/data"
    with pytest.raises(
        DataUnavailable, match=r"redirects from 127\.0\.0\.1:\d+ to http://localhost:\d+ for carbon of X"
    ):
        ask(provider(say(302, Location=place)), asked=HIDING)
    assert other.asked == []


def test_a_redirect_within_the_host_is_followed_a_few_times(provider):
    assert ask(provider(say(301, Location="/elsewhere"), say(308, Location="/data?zone=X"), say())).value == 42
    with pytest.raises(DataUnavailable, match="redirects more than 3 times"):
        ask(provider(say(302, Location="/data")))


def test_what_is_no_secure_connection_is_refused(provider):
    server = provider(say())
    with pytest.raises(DataUnavailable, match="why: the secure connection failed"):
        ask(server, scheme="https", budget_s=2.0)
    assert server.asked == []


def test_a_certificate_that_nobody_has_signed_is_refused_in_time_and_gets_no_key(provider, self_signed):
    server = provider(say(), tls=self_signed)
    began = time.monotonic()
    with pytest.raises(DataUnavailable, match="why: the secure connection failed"):
        ask(server, scheme="https", budget_s=2.0, asked=HIDING)
    assert time.monotonic() - began < 2.5
    assert server.asked == []
