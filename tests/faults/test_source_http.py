"""A provider on the loopback that is slow, cut, broken, busy or gone; no real network."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from planner.errors import AuthError, DataUnavailable, RateLimited, SchemaChanged, StaleData
from planner.sources import transport, uk_carbon_intensity
from planner.sources.answers import check_status, decode
from planner.sources.cache import Answer, ResponseCache
from planner.sources.flight import single_flight
from planner.sources.http import Http
from planner.sources.keys import Secret
from planner.sources.request import Request
from planner.sources.retry import wait_s
from planner.sources.rows import NoValues

NOW = datetime(2024, 5, 13, 12, tzinfo=UTC)
GOOD = b'{"value": 42}'


def say(status=200, body=GOOD, **headers):
    def act(handler):
        handler.send_response(status)
        for name, value in {"Content_Length": len(body), "Content_Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def silent(handler):
    handler.server.gone.wait(5.0)


def dripping(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.gone.wait(0.05):
        handler.wfile.write(b" ")


def cut_chunks(handler):
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"d\r\n" + GOOD[:5])


def hang_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.headers)
        act = server.acts[min(len(server.asked), len(server.acts)) - 1]
        with contextlib.suppress(OSError):  # the client has gone, as it should
            act(self)

    def log_message(self, *args):
        pass


@pytest.fixture
def provider():
    """Starts a provider that does one act after another and then repeats the last."""
    servers = []

    def start(*acts, tls=None):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.acts, server.asked, server.gone = acts, [], threading.Event()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.gone.set()
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory):
    """How a server speaks TLS whose certificate nobody has signed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the program openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    named = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    subprocess.run([openssl, "req", "-x509", *curve, *named, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def ask(server, cache=None, *, now=NOW, offline=False, ttl=timedelta(0), secrets=None, scheme="http", **limits):
    url = f"{scheme}://127.0.0.1:{server.server_address[1]}/data"
    request = Request("Provider", "carbon of X", url, (("zone", "X"),), ttl, **secrets or {})
    given = {"budget_s": 3.0, "connect_s": 0.5, "read_s": 0.3, "backoff_s": 0.01, **limits}
    http = Http(cache=cache, offline=offline, clock=lambda: now, **given)
    return http.get(request, lambda payload: payload["value"], http.deadline())


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


# --- keys, redirects, pauses, and one request for all -----------------------------------------------------------------

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
        ask(server, ResponseCache(tmp_path), secrets=HIDING, budget_s=1.0)
    except DataUnavailable as exc:
        told = "".join(traceback.format_exception(exc)) + repr(exc)
    assert server.asked[0]["auth-token"] == KEY
    assert "tops3cret" not in told + caplog.text
    assert [f for f in tmp_path.rglob("*") if f.is_file() and b"tops3cret" in f.read_bytes()] == []


def test_an_answer_with_a_token_is_not_kept(provider, tmp_path):
    cache = ResponseCache(tmp_path)
    server = provider(say())
    ask(server, cache, secrets={"keep": False}, ttl=timedelta(hours=1))
    ask(server, cache, secrets={"keep": False}, ttl=timedelta(hours=1))
    assert len(server.asked) == 2
    assert not cache.path.exists()


def test_a_redirect_to_another_host_is_refused_and_gets_no_key(provider):
    other = provider(say())
    place = f"http://localhost:{other.server_address[1]}/data"
    with pytest.raises(
        DataUnavailable, match=r"redirects from 127\.0\.0\.1:\d+ to http://localhost:\d+ for carbon of X"
    ):
        ask(provider(say(302, Location=place)), secrets=HIDING)
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
        ask(server, scheme="https", budget_s=2.0, secrets=HIDING)
    assert time.monotonic() - began < 2.5
    assert server.asked == []


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
        for _ in range(3)
    ]
    assert [w.communicate(timeout=60)[0].strip() for w in workers] == [b"42"] * 3
    assert len(server.asked) == 1


def test_who_waits_for_another_ends_within_its_budget_too(tmp_path):
    with single_flight(tmp_path, "key", time.monotonic() + 1.0) as first:
        began = time.monotonic()
        with single_flight(tmp_path, "key", began + 0.2) as second:
            assert (first, second) == (True, False)
        assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<a><b/></a>", None),
        (b"<a><b>", "answered 6 bytes of text/xml for carbon of X where XML is agreed"),
        (b"PK\x03\x04....", "answered 8 bytes of a ZIP archive for carbon of X where XML is agreed"),
        (b"<html><body>Login", "where XML is agreed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "where XML is agreed"),
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
