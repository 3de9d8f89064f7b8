"""Files from memory: the same answers as the application's, and no waiting for a database that is slow."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest

from planner.ledger import Ledger
from planner.service.at_hand import AtHand
from planner.service.shelf import Shelf
from planner.service.state import ServiceState
from tests.served import NOON, calendar, enter, served
from trainer_hooks.calendar import run_file

PATHS = ("calendars/current", "calendars/{id}/calendar.json", "calendars/{id}/{run}", "calendars/{id}.sig", "runs/r1")


def shown(answer):
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k != "date"}


@pytest.mark.parametrize("path", PATHS)
def test_what_is_at_hand_is_answered_as_the_application_does(tmp_path, monkeypatch, path):
    with served(tmp_path, sign=lambda content: content[:7]) as service:
        name = enter(service.state.ledger, calendar())
        address = f"/v1/sites/site/{path.format(id=name, run=run_file('r1'))}"
        first = service.call("GET", address, "agent")
        assert first.status_code == 200
        etag = first.headers["ETag"]
        asked = [{}, {"If-None-Match": '"other"'}]
        others = [{"If-None-Match": one} for one in (etag, f"W/{etag}", "*", f'"x", {etag}')]
        with monkeypatch.context() as patch:
            patch.setattr(AtHand, "_found", lambda *_: None)
            by_application = [shown(service.call("GET", address, "viewer", headers=headers)) for headers in asked]
        with monkeypatch.context() as patch:
            patch.setattr("planner.service.calendar_routes.check_site", None)  # the application would fail
            service.state.shelf.current()
            assert [
                shown(service.call("GET", address, "viewer", headers=headers)) for headers in asked
            ] == by_application
        assert [service.call("GET", address, "planner", headers=one).status_code for one in others] == [304] * 4
        assert service.call("GET", address, None).status_code == 401


def test_what_is_not_approved_or_of_another_site_is_not_at_hand(tmp_path):
    with Ledger(tmp_path / "l.sqlite") as ledger:
        shelf = Shelf(ledger, "site", lambda: NOON)
        enter(ledger, calendar())
        draft = enter(ledger, calendar(issued=NOON), approve=False)
        shelf.current()
        assert shelf.file(draft, "calendar.json") is None
        passed = []

        async def app(scope, receive, send):
            passed.append(scope["path"])

        at_hand = AtHand(app, ServiceState("site", ledger, shelf, None, lambda: NOON))
        for path in (
            f"/v1/sites/site/calendars/{draft}/calendar.json",
            "/v1/sites/other/calendars/current",
            "/v1/sites/site/calendars/x/../calendar.json",
            "/v1/sites/site/runs/",
        ):
            asyncio.run(at_hand({"type": "http", "method": "GET", "path": path, "headers": []}, None, None))
            assert passed[-1] == path


def test_while_one_asks_a_slow_database_the_others_go_by_what_was_known(tmp_path, monkeypatch):
    now, slow, go_on = [0.0], threading.Event(), threading.Event()
    with Ledger(tmp_path / "l.sqlite") as ledger:
        name = enter(ledger, calendar())
        shelf = Shelf(ledger, "site", lambda: NOON, steady=lambda: now[0])
        assert shelf.current() == name
        reading = ledger.reading

        @contextmanager
        def slowly():
            slow.set()
            assert go_on.wait(10)
            with reading() as session:
                yield session

        monkeypatch.setattr(ledger, "reading", slowly)
        now[0] = 1.5
        assert not shelf.fresh
        asking = threading.Thread(target=shelf.current)
        asking.start()
        assert slow.wait(10)
        assert (shelf.current(), shelf.tag_at_hand(None)) == (name, name)
        now[0] = 5.5  # too long ago to go by
        assert not shelf.fresh
        assert shelf.tag_at_hand(None) is None
        go_on.set()
        asking.join()
        assert shelf.fresh
