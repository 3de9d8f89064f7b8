"""What the jobs of the service do: drafts, publishing, answers to events, alarms, drift."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select

from planner.errors import StaleData
from planner.ledger import Ledger
from planner.ledger.alarms import open_alarms
from planner.ledger.decisions import APPROVED, DRAFTED, REJECTED, SUPERSEDED, decide, in_force, standing, standings
from planner.ledger.events import Received, receive
from planner.ledger.events import events as all_events
from planner.ledger.issued import issued_input
from planner.ledger.jobs import last_runs
from planner.ledger.tables import Telemetry
from planner.service import planning_jobs
from planner.service.drift import bias, calibrate, speeds
from planner.service.event_job import answer_events, watch_events
from planner.service.incoming import incoming_events
from planner.service.keeping_jobs import let_go, roll_up
from planner.service.planning_jobs import publish_week, refresh_feeds, replan, watch_publication
from planner.service.publishing import stored_calendar
from planner.service.worker import Worker, run_job
from planner.sources.cache import ResponseCache
from planner.timegrid import iso
from tests.mini_site import MINI
from tests.published import CALENDAR_ID, START
from tests.served import Clock, calendar, enter
from tests.unit.test_ledger import record

SITE = MINI.replace('[horizon]\nweek = "2024-W20"\n', "[plan]\ntime_limit_s = 5\n")
THURSDAY = datetime(2024, 5, 9, 8, tzinfo=UTC)
MONDAY = datetime(2024, 5, 12, 22, tzinfo=UTC)  # 00:00 in Berlin
POLICY_SITE = SITE + '\n[service]\napprove = "policy"\n'


@pytest.fixture
def make(tmp_path):
    ledgers = []

    def maker(text=SITE, now=THURSDAY):
        file = tmp_path / "site.toml"
        file.write_text(text, encoding="utf-8")
        ledger = Ledger(tmp_path / "ledger.sqlite")
        ledgers.append(ledger)
        return Worker(file, "Werk Süd", ledger, ResponseCache(tmp_path / "cache"), Clock(now), "here", offline=True)

    yield maker
    for ledger in ledgers:
        ledger.close()


def states(worker):
    with worker.ledger.reading() as session:
        return [one.state for one in standings(session, worker.site)]


def alarms(worker):
    with worker.ledger.reading() as session:
        return {(row.kind, row.severity): row for row in open_alarms(session, worker.site)}


def current(worker):
    with worker.ledger.reading() as session:
        return in_force(session, worker.site, worker.clock())


def test_a_site_that_is_called_otherwise_now_is_planned_by_no_job(make):
    worker = make()
    worker.site_file.write_text(SITE.replace("Werk Süd", "Werk Nord"), encoding="utf-8")
    assert not run_job(worker, "replan", replan)
    row = alarms(worker)["job", "red"]
    assert "describes 'Werk Nord' now, and this service serves 'Werk Süd'" in row.sentence
    assert "give the site its name back" in row.action
    with worker.ledger.reading() as session:
        assert not standings(session, "Werk Nord")


def test_a_site_that_names_a_month_is_planned_by_no_job(make):
    worker = make()
    worker.site_file.write_text(f'[horizon]\nmonth = "2024-05"\n{SITE}', encoding="utf-8")
    assert not run_job(worker, "replan", replan)
    row = alarms(worker)["job", "red"]
    assert "names the month 2024-05" in row.sentence
    assert "`gridpace plan --month`" in row.action


def test_a_week_is_drafted_daily_and_published_once_by_the_policy(make):
    worker = make(POLICY_SITE)
    assert "is a draft" in replan(worker)
    worker.clock.now += timedelta(hours=1)
    assert "is a draft" in replan(worker)
    assert states(worker) == [DRAFTED, SUPERSEDED]
    assert watch_publication(worker) == "it is not yet time to publish"
    worker.clock.now = datetime(2024, 5, 10, 10, tzinfo=UTC)  # Friday noon in Berlin
    assert "is approved by the policy" in publish_week(worker)
    assert "is published already" in publish_week(worker)
    assert watch_publication(worker) == "the coming week is published"
    assert states(worker) == [APPROVED, SUPERSEDED]
    name = current(worker)
    with worker.ledger.reading() as session:
        stands = standing(session, name)
        assert (stands.by, stands.valid_from) == ("policy", MONDAY)
        assert issued_input(session, name, "site").content == worker.site_file.read_bytes()
        assert json.loads(issued_input(session, name, "summary").content)["calendar_id"] == name
        assert b"<script>" not in issued_input(session, name, "report").content.split(b"=1+1")[1][:20]
    assert alarms(worker) == {}
    worker.clock.now += timedelta(days=1)
    assert "is approved by the policy" in replan(worker)
    assert current(worker) != name


def test_a_person_is_asked_and_what_nobody_decides_becomes_urgent(make):
    worker = make(SITE, datetime(2024, 5, 10, 10, tzinfo=UTC))
    assert "a person approves the weekly plans" in publish_week(worker)
    assert set(alarms(worker)) == {("approval", "amber")}
    assert "a draft waits for approval" in watch_publication(worker)
    assert ("publication", "amber") in alarms(worker)
    worker.clock.now = MONDAY - timedelta(hours=23)
    watch_publication(worker)
    alarm = alarms(worker)["publication", "red"]
    assert (alarm.owner, alarm.times) == ("sustainability", 2)
    with worker.ledger.writing() as session:
        name = standings(session, worker.site)[0].calendar_id
        decide(session, name, REJECTED, by="me", why="w", at=worker.clock())
    watch_publication(worker)
    assert "there is no draft" in alarms(worker)["publication", "red"].sentence


def test_a_feed_that_fails_is_an_alarm_until_it_answers(make, monkeypatch):
    worker = make()

    def failing(*_, **__):
        raise StaleData("carbon of demo-central is 30 h old", fix="wait")

    with monkeypatch.context() as broken:
        broken.setattr(planning_jobs, "gather_signals", failing)
        assert run_job(worker, "feeds", refresh_feeds) is False
    assert set(alarms(worker)) == {("feed", "amber"), ("job", "amber")}
    assert run_job(worker, "feeds", refresh_feeds) is True
    assert alarms(worker) == {}
    with worker.ledger.reading() as session:
        (run,) = last_runs(session, worker.site)
        assert (run.job, run.outcome) == ("feeds", "done")


def test_a_job_that_breaks_is_told_without_what_it_holds(make):
    worker = make()

    def broken(_):
        raise RuntimeError("password=hunter2")

    assert run_job(worker, "replan", broken) is False
    alarm = alarms(worker)["job", "red"]
    assert "RuntimeError" in alarm.sentence
    assert "hunter2" not in alarm.sentence


def event(limit_kw, start=MONDAY + timedelta(hours=18), **changes):
    document = {
        "id": "e1",
        "programID": "p",
        "modificationDateTime": "2024-05-13T10:00:00Z",
        "intervalPeriod": {"start": iso(start), "duration": "PT2H"},
        "intervals": [{"id": 0, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [limit_kw]}]}],
    }
    return json.dumps(document | changes).encode()


def send(worker, body):
    (found,) = incoming_events(body, worker.site, "grid", worker.clock())
    with worker.ledger.writing() as session:
        return receive(session, found, worker.clock())


def test_an_event_is_answered_once_and_the_answer_is_in_force(make):
    worker = make(POLICY_SITE, datetime(2024, 5, 10, 10, tzinfo=UTC))
    publish_week(worker)
    before = current(worker)
    with worker.ledger.reading() as session:
        was, _ = stored_calendar(session, before)
    import_kw, per_h = np.array(was.blocks[0].import_kw), 60 // was.slot_minutes
    first = 12 * per_h + int(np.argmax(import_kw[12 * per_h :] > 9.0))  # Monday noon at the earliest
    slots = slice(first, first + 2 * per_h)
    start = was.valid_from + timedelta(hours=first / per_h)
    worker.clock.now = start - timedelta(hours=1)
    assert send(worker, event(7.5, start)) == "new"
    assert answer_events(worker) == "1 events answered"
    with worker.ledger.reading() as session:
        (row,) = all_events(session, worker.site)
    after = current(worker)
    assert (row.outcome, row.calendar_id) == ("answered", after)
    assert after != before
    with worker.ledger.reading() as session:
        now, _ = stored_calendar(session, after)
    assert max(now.blocks[0].import_kw[slots]) <= 7.5 + 1e-6 < max(import_kw[slots])
    assert send(worker, event(7.5, start)) == "known"
    assert answer_events(worker) == "0 events answered"
    # A later event does not lift the earlier one.
    assert send(worker, event(9.0, start + timedelta(hours=1), id="e2")) == "new"
    answer_events(worker)
    with worker.ledger.reading() as session:
        third, _ = stored_calendar(session, current(worker))
    assert max(third.blocks[0].import_kw[slots]) <= 7.5 + 1e-6


def test_an_event_that_no_calendar_covers_waits_for_one_and_is_refused_once_it_has_begun(make):
    worker = make(POLICY_SITE, datetime(2024, 5, 13, 12, tzinfo=UTC))
    send(worker, event(7.5))
    assert answer_events(worker) == "0 events answered"
    assert "no calendar covers 2024-05-13T16:00:00Z yet" in alarms(worker)["event", "amber"].sentence
    with worker.ledger.reading() as session:
        (row,) = all_events(session, worker.site)
    assert row.outcome == "pending"
    worker.clock.now = datetime(2024, 5, 13, 17, tzinfo=UTC)
    assert answer_events(worker) == "1 events answered"
    assert "no calendar is in force" in alarms(worker)["event", "amber"].sentence
    with worker.ledger.reading() as session:
        (row,) = all_events(session, worker.site)
    assert row.outcome.startswith("refused")
    assert watch_events(worker) == "0 alarms closed of events that are over"
    worker.clock.now = datetime(2024, 5, 13, 18, tzinfo=UTC)
    assert watch_events(worker) == "1 alarms closed of events that are over"
    assert alarms(worker) == {}


def test_speeds_are_compared_by_run_and_limit(make):
    worker = make()
    made = calendar()
    enter(worker.ledger, made)
    records = [record(0, 0, 2), replace(record(1, 10, 11), tokens=500_000), replace(record(2, 2, 3), state="hold")]
    worker.ledger.take_in(records)
    with worker.ledger.reading() as session:
        rows = session.scalars(select(Telemetry)).all()
    (found,) = speeds(made[1], rows)
    assert (found.run, found.limit_w) == ("r1", 700.0)
    assert found.planned == pytest.approx(1e6 / (8 * 3600))
    assert found.measured == pytest.approx(2.5e6 / (8 * 3 * 3600))
    assert found.off == pytest.approx(-1 / 6)


@pytest.mark.parametrize(("tokens", "drifts"), [(1_000_000, False), (850_000, True), (1_120_000, True)])
def test_a_drift_is_an_alarm_while_it_lasts(make, tokens, drifts):
    worker = replace(make(SITE.replace("Werk Süd", "site"), START + timedelta(hours=6)), site="site")
    made = calendar()
    enter(worker.ledger, made)
    name = made[0].calendar_id
    assert name != CALENDAR_ID
    worker.ledger.take_in([replace(record(i, i, i + 1), tokens=tokens, calendar_id=name) for i in range(3)])
    assert calibrate(worker) == "1 speeds of runs compared"
    assert (("drift", "amber") in alarms(worker)) is drifts
    worker.ledger.take_in([replace(record(3 + i, 3, 4), tokens=1_000_000, calendar_id=name) for i in range(200)])
    calibrate(worker)
    assert alarms(worker) == {}


def test_a_bias_is_the_mean_s_share():
    assert bias(np.array([110.0, 110.0]), np.array([90.0, 110.0])) == pytest.approx(0.1)
    assert bias(np.array([-5.0, 5.0]), np.array([-10.0, 10.0])) == 0.0
    assert bias(np.array([1.0]), np.array([0.0])) == 0.0


def test_old_records_are_let_go_by_the_site_s_policy(make):
    worker = make(SITE + "\n[service]\nraw_days = 10\n", datetime(2024, 5, 20, tzinfo=UTC))
    worker.ledger.take_in([record(0, 0, 1), record(1, 24, 25)])
    assert roll_up(worker) == "the hours of 1 runs summed"
    assert let_go(worker) == "0 records let go; their sums stay"
    worker.clock.now = datetime(2024, 5, 23, 12, tzinfo=UTC)
    assert let_go(worker) == "1 records let go; their sums stay"


def test_an_event_keeps_who_brought_it():
    (found,) = incoming_events(event(7.5), "Werk Süd", "grid", MONDAY + timedelta(days=1))
    assert isinstance(found, Received)
    assert (found.by, found.event) == ("grid", '["p", "e1"]')
    assert found.modified_at == datetime(2024, 5, 13, 10, tzinfo=UTC)
