"""What was answered stays answered: where another calendar takes its place, over later word, and by whose decision."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from planner.errors import DataUnavailable
from planner.ledger import Ledger
from planner.ledger.alarms import open_alarms
from planner.ledger.decisions import APPROVED, decide, in_force, standings
from planner.ledger.events import events, receive
from planner.service.decision_routes import decide_draft
from planner.service.event_job import answer_events, event_mark, events_due, watch_events
from planner.service.incoming import incoming_outage
from planner.service.planning_jobs import publish_week, replan
from planner.service.publishing import roll_back, stored_calendar
from planner.service.shelf import Shelf
from planner.service.standing import _is_waived, latest, outage_began
from planner.service.state import ServiceState
from planner.service.stored_week import stored_week
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from planner.timegrid import iso
from tests.served import Clock
from tests.service.test_service_jobs import MONDAY, POLICY_SITE, event, send

HOUR = timedelta(hours=1)
PERSON = POLICY_SITE + 'approve_answers = "person"\n'


@pytest.fixture
def make(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:

        def maker(text=POLICY_SITE):
            file = tmp_path / "site.toml"
            file.write_text(text, encoding="utf-8")
            cache = ResponseCache(tmp_path / "cache")
            clock = Clock(datetime(2024, 5, 10, 10, tzinfo=UTC))
            found = Worker(file, "Werk Süd", ledger, cache, clock, "here", offline=True)
            publish_week(found)
            return found

        yield maker


def followed(worker, at):
    """The calendar in force at an instant: its header, and the window of its one run."""
    with worker.ledger.reading() as session:
        header, (run,) = stored_calendar(session, in_force(session, worker.site, at))
    return header, run.window_at(at)


def training(worker, after=MONDAY, hours=6):
    """The first full hour from which on the run trains for some hours."""
    while any(followed(worker, after + HOUR * i)[1].state != "run" for i in range(hours)):
        after += HOUR
    return after


def outcomes(worker):
    with worker.ledger.reading() as session:
        return {row.number: row.outcome for row in events(session, worker.site)}


def alarms(worker):
    with worker.ledger.reading() as session:
        return {(row.kind, row.subject) for row in open_alarms(session, worker.site)}


def break_down(worker, **changes):
    document = {"id": "hv", "block": "hall", "cause": "a fuse", "capacity_kw": 0}
    stamp = {"modificationDateTime": iso(worker.clock())}
    found = incoming_outage(json.dumps(document | stamp | changes).encode(), worker.site, "halls", worker.clock())
    with worker.ledger.writing() as session:
        assert receive(session, found, worker.clock()) == "new"


def test_a_dark_hall_stops_its_run_until_the_end_that_is_told(make):
    worker = make()
    start = training(worker)
    planned = followed(worker, start + 3 * HOUR)[1]
    worker.clock.now = start + HOUR / 2
    before = event_mark(worker)
    break_down(worker)
    assert event_mark(worker) != before
    assert answer_events(worker) == "1 events answered"
    assert followed(worker, start + HOUR)[1].state == "off"
    assert followed(worker, start)[1].state == "run"
    assert ("outage", "outage hv") in alarms(worker)
    assert events_due(worker) == []
    worker.clock.now = start + 2 * HOUR
    assert watch_events(worker) == "0 alarms closed of events that are over"
    break_down(worker, start=iso(start + HOUR / 2), end=iso(start + 2 * HOUR))
    assert answer_events(worker) == "1 events answered"
    assert followed(worker, start + HOUR)[1].state == "off"
    now = followed(worker, start + 3 * HOUR)[1]
    assert (now.state, now.gpu_power_limit_w) == (planned.state, planned.gpu_power_limit_w)
    assert watch_events(worker) == "1 alarms closed of events that are over"
    assert alarms(worker) == set()


def test_later_word_of_one_outage_leaves_another_as_it_is(make):
    worker = make()
    start = training(worker)
    worker.clock.now = start
    break_down(worker)
    assert answer_events(worker) == "1 events answered"
    break_down(worker, id="fan")
    assert answer_events(worker) == "1 events answered"
    worker.clock.now = start + HOUR
    break_down(worker, start=iso(start), end=iso(start + HOUR))
    for _ in range(5):
        answer_events(worker)
    assert events_due(worker) == []
    assert [followed(worker, start + HOUR * i)[1].state for i in (1, 2, 5)] == ["off"] * 3
    assert alarms(worker) == {("outage", "outage hv"), ("outage", "outage fan")}


def test_two_answers_that_wait_for_a_person_do_not_take_each_others_place_again_and_again(make):
    worker = make(PERSON)
    start = training(worker)
    worker.clock.now = start - 2 * HOUR
    for name, limit_kw in (("e1", 7.4), ("e2", 7.3)):
        assert send(worker, event(limit_kw, start, id=name)) == "new"
        assert answer_events(worker) == "1 events answered"
    assert events_due(worker) == []


def test_an_event_that_cannot_be_looked_at_keeps_none_behind_it_waiting(make, monkeypatch):
    worker = make()
    start = training(worker)
    worker.clock.now = start - 2 * HOUR
    assert send(worker, event(7.4, start, id="e1")) == "new"
    assert send(worker, event(7.3, start, id="e2")) == "new"
    looked = []

    def once_away(*given):
        looked.append(given)
        if len(looked) == 1:
            raise DataUnavailable("the series are away")
        return stored_week(*given)

    monkeypatch.setattr("planner.service.event_job.stored_week", once_away)
    with pytest.raises(DataUnavailable, match="the series are away"):
        answer_events(worker)
    assert len(events_due(worker)) == 1
    assert len(looked) == 2
    assert ("event", "e1") in alarms(worker)
    assert answer_events(worker) == "1 events answered"


def test_a_dark_hall_is_told_where_no_calendar_can_be_made_of_it(make):
    worker = make()
    worker.clock.now = training(worker)
    break_down(worker, block="annex")
    assert answer_events(worker) == "1 events answered"
    assert ("outage", "outage hv") in alarms(worker)


def test_what_was_answered_during_an_outage_is_kept_after_it_is_mended(make):
    worker = make()
    start, drawn_kw = MONDAY, [0.0]
    while min(drawn_kw) < 7.5:  # the run trains, and faster than it has to
        start += HOUR
        header, _ = followed(worker, start)
        slot = round((start - header.valid_from) / timedelta(minutes=header.slot_minutes))
        drawn_kw = header.blocks[0].import_kw[slot : slot + 4]
    worker.clock.now = start
    break_down(worker, capacity_kw=7.3)
    assert answer_events(worker) == "1 events answered"
    assert send(worker, event(7.2, start + 2 * HOUR)) == "new"
    assert answer_events(worker) == "1 events answered"
    worker.clock.now = start + HOUR
    break_down(worker, capacity_kw=7.3, start=iso(start), end=iso(start + HOUR))
    while events_due(worker):
        answer_events(worker)
    assert set(outcomes(worker).values()) == {"answered"}
    now_kw = followed(worker, start)[0].blocks[0].import_kw[slot : slot + 4]
    assert now_kw[0] <= 7.3
    assert now_kw[1] > 7.5  # mended, but for the minute before the event
    assert max(now_kw[2:4]) <= 7.2 + 1e-6


def test_a_plan_that_takes_the_place_of_an_answer_is_answered_too_and_who_goes_back_is_left_with_it(make):
    worker = make()
    with worker.ledger.reading() as session:
        plain = in_force(session, worker.site, MONDAY)
    start = training(worker)
    header, _ = followed(worker, start)
    slot = round((start - header.valid_from) / timedelta(minutes=header.slot_minutes))
    limit_kw = 0.95 * min(header.blocks[0].import_kw[slot : slot + 2])
    # Announced before the week has begun: it is answered with the calendar of that week.
    assert send(worker, event(limit_kw, start)) == "new"
    assert answer_events(worker) == "1 events answered"
    answer, _ = followed(worker, start)
    assert "e1" in answer.inputs["event"]["limits"]
    worker.clock.now += timedelta(days=1)
    replan(worker)  # the policy approves it, for the week is to be published already
    assert "event" not in followed(worker, start)[0].inputs
    assert len(events_due(worker)) == 1
    assert answer_events(worker) == "1 events answered"
    again, _ = followed(worker, start)
    assert again.calendar_id != answer.calendar_id
    assert max(again.blocks[0].import_kw[slot : slot + 2]) <= limit_kw + 1e-6
    assert events_due(worker) == []
    roll_back(worker.ledger, plain, by="me", why="w", at=worker.clock())
    assert events_due(worker) == []


def test_an_answer_that_a_person_looks_at_is_not_made_again(make):
    worker = make(PERSON)
    start = training(worker)
    worker.clock.now = start
    break_down(worker)
    assert answer_events(worker) == "1 events answered"
    assert ("event", "outage hv") in alarms(worker)
    assert events_due(worker) == []
    with worker.ledger.reading() as session:
        draft = standings(session, worker.site)[0].calendar_id
    shelf = Shelf(worker.ledger, worker.site, worker.clock)
    state = ServiceState(worker.site, worker.ledger, shelf, None, worker.clock)
    decide_draft(state, draft, "approve", by="me", why="w")
    assert ("event", "outage hv") not in alarms(worker)
    assert followed(worker, start + HOUR)[1].state == "off"
    assert events_due(worker) == []
    with worker.ledger.writing() as session:
        assert not decide(session, draft, APPROVED, by="me", why="w", at=worker.clock())


def test_what_is_urgent_is_answered_first(make):
    worker = make()
    worker.clock.now = training(worker)
    send(worker, event(1e6, worker.clock(), id="later"))
    break_down(worker)
    first, second = events_due(worker)
    assert first > second


def limit_at(worker, start):
    """A limit somewhat below what the calendar in force draws in two hours, kW."""
    header, _ = followed(worker, start)
    slot = round((start - header.valid_from) / timedelta(minutes=header.slot_minutes))
    return 0.95 * min(header.blocks[0].import_kw[slot : slot + 2])


def test_who_went_back_is_left_with_it_and_a_later_event_is_kept_all_the_same(make):
    worker = make()
    with worker.ledger.reading() as session:
        plain = in_force(session, worker.site, MONDAY)
    start = training(worker, hours=8)
    assert send(worker, event(limit_at(worker, start), start, id="e1")) == "new"
    assert answer_events(worker) == "1 events answered"
    worker.clock.now += HOUR
    roll_back(worker.ledger, plain, by="me", why="w", at=worker.clock())
    back, _ = followed(worker, start)
    assert "rollback" in back.inputs
    assert events_due(worker) == []
    worker.clock.now += HOUR
    later = start + 4 * HOUR
    assert send(worker, event(limit_at(worker, later), later, id="e2")) == "new"
    assert answer_events(worker) == "1 events answered"
    answer, _ = followed(worker, start)
    assert answer.inputs["event"]["answered_from"] == back.calendar_id
    assert "rollback" not in answer.inputs
    # the first event stays waived in what goes on from there; of the second one nothing ever was
    assert events_due(worker) == []
    with worker.ledger.reading() as session:
        first, second = latest(session, worker.site)
        for header in (back, answer):
            assert (_is_waived(session, header, first), _is_waived(session, header, second)) == (True, False)


def test_later_word_needs_no_start(make):
    worker = make()
    start = training(worker)
    worker.clock.now = start
    break_down(worker)
    assert answer_events(worker) == "1 events answered"
    worker.clock.now = start + HOUR
    document = {"id": "hv", "block": "hall", "cause": "a fuse", "capacity_kw": 0}
    body = document | {"end": iso(start + HOUR / 2), "modificationDateTime": iso(worker.clock())}
    with worker.ledger.writing() as session:
        began = partial(outage_began, session, worker.site)
        found = incoming_outage(json.dumps(body).encode(), worker.site, "halls", worker.clock(), began)
        assert json.loads(found.content)["start"] == iso(start)
        assert receive(session, found, worker.clock()) == "new"
    assert answer_events(worker) == "1 events answered"
    assert followed(worker, start + 2 * HOUR)[1].state == "run"


def test_an_outage_without_a_calendar_waits_for_one(make):
    worker = make()
    worker.clock.now = datetime(2024, 6, 12, 10, tzinfo=UTC)  # no calendar was ever made of that week
    break_down(worker)
    assert answer_events(worker) == "0 events answered"
    assert ("outage", "outage hv") in alarms(worker)
    assert list(outcomes(worker).values()) == ["pending"]


def test_who_has_lost_the_schedule_answers_no_more(make):
    worker = make()
    start = training(worker)
    worker.clock.now = start - 2 * HOUR
    for name in ("e1", "e2"):
        assert send(worker, event(7.4, start, id=name)) == "new"
    leads = iter((True, False))
    assert answer_events(worker, lambda: next(leads)) == "1 events answered"
    assert len(events_due(worker)) == 1
