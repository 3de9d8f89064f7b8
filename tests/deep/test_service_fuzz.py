"""Requests of chance at the running service: whatever they are, it answers, tells no secret and goes on."""

from __future__ import annotations

import gzip
import json
import random
import re
import socket
import time

import pytest

from planner.service.state import Limits
from tests.served import NOON, calendar, enter, served
from tests.service.test_service_security import EVENT
from tests.unit.test_ledger import record
from trainer_hooks.telemetry import record_line

pytestmark = pytest.mark.deep
ROUNDS = 250
ROLES = (None, "viewer", "planner", "agent")
METHODS = (
    "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "PRI", "M-SEARCH",
)  # fmt: skip
PATHS = (
    "/v1/sites/site/calendars/current", "/v1/sites/site/runs/r1", "/v1/sites/site/calendars/{id}/calendar.json",
    "/v1/sites/site/calendars/{id}/changes?against={draft}", "/v1/telemetry", "/v1/sites/site/events",
    "/v1/sites/site/outages", "/v1/sites/site/rollback/{id}x", "/login", "/", "/?view=training&at=2024-05-13T01:00:00Z",
    "/metrics", "/docs", "/openapi.json", "/healthz", "/readyz", "/live/live.css", "/reports/{id}",
    "/drafts/{draft}x/approve", "/v1/sites/site/alarms",
)  # fmt: skip
JUNK = (
    b"\x00", b"\xff\xfe", b"%00", b"%ff", b"%c0%af..%2f", "ü😀".encode(), b"\r", b"\t", b"'\"<script>", b"..%2f" * 20,
    b"a" * 30_000, b"%0d%0aX: y", b";", b"#", b"?", b"%", b" ",
)  # fmt: skip
VALUES = (
    "NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "null", "true", "[]", "{}", '"\\ud800"', '"\\u0000"', "-0.0",
    '"' + "x" * 5000 + '"', "[" * 2000 + "]" * 2000, '"2024-13-45T99:99:99Z"', '"9999-12-31T23:59:59-14:00"',
    '"0001-01-01T00:00:00+14:00"', '"PT999999999999H"', '"-PT1H"',
)  # fmt: skip
LENGTHS = ("-1", "+5", "0x10", "5, 5", "5\r\nContent-Length: 6", "9" * 20, "٣", "1e3", " 7 ", "")
CODINGS = ("chunked", "chunked, chunked", "gzip, chunked", "identity", "chunked\r\nContent-Length: 3", "chunked;q=1")
CHUNKS = (
    b"5\r\nhello\r\n0\r\n\r\n", b"f" * 16 + b"1\r\nx\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n",
    b"5;e=" + b"a" * 70_000 + b"\r\nhello\r\n0\r\n\r\n", b"0\r\nT: " + b"b" * 70_000 + b"\r\n\r\n",
    b"5\r\nhelloXX0\r\n\r\n", b"1\r\na\r\n" * 3000 + b"0\r\n\r\n",
    b"5\r\nhello\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
)  # fmt: skip
HEADERS = (
    "X: " + "a" * 500_000, "\r\n".join(f"X{k}: y" for k in range(5000)), "A" * 70_000 + ": b",
    "Cookie: " + "gridpace_token=aaaaaaaa; " * 3000, 'Cookie: \x01=ÿ; gridpace_token="x',
    "Range: bytes=0-99999999999,5-1",
    "Expect: 100-continue\r\nUpgrade: websocket\r\nConnection: Upgrade", 'Forwarded: for="[::1', "Host: a\r\nHost: b",
    "Prefer: wait=99999", "Prefer: wait=-1", "Prefer: wait=0", "If-None-Match: *", "If-None-Match: " + '"a",' * 5000,
    'If-None-Match: W/"{id}"', "If-None-Match: ÿ\x00", "If-Modified-Since: yesterday", "Content-Encoding: gzip",
)  # fmt: skip
KINDS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/html")


