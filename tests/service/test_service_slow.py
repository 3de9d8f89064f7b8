"""Callers that are slow, send what is no text, or are many: they take nothing from the others."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
import uvicorn

from planner.errors import ExportError
from planner.ledger import Ledger
from planner.service.live.changing import Changing
from planner.service.patience import PatientProtocol
from planner.service.state import Limits
from tests.served import NOON, calendar, enter, served
from tests.service.test_service_security import EVENT, raw

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    limits = Limits(requests_per_s=1e3, request_burst=1e3, failures_per_s=1e-3, failure_burst=3.0, body_s=0.3)
    with served(tmp_path_factory.mktemp("service"), limits=limits) as running:
        enter(running.state.ledger, calendar())
        yield running


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("Origin: http://[", 403),
        ("Origin: http://evil.example\r\nOrigin: http://x", 400),
        ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none", 400),
        ("Content-Length: " + "0" * 5000, 403),  # no body, so that it is the token's role that counts
        ("Origin: http://X", 403),
    ],
)
def test_headers_that_mean_harm_are_refused_and_nothing_fails(service, header, told):
    lines = ("POST /drafts/x/approve HTTP/1.1", "Host: x", f"Authorization: Bearer {service.tokens['viewer']}", header)
    assert status(raw(service, "\r\n".join((*lines, "Connection: close", "", "")).encode())) == told


@pytest.mark.parametrize("path", ["%00/changes", "x/changes?against=%00"])
def test_a_nul_is_in_no_name(service, path):
    answer = service.call("GET", f"/v1/sites/site/calendars/{path}")
    assert (answer.status_code, answer.json()["error"]["what"]) == (404, "nothing here has a NUL in its name")


@pytest.mark.parametrize("why", ["\ud800", "a\0b", "   ", "", "x" * 501])
def test_a_reason_is_text_and_what_is_none_is_not_sent_back(service, why):
    sent = json.dumps({"why": why, "token": "something secret"})
    answer = service.call("POST", "/v1/sites/site/calendars/x/approve", data=sent, headers=JSON)
    assert answer.status_code == 422
    assert "body.why" in answer.json()["error"]["what"]
    assert "something secret" not in answer.text


def test_a_number_beyond_what_is_kept_is_the_senders_fault(service):
    sent = json.dumps(EVENT)[:-1] + ', "x": 1e999}'
    answer = service.call("POST", "/v1/sites/site/events", data=sent, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["kind"]) == (422, "ConfigError")


@pytest.mark.parametrize("path", ["/login", "/drafts/x/approve"])
def test_a_form_of_many_fields_is_refused(service, path):
    assert service.call("POST", path, data="&".join(f"a{i}=1" for i in range(50)), headers=FORM).status_code == 422


def test_wrong_tokens_of_one_address_keep_nobody_else_out(service):
    wrong = {"headers": {"Authorization": "Bearer 0123456789abcdef"}}
    found = [service.call("GET", "/metrics", None, **wrong).status_code for _ in range(5)]
    assert found == [401] * 3 + [429] * 2
    assert service.call("GET", "/metrics").status_code == 200
    assert service.call("POST", "/login", None, data={"token": "gp_viewer_guessed"}).status_code == 403


def test_guesses_in_the_form_are_slowed_down_too(service):
    found = [service.call("POST", "/login", None, data={"token": "gp_viewer_guessed"}).status_code for _ in range(5)]
    assert found[-1] == 429
    assert set(found) == {403, 429}


def test_who_signs_in_learns_nothing_of_the_tokens_file(tmp_path):
    with served(tmp_path) as service:
        service.state.tokens._path.chmod(0o644)
        service.state.tokens._stamp = None
        answer = service.call("POST", "/login", None, data={"token": "gp_viewer_guessed"})
        assert answer.status_code == 503
        assert str(tmp_path) not in answer.text


def test_a_body_that_does_not_come_is_not_waited_for(service):
    token = service.tokens["agent"]
    asked = f"POST /v1/telemetry HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    answer = raw(service, f"{asked}Content-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\na".encode())
    assert status(answer) == 408
    assert b"connection: close" in answer.lower()


def test_who_goes_away_midway_is_no_fault_of_the_service(service, caplog):
    host, port = service.url.removeprefix("http://").split(":")
    caplog.set_level("INFO", "planner.service")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        asked = f"POST /v1/telemetry HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['agent']}\r\n"
        connection.sendall(f"{asked}Content-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\na".encode())
    end = time.monotonic() + 5.0
    while not any("499" in entry.getMessage() for entry in caplog.records):
        assert time.monotonic() < end
        time.sleep(0.02)
        assert "a request failed" not in caplog.text


async def _answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * 16_000_000})


class Hasty(PatientProtocol):
    idle_s = 0.2


def scene(app, act):
    """Serve with little patience while `act` goes on, which is given the server, a reader and a writer."""

    async def play():
        config = uvicorn.Config(app, http=Hasty, ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        listening = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        await act(server, reader, writer)
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(play())


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_connection_on_which_nothing_goes_on_is_closed(sent):
    """Headers that never end, and an answer that nobody reads."""

    async def act(server, _, writer):
        writer.transport.pause_reading()
        writer.write(sent)
        until = time.monotonic() + 10.0
        for wanted in (True, False):
            while bool(server.server_state.connections) != wanted:
                assert time.monotonic() < until
                await asyncio.sleep(0.0 if wanted else 0.02)

    scene(_answer, act)


async def _answer_shortly(scope, receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_a_connection_that_asks_again_and_again_is_kept(monkeypatch):
    """A load balancer's, say, which is hardly ever looked at while it is answered."""
    now = [0.0]
    monkeypatch.setattr("planner.service.patience.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def act(_, reader, writer):
        for _ in range(6):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            now[0] += 0.15
            await asyncio.sleep(0.06)  # it is looked at every 0.05 s

    scene(_answer_shortly, act)


async def _read(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await _answer_shortly(scope, receive, send)


LARGE = b"a" * 400_000


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"GET /" + LARGE, b"HTTP/1.1 431"),
        (b"GET / HTTP/1.1\r\n" + LARGE, b"HTTP/1.1 431"),
        (b"GET / HTTP/1.1\r\nX: " + LARGE, b"HTTP/1.1 431"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 80_000, b"HTTP/1.1 431"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: " + LARGE, b""),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 60_000 + b"0\r\n\r\n",
            b"HTTP/1.1 204",
        ),
        (b"POST / HTTP/1.1\r\nContent-Length: 400000\r\n\r\n" + LARGE, b"HTTP/1.1 204"),
    ],
)
def test_headers_and_trailers_that_do_not_end_are_not_kept_and_bodies_are(sent, told):
    async def act(_, reader, writer):
        for first in range(0, len(sent), 10_000):
            writer.write(sent[first : first + 10_000])
            with suppress(ConnectionError):
                await writer.drain()
        try:
            found = await asyncio.wait_for(reader.read(12), 5)
        except ConnectionError:
            found = b""
        assert found == told

    scene(_read, act)


