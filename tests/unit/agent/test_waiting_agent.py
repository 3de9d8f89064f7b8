"""An agent that waits at a server for the next calendar: held, cut off by proxies, turned away, put off."""

from __future__ import annotations

import http.server
import threading
import time

import pytest

from tests.run_calendars import two_hours
from trainer_hooks.agent import calendars, web
from trainer_hooks.agent.calendars import CalendarKeeper, CalendarPuller
from trainer_hooks.agent.origin import FolderOrigin
from trainer_hooks.agent.web import HttpOrigin
from trainer_hooks.calendar import write_calendar
from trainer_hooks.errors import CalendarError

POLL_S = 60.0


class Holding:
    """A server of a published folder that does with a request that waits what a test says."""

    def __init__(self, root):
        self.preferred, self.act = [], None
        holding = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                known, wait = self.headers.get("If-None-Match"), self.headers.get("Prefer")
                if self.path == "/c/current":
                    holding.preferred.append(wait)
                if known and holding.act is not None:
                    holding.act(self)
                    return
                content = (root / self.path.removeprefix("/c/")).read_bytes()
                self.answer(200, content, ETag='"one"', **({"Preference-Applied": "wait"} if wait else {}))

            def answer(self, status, content=b"", **headers):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/c"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(tmp_path):
    header, runs = two_hours("llm-8b", calendar_id="c0ffee")
    write_calendar(tmp_path / "published", header, runs)
    found = Holding(tmp_path / "published")
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def puller(tmp_path, server):
    keeper = CalendarKeeper(tmp_path / "kept", HttpOrigin(server.url), None, frozenset())
    return CalendarPuller(keeper, POLL_S, lambda: None, wait_s=50.0)


def cut(after_s):
    def act(handler):
        time.sleep(after_s)
        handler.close_connection = True  # without a word, as a proxy does

    return act


def test_who_is_held_asks_again_at_once(puller, server):
    assert puller.look() <= 0.2
    server.act = lambda handler: time.sleep(0.02) or handler.answer(304, **{"Preference-Applied": "wait"})
    assert puller.look() <= 0.2
    assert server.preferred == ["wait=50", "wait=50"]


def test_a_server_that_knows_nothing_of_waiting_is_polled_as_ever(puller, server):
    puller.look()
    server.act = lambda handler: handler.answer(304)
    assert puller.look() == POLL_S


def test_a_server_that_only_says_that_it_waits_is_not_asked_without_a_pause(puller, server):
    server.act = lambda handler: handler.answer(304, **{"Preference-Applied": "wait"})
    pauses = [puller.look() for _ in range(8)]
    assert max(pauses[:2]) <= 0.2
    assert pauses[2:] == sorted(pauses[2:]) or pauses[-1] > 8.0
    assert pauses[-1] > 8.0


def test_a_proxy_that_cuts_is_no_failure_and_less_is_asked_of_it(puller, server, monkeypatch, caplog):
    monkeypatch.setattr(web, "_SHORTEST_CUT_S", 0.05)
    monkeypatch.setattr(calendars, "_SHORTEST_WAIT_S", 0.05)
    puller.look()
    server.act = cut(0.1)
    assert puller.look() <= 0.2
    assert puller.failures == 0
    assert 0.05 <= puller._wait_s <= 0.8 * 2.0
    server.act = lambda handler: time.sleep(0.06) or handler.answer(504)
    monkeypatch.setattr(puller, "_wait_s", 50.0)
    assert puller.look() <= 0.2
    assert (puller.failures, caplog.records) == (0, [])


def test_a_server_that_is_gone_is_told_and_the_wait_grows_back(puller, server, monkeypatch, caplog):
    monkeypatch.setattr(web, "_SHORTEST_CUT_S", 0.02)
    monkeypatch.setattr(calendars, "_SHORTEST_WAIT_S", 0.04)
    puller.look()
    server.act = cut(0.04)
    assert [puller.look() <= 0.2 for _ in range(2)] == [True, True]
    assert puller.failures == 0
    assert puller.look() > 0.2
    assert puller.failures == 1
    assert "requests that wait end without an answer" in caplog.text
    short_s = puller._wait_s
    server.act = lambda handler: handler.answer(304, **{"Preference-Applied": "wait"})
    puller.look()
    assert puller.failures == 0
    assert puller._wait_s == pytest.approx(1.25 * short_s)


def test_what_breaks_at_once_is_a_failure(server, tmp_path):
    origin = HttpOrigin(server.url)
    for act in (cut(0.0), lambda handler: handler.answer(502), lambda handler: handler.answer(403)):
        server.act = act
        with pytest.raises(CalendarError):
            origin.look("current", 256, '"one"', 50.0)


def test_a_request_that_does_not_wait_is_never_cut(server, monkeypatch):
    monkeypatch.setattr(web, "_SHORTEST_CUT_S", 0.01)
    server.act = cut(0.05)
    with pytest.raises(CalendarError):
        HttpOrigin(server.url).look("current", 256, '"one"', 0.0)


def test_a_service_that_is_started_anew_is_asked_again_within_seconds(puller, server):
    puller.look()
    server.act = lambda handler: handler.answer(503)
    first, second = puller.look(), puller.look()
    assert 1.0 <= first <= 2.0
    assert 2.0 <= second <= 4.0
    for _ in range(12):
        last = puller.look()
    assert 5 * POLL_S <= last <= 10 * POLL_S


def test_a_folder_holds_nobody(tmp_path, server):
    found = FolderOrigin(tmp_path / "published").look("current", 256, "x", 50.0)
    assert (found.pointer.content, found.waits) == (b"c0ffee\n", False)
