"""What strangers, and those who may do less than they try, get from the service."""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
from datetime import timedelta
from importlib import import_module
from pkgutil import walk_packages

import pytest

import planner.service
from planner.errors import ConfigError, NotPermitted
from planner.service.buckets import Buckets
from planner.service.guard import OPEN_PATHS
from planner.service.state import Limits
from planner.service.tokens import TokenBook, add_token
from tests.served import NOON, calendar, enter, served
from tests.unit.test_ledger import record
from trainer_hooks.telemetry import record_line

NDJSON = {"Content-Type": "application/x-ndjson"}
EVENT = {
    "id": "e1",
    "programID": "p",
    "modificationDateTime": "2024-05-13T10:00:00Z",
    "intervalPeriod": {"start": "2024-05-13T16:00:00Z", "duration": "PT1H"},
    "intervals": [{"id": 0, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [900]}]}],
}
PATHS = [
    ("GET", "/v1/sites/site/calendars/current", "viewer planner agent"),
    ("GET", "/v1/sites/site/runs/r1", "viewer planner agent"),
    ("GET", "/v1/sites/site/calendars", "viewer planner"),
    ("GET", "/v1/sites/site/decisions", "viewer planner"),
    ("GET", "/v1/sites/site/alarms", "viewer planner"),
    ("GET", "/v1/sites/site/jobs", "viewer planner"),
    ("GET", "/v1/sites/site/events", "viewer planner"),
    ("GET", "/metrics", "viewer planner"),
    ("POST", "/v1/telemetry", "agent"),
    ("POST", "/v1/sites/site/events", "planner"),
    ("POST", "/v1/sites/site/calendars/x/approve", "planner"),
    ("POST", "/v1/sites/site/calendars/x/reject", "planner"),
    ("POST", "/v1/sites/site/rollback/x", "planner"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(tmp_path_factory.mktemp("service")) as running:
        enter(running.state.ledger, calendar())
        yield running


def raw(service, request: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        found = b""
        while part := connection.recv(65536):
            found += part
        return found


def get(path: str, token: str) -> bytes:
    lines = (f"GET {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", "Connection: close", "", "")
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(("method", "path", "roles"), PATHS)
def test_each_path_asks_for_a_token_and_its_role(service, method, path, roles):
    body = {"headers": NDJSON, "data": b""} if path.endswith("telemetry") else {"json": {"why": "w"}}
    body = body if method == "POST" else {}
    assert service.call(method, path, None, **body).status_code == 401
    for role in ("viewer", "planner", "agent"):
        status = service.call(method, path, role, **body).status_code
        assert (status != 403) == (role in roles.split()), (role, status)
        assert status not in {401, 500}


def test_no_path_that_there_is_forgets_to_ask(service):
    """Every route of the service, those of the page and of later days among them."""
    asked = 0
    found = [import_module(one.name) for one in walk_packages(planner.service.__path__, "planner.service.")]
    for route in [route for module in found if hasattr(module, "router") for route in module.router.routes]:
        path = re.sub(r"\{[^}]*\}", "x", route.path.replace("{site}", "site"))
        for method in route.methods:
            if path in OPEN_PATHS or path.startswith("/live/"):
                continue
            answer = service.call(method, path, None, allow_redirects=False)
            wanted = 303 if (method, path) == ("GET", "/") else 401  # a person is sent to where people sign in
            assert answer.status_code == wanted, (method, path)
            if method == "POST" and path not in {"/logout", "/v1/telemetry"}:
                assert service.call(method, path, "viewer", json={"why": "w"}).status_code == 403, path
            asked += 1
    assert asked > len(PATHS)


def test_what_works_without_a_token_tells_nothing(service):
    assert service.call("GET", "/healthz", None).json() == {"status": "ok"}
    assert service.call("GET", "/readyz", None).json() == {"status": "ready"}
    for path in ("/docs", "/openapi.json", "/v1", "/live/changes"):
        assert service.call("GET", path, None).status_code == 401


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer short", "Basic YTpi", "Bearer x\ty", "Bearer " + "a" * 600])
def test_a_malformed_authorization_is_no_token(service, given):
    headers = {"Authorization": given} if given else {}
    answer = service.call("GET", "/v1/sites/site/calendars", None, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="gridpace"'


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sites/site/calendars/..%2f..%2ftokens/calendar.json",
        "/v1/sites/site/calendars/{id}/runs/..%2f..%2f..%2ftokens",
        "/v1/sites/site/calendars/{id}/runs/../../../../tokens",
        "/v1/sites/..%2f..%2fetc/calendars/current",
        "/v1/sites/site/runs/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/sites/site/runs//etc/passwd",
        "/v1/sites/site/runs/r1%00",
        "/v1/sites/other/calendars/current",
    ],
)
def test_no_path_leads_out_of_the_calendars(service, path):
    current = service.state.shelf.current()
    token = service.tokens["viewer"]
    answer = raw(service, get(path.format(id=current), token))
    assert answer.split(b" ")[1] == b"404"
    assert b"sha256" not in answer
    assert b"root:" not in answer


def test_oversized_bodies_are_refused_whether_they_say_so_or_not(tmp_path):
    limits = Limits(requests_per_s=1000.0, request_burst=1000.0, telemetry_bytes=5000, body_bytes=500)
    with served(tmp_path, limits=limits) as service:
        said = service.call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=b"x" * 5001)
        assert (said.status_code, said.json()["error"]["what"]) == (413, "the body may have 5000 bytes at most")

        def parts():
            for _ in range(100):
                yield b"y" * 100

        assert service.call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=parts()).status_code == 413
        event = json.dumps(EVENT | {"eventName": "n" * 500})
        sent = service.call("POST", "/v1/sites/site/events", data=event, headers={"Content-Type": "application/json"})
        assert sent.status_code == 413
        assert service.call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=b"x" * 5000).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"null", 422),
        (b"[]", 422),
        (b"\xff\xfe", 422),
        (b"[" * 100_000, 422),
        (b'{"id": NaN}', 422),
        (json.dumps(EVENT | {"id": None}).encode(), 422),
        (json.dumps({k: v for k, v in EVENT.items() if k != "id"}).encode(), 422),
        (json.dumps(EVENT | {"modificationDateTime": "yesterday"}).encode(), 422),
        (json.dumps(EVENT | {"intervals": []}).encode(), 422),
        (json.dumps([EVENT] * 101).encode(), 422),
    ],
)
def test_malformed_events_are_told_and_not_kept(service, body, status):
    answer = service.call("POST", "/v1/sites/site/events", data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["what"]
    assert service.call("GET", "/v1/sites/site/events").json() == []


def test_malformed_telemetry_is_told_by_line_and_what_is_good_is_kept(tmp_path):
    good = record_line(record(0, 0, 1))
    lines = [
        b"{",
        good.replace(b'"tokens": 1000000', b'"tokens": 1e999'),
        good.replace(b'"tokens": 1000000', b'"tokens": 9' + b"9" * 30),
        good.replace(b'"run": "r1"', b'"run": "a\\u0000b"'),
        good.replace(b'"run": "r1"', b'"run": "\\ud800"'),
        b"[" * 5000,
    ]
    with served(tmp_path) as service:
        body = b"\n".join((*lines, good))
        told = service.call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=body).json()
        assert (told["added"], told["refused"]) == (1, len(lines))
        assert told["faults"][0].startswith("line 1")
        wrong = service.call("POST", "/v1/telemetry", "agent", json={})
        assert wrong.status_code == 415
        packed = service.call(
            "POST", "/v1/telemetry", "agent", headers=NDJSON | {"Content-Encoding": "gzip"}, data=b"x"
        )
        assert packed.status_code == 415