def test_however_many_watch_the_database_is_asked_once_a_second(tmp_path, monkeypatch):
    asked, now = [], [0.0]
    with Ledger(tmp_path / "l.sqlite") as ledger:
        enter(ledger, calendar())
        changing = Changing(ledger, "site", lambda: asked.append(1) or NOON, steady=lambda: now[0])

        async def watch():
            first = await asyncio.gather(*(changing.seen() for _ in range(100)))
            assert len(asked) == 1
            enter(ledger, calendar(issued=NOON))
            assert await changing.seen() == first[0]
            now[0] = 1.0
            assert await changing.seen() != first[0]
            assert len(set(first)) == 1

        asyncio.run(watch())


def test_streams_of_changes_end_when_the_service_does(tmp_path, monkeypatch):
    monkeypatch.setattr("planner.service.live.page_routes._LOOK_S", 0.05)
    with served(tmp_path) as service:
        enter(service.state.ledger, calendar())
        watched = service.call("GET", "/live/changes", "viewer", stream=True)
        lines = watched.iter_lines()
        assert next(lines).startswith(b"id: ")
        service.state.changing.end()
        assert list(lines) == [b"data: first", b""]


def test_a_database_whose_connections_are_all_taken_does_not_answer(tmp_path):
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger._engine.pool._timeout = 0.05
        taken = []
        for _ in range(32):
            taken.append(ledger.reading())
            taken[-1].__enter__().connection()

        def read():
            with ledger.reading() as session:
                session.connection()

        with pytest.raises(ExportError, match="cannot be read"):
            read()
        for one in taken:
            one.__exit__(None, None, None)
