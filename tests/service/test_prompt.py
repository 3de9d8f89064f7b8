"""Events do not wait behind a running plan: a thread of their own, woken as one comes in."""

from __future__ import annotations

import threading
import time

import pytest
from apscheduler.triggers.interval import IntervalTrigger

from planner.errors import ExportError
from planner.ledger import Ledger
from planner.service import schedule as schedule_module
from planner.service.bell import Bell
from planner.service.prompt import Prompt
from planner.service.schedule import Schedule, Times
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from tests.agents import until
from tests.served import served
from tests.service.test_service_jobs import SITE, event, send
from tests.service.test_service_schedule import now
from tests.service.test_service_security import EVENT


def test_it_works_when_the_mark_changes_and_not_again():
    marks, worked = [1], []
    prompt = Prompt(lambda: marks[0], lambda: worked.append(marks[0]) or True, Bell())
    for mark in (1, 1, 2, 2):
        marks[0] = mark
        prompt.look(rung=False)
    prompt.look(rung=True)
    assert worked == [1, 2]


def test_what_came_in_while_it_worked_is_worked_at_too():
    marks, worked = [1], []

    def work():
        worked.append(marks[0])
        marks[0] = 2
        return True

    prompt = Prompt(lambda: marks[0], work, Bell())
    prompt.look(rung=False)
    prompt.look(rung=False)
    assert worked == [1, 2]


def test_what_failed_is_tried_again_after_a_pause_or_when_the_bell_is_rung():
    clock, tried = [0.0], []
    prompt = Prompt(lambda: 1, lambda: tried.append(clock[0]) or False, Bell(), steady=lambda: clock[0])
    for at, rung in ((0.0, False), (19.0, False), (19.5, True), (30.0, False), (39.5, False)):
        clock[0] = at
        prompt.look(rung=rung)
    assert tried == [0.0, 19.5, 39.5]


def test_a_database_that_is_away_is_told_once_and_ends_nothing(caplog):
    looks = []

    def mark():
        looks.append(1)
        if len(looks) < 4:
            raise ExportError("the ledger cannot be read")
        return 1

    worked = threading.Event()
    prompt = Prompt(mark, lambda: worked.set() or True, Bell(), look_s=0.01)
    prompt.start()
    assert worked.wait(10.0)
    prompt.stop(wait=True)
    assert [entry.getMessage() for entry in caplog.records] == ["events wait: the ledger cannot be read"]


@pytest.fixture
def worker(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(SITE, encoding="utf-8")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        yield Worker(file, "Werk Süd", ledger, ResponseCache(tmp_path / "cache"), now, "one", offline=True)


def test_an_event_is_answered_while_a_job_takes_long_and_its_thread_ends_with_the_schedule(worker, monkeypatch):
    planning, go_on, answered_s = threading.Event(), threading.Event(), []
    monkeypatch.setattr(
        schedule_module, "answer_events", lambda *_, **__: answered_s.append(time.monotonic()) or "answered"
    )
    send(worker, event(7.5, id="first"))

    def plan(_):
        planning.set()
        go_on.wait(20.0)
        return "planned"

    when = {"plan": Times(IntervalTrigger(seconds=0.05), "often")}
    bell = Bell()
    schedule = Schedule(worker, bell, jobs={"plan": plan}, when=lambda _: when)
    schedule.start()
    assert planning.wait(10.0)
    until(lambda: answered_s, 10.0)
    answered_s.clear()
    send(worker, event(7.5))
    bell.ring()
    assert until(lambda: answered_s, 10.0) < 2.0
    go_on.set()
    schedule.stop()
    assert "gridpace-events" not in {thread.name for thread in threading.enumerate()}


def test_a_request_that_brings_an_event_or_an_outage_rings_the_bell(tmp_path):
    with served(tmp_path) as service:
        for path, sent in (("events", EVENT), ("outages", {"id": "o", "block": "b", "cause": "c", "capacity_kw": 0})):
            assert not service.state.bell.heard(0.0)
            answer = service.call("POST", f"/v1/sites/site/{path}", json=sent)
            assert answer.status_code == 202, answer.text
            assert service.state.bell.heard(0.0)