def test_an_event_that_is_played_again_does_nothing_again(tmp_path):
    later = EVENT | {"modificationDateTime": "2024-05-13T11:00:00Z", "priority": 1}
    unstamped = {k: v for k, v in EVENT.items() if k != "modificationDateTime"}
    with served(tmp_path) as service:

        def send(event):
            return service.call("POST", "/v1/sites/site/events", json=event).json()[0]["receipt"]

        assert [send(e) for e in (EVENT, EVENT, later, EVENT, later, unstamped)] == [
            "new", "known", "new", "known", "known", "overtaken",
        ]  # fmt: skip
        assert send(EVENT | {"priority": 5}) == "overtaken"
        assert len(service.call("GET", "/v1/sites/site/events").json()) == 2


def test_a_sender_whose_clock_was_ahead_is_heard_once_it_is_right(tmp_path):
    """By its word alone nothing that it sends in the next years would count."""
    stamps = ("2031-01-01T00:00:00Z", "2024-05-13T12:05:00Z", "2024-05-13T12:04:00Z")
    with served(tmp_path) as service:
        receipts = []
        for minute, stamp in enumerate(stamps):
            service.clock.now = NOON + timedelta(minutes=10 * minute)
            event = EVENT | {"modificationDateTime": stamp, "priority": minute}
            receipts.append(service.call("POST", "/v1/sites/site/events", json=event).json()[0]["receipt"])
        assert receipts == ["new", "new", "overtaken"]


