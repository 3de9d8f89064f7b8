"""The running week planned anew each day by the service, from the calendar in force."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.going_on import go_on
from planner.ledger import Ledger
from planner.ledger.alarms import open_alarms
from planner.ledger.decisions import in_force, standing, standings
from planner.ledger.events import receive
from planner.rolling.behind import GOES_ON
from planner.service.decision_routes import decide_draft
from planner.service.event_job import answer_events
from planner.service.going_on import go_on_daily
from planner.service.incoming import incoming_outage
from planner.service.planning_jobs import publish_week, replan
from planner.service.publishing import put_forward, stored_calendar
from planner.service.shelf import Shelf
from planner.service.state import ServiceState
from planner.service.stored_week import stored_week
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from planner.timegrid import iso
from tests.served import Clock
from tests.unit.test_replan_command import FROZEN, MONDAY, SITE, SLOT, grams, limits_w, write

FRIDAY = datetime(2024, 5, 10, 10, tzinfo=UTC)  # noon in Berlin: the hour of publication
WEDNESDAY = MONDAY + timedelta(hours=SLOT)
DAILY = SITE.replace('[horizon]\nweek = "2024-W20"\n', "").replace("frozen_h = 8", "frozen_h = 8\ndaily = true")


@pytest.fixture
def worker(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(DAILY + '\n[service]\napprove = "policy"\n', encoding="utf-8")
    write(tmp_path, grams([1, 3, 4]))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        made = Worker(file, "Werk Süd", ledger, ResponseCache(tmp_path / "cache"), Clock(FRIDAY), "here", offline=True)
        assert "is approved by the policy" in publish_week(made)
        yield made


def current(worker):
    with worker.ledger.reading() as session:
        name = in_force(session, worker.site, worker.clock())
        return *stored_calendar(session, name), standing(session, name)


def test_the_running_week_goes_on_by_the_new_forecast(worker):
    worker.clock.now = WEDNESDAY
    before, old, _ = current(worker)
    write(worker.site_file.parent, grams([1, 5]))
    told = go_on_daily(worker)
    assert "goes on with the running week, approved by the policy" in told
    header, new, stands = current(worker)
    assert header.calendar_id != before.calendar_id
    assert stands.by == "policy"
    assert header.inputs[GOES_ON]["from"] == before.calendar_id
    was, now = limits_w(old), limits_w(new)
    assert np.array_equal(now[:SLOT], was[:SLOT])
    assert np.array_equal(now[:FROZEN] > 0.0, was[:FROZEN] > 0.0)
    assert (now[120:144] > 0.0).sum() > (was[120:144] > 0.0).sum()
    with worker.ledger.reading() as session:
        _, week = stored_week(session, header, worker.site_file)
    assert week.sha256 == header.inputs["week"]["sha256"]
    # the next day nothing new is known: the calendar in force stands
    worker.clock.now += timedelta(minutes=30)
    assert f"calendar {header.calendar_id} stands" in go_on_daily(worker)


def test_an_outage_leaves_the_running_week_as_it_was_answered(worker):
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, grams([1, 5]))
    document = {"id": "hv", "block": "hall", "cause": "a fuse", "capacity_kw": 0}
    with worker.ledger.writing() as session:
        receive(session, incoming_outage(json.dumps(document).encode(), worker.site, "halls", WEDNESDAY), WEDNESDAY)
    before, _, _ = current(worker)
    assert "left as it was answered while an outage lasts (hv)" in go_on_daily(worker)
    assert current(worker)[0].calendar_id == before.calendar_id


def test_a_plan_that_was_overtaken_as_it_was_put_forward_is_rejected(worker, monkeypatch):
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, grams([1, 5]))
    before, _, _ = current(worker)

    def meanwhile(*given, **named):
        put_forward(*given, **named)
        monkeypatch.setattr("planner.service.going_on.in_force", lambda *_: "another")

    monkeypatch.setattr("planner.service.going_on.put_forward", meanwhile)
    assert "another calendar came in force while the running week was planned anew" in go_on_daily(worker)
    assert current(worker)[0].calendar_id == before.calendar_id
    with worker.ledger.reading() as session:
        states = [one.state for one in standings(session, worker.site)]
    assert sorted(states) == ["approved", "rejected"]


def test_the_alarm_of_a_daily_plan_is_closed_by_its_decision(worker):
    text = worker.site_file.read_text(encoding="utf-8")
    worker.site_file.write_text(text.replace('approve = "policy"', 'approve = "person"'), encoding="utf-8")
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, grams([1, 5]))
    go_on_daily(worker)
    with worker.ledger.reading() as session:
        assert {(row.kind, row.subject) for row in open_alarms(session, worker.site)} == {("approval", "running week")}
        (draft,) = [one for one in standings(session, worker.site) if one.state == "drafted"]
    shelf = Shelf(worker.ledger, worker.site, worker.clock)
    state = ServiceState(worker.site, worker.ledger, shelf, None, worker.clock)
    decide_draft(state, draft.calendar_id, "approve", by="me", why="w")
    with worker.ledger.reading() as session:
        assert open_alarms(session, worker.site) == []


def test_a_plan_that_was_overtaken_while_it_was_made_is_let_go(worker, monkeypatch):
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, grams([1, 5]))
    before, _, _ = current(worker)

    def meanwhile(*given, **named):
        found = go_on(*given, **named)
        monkeypatch.setattr("planner.service.going_on.in_force", lambda *_: "another")
        worker.clock.now += timedelta(minutes=5)
        return found

    monkeypatch.setattr("planner.service.going_on.go_on", meanwhile)
    assert "another calendar came in force while the running week was planned anew" in go_on_daily(worker)
    assert current(worker)[0].calendar_id == before.calendar_id


def test_a_person_looks_at_it_where_a_person_approves(worker):
    text = worker.site_file.read_text(encoding="utf-8")
    worker.site_file.write_text(text.replace('approve = "policy"', 'approve = "person"'), encoding="utf-8")
    worker.clock.now = WEDNESDAY
    before, _, _ = current(worker)
    write(worker.site_file.parent, grams([1, 5]))
    assert "once it is approved: a person approves the weekly plans" in go_on_daily(worker)
    assert current(worker)[0].calendar_id == before.calendar_id
    with worker.ledger.reading() as session:
        (alarm,) = open_alarms(session, worker.site)
    assert (alarm.kind, alarm.subject) == ("approval", "running week")


def test_what_hinders_it_is_told_and_the_coming_week_is_planned_all_the_same(worker, monkeypatch):
    from planner.errors import Infeasible
    from planner.service import going_on

    def refused(*_, **__):
        raise Infeasible("no plan goes on from what was done", conflicts=())

    monkeypatch.setattr(going_on, "go_on", refused)
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, np.tile(grams([1, 5]), 2))
    text = worker.site_file.read_text(encoding="utf-8")
    worker.site_file.write_text(text.replace("2024-05-19T18:00:00", "2024-05-26T18:00:00"), encoding="utf-8")
    told = replan(worker)
    assert "is a draft; the running week could not be planned anew: no plan goes on" in told
    with worker.ledger.reading() as session:
        assert ("replan", "amber") in {(row.kind, row.severity) for row in open_alarms(session, worker.site)}


def test_nothing_is_done_where_nobody_asks_or_the_week_ends(worker):
    worker.clock.now = MONDAY + timedelta(days=6, hours=12)
    assert go_on_daily(worker) == ""
    worker.clock.now = WEDNESDAY
    text = worker.site_file.read_text(encoding="utf-8")
    worker.site_file.write_text(text.replace("daily = true", "daily = false"), encoding="utf-8")
    assert go_on_daily(worker) == ""


def test_later_word_of_an_outage_is_answered_from_the_daily_plan_below_it(worker):
    worker.clock.now = WEDNESDAY
    write(worker.site_file.parent, grams([1, 5]))
    go_on_daily(worker)
    plan, _, _ = current(worker)
    assert GOES_ON in plan.inputs

    def word(**more):
        document = {"id": "hv", "block": "hall", "cause": "a fuse", "capacity_kw": 0, "start": iso(WEDNESDAY), **more}
        now = worker.clock.now
        with worker.ledger.writing() as session:
            receive(session, incoming_outage(json.dumps(document).encode(), worker.site, "halls", now), now)
        assert answer_events(worker) == "1 events answered"

    word()
    first, _, _ = current(worker)
    assert first.inputs["event"]["answered_from"] == plan.calendar_id
    worker.clock.now = WEDNESDAY + timedelta(hours=2)
    word(end=iso(worker.clock.now))
    after, _, _ = current(worker)
    assert after.calendar_id != first.calendar_id
    assert after.inputs["event"]["answered_from"] == plan.calendar_id