class Caller:
    """Makes up requests."""

    def __init__(self, service, seed):
        self.draw, self.service = random.Random(seed), service
        names = {"id": enter(service.state.ledger, calendar())}
        names["draft"] = enter(service.state.ledger, calendar(issued=NOON), approve=False)
        self.paths = [path.format(**names) for path in PATHS]
        self.headers = [one.replace("{id}", names["id"]) for one in HEADERS]
        self.line = record_line(record(0, 0, 1)).decode()

    def request(self, method, path, role, extra="", body=b""):
        lines = [f"{method} ".encode() + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close"]
        if role:
            lines.append(f"Authorization: Bearer {self.service.tokens[role]}".encode())
        if extra:
            lines.append(extra.encode("latin-1", "replace"))
        return b"\r\n".join((*lines, b"", body))

    def broken(self, text):
        """A JSON text with a value that is none, cut off, or with a sign too many."""
        at = self.draw.randrange(len(text))
        places = list(re.finditer(r'(?<=: )("[^"]*"|-?[\d.]+|null|true)|(?<=\[)[\d.]+(?=\])', text))
        place = self.draw.choice(places)
        return self.draw.choice(
            (
                f"{text[: place.start()]}{self.draw.choice(VALUES)}{text[place.end() :]}",
                f"{text[: place.start()]}{self.draw.choice(VALUES)}{text[place.end() :]}",
                text[:at],
                text[:at] + self.draw.choice('\0"{}\\,\x7f\xed') + text[at:],
                f"{text.strip()[:-1]}, {text.strip()[1:]}",  # each key twice
                f"[{','.join([text.strip()] * self.draw.choice((0, 2, 101)))}]",
                text.replace('"', "'"),
            )
        ).encode("latin-1", "replace")

    def any_request(self):
        make = self.draw.choice(
            (self.odd_path, self.odd_method, self.odd_header, self.odd_length, self.odd_chunks, self.odd_lines,
             self.odd_document, self.odd_form, self.noise)
        )  # fmt: skip
        return make(self.draw.choice, self.draw.choice(self.paths).encode(), self.draw.choice(ROLES))

    def odd_path(self, choose, path, role):
        at = self.draw.randrange(len(path) + 1)
        return self.request(choose(("GET", "POST")), path[:at] + choose(JUNK) + path[at:], role)

    def odd_method(self, choose, path, role):
        return self.request(choose(METHODS), path, role)

    def odd_header(self, choose, path, role):
        return self.request("GET", path, role, choose(self.headers))

    def odd_length(self, choose, _path, _role):
        return self.request("POST", b"/v1/telemetry", "agent", f"Content-Length: {choose(LENGTHS)}", b"hello")

    def odd_chunks(self, choose, _path, _role):
        return self.request("POST", b"/v1/telemetry", "agent", f"Transfer-Encoding: {choose(CODINGS)}", choose(CHUNKS))

    def odd_lines(self, _choose, _path, _role):
        body = b"\n".join(self.broken(self.line) for _ in range(3))
        return self.with_body(b"/v1/telemetry", "agent", "application/x-ndjson", body)

    def odd_document(self, choose, _path, _role):
        outage = {"id": "o", "block": "b", "cause": "c", "capacity_kw": 1.5, "start": "2024-05-13T16:00:00Z"}
        where, event = choose(((b"events", EVENT), (b"outages", outage)))
        return self.with_body(b"/v1/sites/site/" + where, "planner", KINDS[0], self.broken(json.dumps(event)))

    def odd_form(self, choose, _path, _role):
        path = choose((b"/login", b"/drafts/x/approve", b"/v1/sites/site/rollback/x"))
        return self.with_body(path, "planner", choose(KINDS), self.broken('{"why": "because", "token": "x"}'))

    def noise(self, choose, path, role):
        body = bytearray(self.request("GET", path, role))
        for _ in range(3):
            body[self.draw.randrange(len(body))] = self.draw.randrange(256)
        return choose((bytes(body), self.draw.randbytes(1000), gzip.compress(b"0" * 1_000_000)))

    def with_body(self, path, role, kind, body):
        return self.request("POST", path, role, f"Content-Type: {kind}\r\nContent-Length: {len(body)}", body)

    def send(self, request):
        host, port = self.service.url.removeprefix("http://").split(":")
        found = b""
        try:
            with socket.create_connection((host, int(port)), timeout=1.0) as connection:
                connection.sendall(request)
                while part := connection.recv(65536):
                    found += part
        except OSError:  # it was closed before all of it was sent, or waits for what was promised
            pass
        return found


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_is_answered_and_told_to_nobody(tmp_path, caplog, seed):
    limits = Limits(requests_per_s=1e3, request_burst=1e4, failures_per_s=1e3, body_s=0.3)
    with served(tmp_path, limits=limits) as service:
        caller = Caller(service, seed)
        statuses = set()
        for _ in range(ROUNDS):
            sent = caller.any_request()
            answer = caller.send(sent)
            found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
            status = int(found[1]) if found else None
            assert status is None or status < 500, (sent[:300], answer[:300])
            assert not any(token.encode() in answer for token in service.tokens.values()), sent[:300]
            statuses.add(status)
        asked_s = time.monotonic()
        assert service.call("GET", "/v1/sites/site/calendars/current", "agent").status_code == 200
        assert time.monotonic() - asked_s < 5.0
    assert {200, 400, 401, 403, 404, 405, 422} <= statuses
    assert "a request failed" not in caplog.text
    assert not any(token in caplog.text for token in service.tokens.values())