@pytest.mark.parametrize(
    ("lies", "status"),
    [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
        ("Content-Length: 5\r\nContent-Length: 6", 400),
        ("Content-Length: -1", 400),
        ("Content-Length: 0x10", 400),
        ("Content-Length: 99999999999999999999999", 400),
        ("Content-Length: 9999999999", 413),
        ("Transfer-Encoding: gzip, chunked", 400),
        ("Content-Encoding: gzip\r\nContent-Length: 5", 415),
        ("Content-Encoding: identity, gzip\r\nContent-Length: 5", 415),
    ],
)
def test_what_a_header_says_of_a_body_is_not_believed(service, lies, status):
    """The rest of such a body would be taken for the next request, or grow a thousandfold."""
    head = f"POST /v1/telemetry HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['agent']}\r\n"
    body = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    kind = "Content-Type: application/x-ndjson\r\nConnection: close\r\n"
    answer = raw(service, f"{head}{kind}{lies}\r\n\r\n{body}".encode())
    assert answer.startswith(f"HTTP/1.1 {status}".encode())
    assert answer.count(b"HTTP/1.1") == 1


def test_of_requests_in_one_go_each_has_its_own_answer_in_order(service):
    paths = ["/v1/sites/site/calendars/current", "/healthz", "/v1/sites/site/runs/none", "/v1/sites/site/runs/r1"]
    sent = b"".join(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['agent']}\r\n\r\n".encode()
        for path in paths
    )
    answers = raw(service, sent + get("/metrics", service.tokens["agent"])).split(b"HTTP/1.1 ")[1:]
    assert [int(one[:3]) for one in answers] == [200, 200, 404, 200, 403]


def test_headers_and_log_lines_cannot_be_forged(service, caplog):
    token = service.tokens["viewer"]
    with caplog.at_level(logging.INFO, logger="planner.service"):
        for path in (
            "/v1/sites/site/runs/r1%0d%0aSet-Cookie:%20a=b",
            "/v1/sites/site/calendars/x%0aFORGED/calendar.json",
        ):
            answer = raw(service, get(path, token))
            assert answer.startswith(b"HTTP/1.1 404")
            assert b"Set-Cookie" not in answer
    told = [entry.getMessage() for entry in caplog.records]
    assert len(told) == 2
    assert not any("\n" in line or "\r" in line for line in told)


def test_secrets_are_in_no_log(service, caplog):
    with caplog.at_level(logging.DEBUG):
        service.call("GET", "/v1/sites/site/calendars", "planner")
        wrong = {"Authorization": "Bearer gp_viewer_guessed-secret"}
        service.call("GET", "/v1/sites/site/calendars?token=in-the-query", None, headers=wrong)
        service.call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=b'{"secret": "in-a-line"')
        service.call("POST", "/login", None, data={"token": "gp_viewer_typed-secret"})
        service.call("POST", "/login", None, data={"token": service.tokens["viewer"]})
        service.call("GET", "/", None, headers={"Cookie": "gridpace_token=gp_viewer_in-a-cookie"})
        service.call("POST", "/v1/sites/site/rollback/x", json={"why": "in-a-reason"})
    told = "\n".join(entry.getMessage() for entry in caplog.records if entry.name.startswith(("planner", "uvicorn")))
    assert told
    secrets = ("guessed-secret", "in-the-query", "in-a-line", "typed-secret", "in-a-cookie", "in-a-reason")
    for secret in (*service.tokens.values(), *secrets):
        assert secret not in told


def test_guessing_is_slowed_down_and_a_right_token_from_elsewhere_is_not(tmp_path):
    limits = Limits(requests_per_s=1000.0, request_burst=1000.0, failures_per_s=1e-3, failure_burst=5.0)
    with served(tmp_path, limits=limits) as service:
        guess = {"headers": {"Authorization": "Bearer 0123456789abcdef"}}
        found = [service.call("GET", "/v1/sites/site/calendars", None, **guess).status_code for _ in range(7)]
        assert found == [401] * 5 + [429] * 2


def test_a_caller_has_its_own_bucket(tmp_path):
    with served(tmp_path, limits=Limits(requests_per_s=1e-3, request_burst=3.0)) as service:
        found = [service.call("GET", "/v1/sites/site/calendars", "viewer") for _ in range(4)]
        assert [one.status_code for one in found] == [200, 200, 200, 429]
        assert int(found[-1].headers["Retry-After"]) > 100
        assert service.call("GET", "/v1/sites/site/calendars", "planner").status_code == 200


def test_a_bucket_fills_again_and_many_buckets_do_not_fill_the_memory():
    now = [0.0]
    buckets = Buckets(2.0, 2.0, most=100, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 0.5
    assert (buckets.take("a"), buckets.take("a")) == (0.0, 0.5)
    for caller in range(1000):
        buckets.take(str(caller))
    assert len(buckets._left) == 100


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_without_tokens_a_proxy_is_refused(tmp_path, name):
    with served(tmp_path, tokens=False) as service:
        assert service.call("GET", "/v1/sites/site/calendars", None).status_code == 200
        assert service.call("GET", "/v1/sites/site/calendars", None, headers={name: "203.0.113.7"}).status_code == 403


def test_without_tokens_pages_of_other_sites_are_refused(tmp_path):
    with served(tmp_path, tokens=False) as service:
        host, port = service.url.removeprefix("http://").split(":")
        for headers in (
            {"Host": f"evil.example:{port}"},
            {"Origin": "https://evil.example", "Content-Type": "application/json"},
            {"Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"},
        ):
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            connection.request("POST", "/v1/sites/site/events", json.dumps(EVENT), headers)
            assert connection.getresponse().status == 403, headers
            connection.close()
        assert service.call("POST", "/v1/sites/site/events", None, json=EVENT).status_code == 202


def test_a_token_that_is_taken_out_ends_at_once(tmp_path):
    with served(tmp_path) as service:
        assert service.call("GET", "/v1/sites/site/calendars", "viewer").status_code == 200
        file = tmp_path / "tokens"
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "viewer" not in line))
        assert service.call("GET", "/v1/sites/site/calendars", "viewer").status_code == 401
        assert service.call("GET", "/v1/sites/site/calendars", "planner").status_code == 200
        file.write_text("broken")
        assert service.call("GET", "/v1/sites/site/calendars", "planner").status_code == 503


def test_the_file_of_tokens_holds_digests_alone_and_is_its_owner_s(tmp_path):
    file = tmp_path / "tokens"
    token = add_token(file, "node-a", "agent")
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert TokenBook(file).find(token).name == "node-a"
    assert TokenBook(file).find(token + "x") is None
    with pytest.raises(ConfigError, match="a token named 'node-a' already"):
        add_token(file, "node-a", "viewer")
    with pytest.raises(ConfigError, match="is not 1 to 64"):
        add_token(file, "a b", "viewer")
    file.chmod(0o644)
    with pytest.raises(NotPermitted, match="mode 0644"):
        TokenBook(file)
    file.chmod(0o600)
    file.write_text(f"node-b agent {token}\n")
    with pytest.raises(ConfigError) as told:
        TokenBook(file)
    assert token not in str(told.value)


def test_a_name_of_script_stays_text_wherever_it_is_shown(tmp_path):
    with served(tmp_path) as service:
        name = "<script>alert(1)</script>"
        enter(service.state.ledger, calendar(name=name), at=NOON - timedelta(hours=1))
        answer = service.call("GET", "/v1/sites/site/runs/%3Cscript%3Ealert(1)%3C/script%3E", "agent")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        page = service.call("GET", "/docs", "viewer")
        assert "<script" not in page.text
        assert "/v1/telemetry" in page.text
