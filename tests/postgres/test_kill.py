"""A service killed 200 times in the midst of what it does, on both databases; and the database under it.

Nothing is lost, nothing is there twice or by half, and whoever comes next goes on by itself.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from http import HTTPStatus

import pytest
from sqlalchemy import func, select

from planner.ledger.decisions import APPROVED, DRAFTED, SUPERSEDED, decide, in_force, standings
from planner.ledger.hours import hours
from planner.ledger.jobs import job_begins, last_runs
from planner.ledger.service_tables import Decision, JobRun, PlanInput, TelemetryLetGo
from planner.ledger.tables import IssuedPlan, PlannedWindow, SlotCarbon
from planner.service.planning_jobs import replan
from planner.service.publishing import stored_calendar
from planner.service.worker import run_job
from planner.timegrid import coming_week, iso_week, zone
from tests.mini_site import MINI
from tests.postgres import doomed
from tests.postgres.doomed import BEGINS, COMMITS, ENDS, OPENS, ROLLS_BACK, SITE, Doomed, clock, opened
from tests.postgres.killing import Tally, kill_often
from tests.postgres.senders import Senders, records

pytestmark = pytest.mark.postgres
KILLS, KILLS_BACK = 25, 10
SERVER_KILLS = 8
LONG = MINI.replace('[horizon]\nweek = "2024-W20"\n', "[plan]\ntime_limit_s = 2\n").replace(
    "tokens = 8.0e9, deadline = 2024-05-17T18:00:00", "tokens = 9.0e11, deadline = 2024-12-20T18:00:00"
)
MADE_FROM = {"series", "site", "progress"}
TOLD = {"report", "summary", "objections"}


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    doomed.load()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    return str(tmp_path / "g.sqlite") if request.param == "sqlite" else request.getfixturevalue("url")


def check_calendars(ledger, seen=()):
    """See that each calendar is there whole, with all that belongs to it, and decided about in order."""
    with ledger.reading() as session:
        names = set(session.scalars(select(IssuedPlan.calendar_id)))
        record_of = {}
        for one in session.scalars(select(Decision).order_by(Decision.number)):
            record_of.setdefault(one.calendar_id, []).append(one)
        assert record_of.keys() == names
        for name in names - set(seen):
            header, runs = stored_calendar(session, name)
            decided = [one.action for one in record_of[name]]
            assert decided[0] == DRAFTED
            assert len(decided) <= 2
            assert set(decided[1:]) <= {APPROVED, SUPERSEDED}
            windows = session.scalar(
                select(func.count()).select_from(PlannedWindow).where(PlannedWindow.calendar_id == name)
            )
            slots = session.scalar(select(func.count()).select_from(SlotCarbon).where(SlotCarbon.calendar_id == name))
            inputs = set(session.scalars(select(PlanInput.name).where(PlanInput.calendar_id == name)))
            again = record_of[name][0].why.startswith("back to calendar")
            assert (windows, slots) == (sum(len(run.windows) for run in runs), header.n_slots)
            assert inputs == (MADE_FROM if again else MADE_FROM | TOLD)
            assert decided[-1] == APPROVED or not again
            assert (ledger.carbon(header, runs) is None) == again  # raises where its digest is another one
        found = standings(session, SITE)
        weeks = Counter(one.valid_from for one in found if one.state == DRAFTED)
        assert max(weeks.values(), default=1) == 1
        approved = [one for one in found if one.state == APPROVED]
        if approved:
            assert in_force(session, SITE, max(one.valid_from for one in approved)) == approved[0].calendar_id
        unfinished = session.scalars(select(JobRun.job).where(JobRun.ended_at.is_(None))).all()
        assert len(unfinished) == len(set(unfinished))
    return names


class Planning:
    """A site whose weeks are planned by processes that are killed."""

    def __init__(self, folder, where, approve):
        (folder / "site.toml").write_text(f'{LONG}\n[service]\napprove = "{approve}"\n', encoding="utf-8")
        self.folder, self.where, self.since_s, self.weeks = folder, where, time.time(), 0

    def make(self, job, every_s=0):
        return lambda fatal: Doomed(doomed.work, fatal, self.where, self.folder, job, every_s, self.since_s, self.weeks)

    def leave_unfinished(self, ledger, job):
        """Have the job stand as one that a killed instance left; tells whether it did not already."""
        with ledger.writing() as session:
            if any(run.job == job and run.ended_at is None for run in last_runs(session, SITE)):
                return False
            job_begins(session, SITE, job, "one that was killed", clock(self.since_s, self.weeks))
        return True

    def draft(self, ledger):
        """Make a draft of the coming week; returns its id."""
        worker = doomed.worker(ledger, self.folder, self.since_s, self.weeks)
        with ledger.reading() as session:
            before = {one.calendar_id for one in standings(session, SITE)}
        while True:  # made within the same second it would be the same one
            assert run_job(worker, "replan", replan)
            with ledger.reading() as session:
                new = [one.calendar_id for one in standings(session, SITE) if one.calendar_id not in before]
            if new:
                return new[0]

    def has_draft(self, ledger):
        tz = zone("Europe/Berlin")
        start = iso_week(coming_week(clock(self.since_s, self.weeks), tz), tz, 15).start
        with ledger.reading() as session:
            return any(one.state == DRAFTED and one.valid_from == start for one in standings(session, SITE))


def test_replanning_that_is_killed_leaves_no_half_draft(tmp_path, where, record_property):
    planning, tally = Planning(tmp_path, where, "person"), Tally("replan", where, 1)
    with opened(where) as ledger:
        kill_often(
            tally,
            KILLS,
            planning.make("replan"),
            lambda: planning.leave_unfinished(ledger, "replan"),
            lambda seen: check_calendars(ledger, seen),
        )
        with ledger.reading() as session:
            assert in_force(session, SITE, clock(planning.since_s)) is None
            assert len(standings(session, SITE)) >= 2
    record_property("killed", tally.row)
    assert tally.row["in a transaction"] >= 3


def test_publishing_that_is_killed_puts_a_week_in_force_or_not(tmp_path, where, record_property):
    planning, tally = Planning(tmp_path, where, "policy"), Tally("publish", where, 2)
    with opened(where) as ledger:

        def prepare():
            if not planning.has_draft(ledger):
                planning.weeks += 1
                planning.draft(ledger)
            return planning.leave_unfinished(ledger, "publish")

        def make(fatal):  # the week moves on
            return planning.make("publish")(fatal)

        kill_often(tally, KILLS - KILLS_BACK, make, prepare, lambda seen: check_calendars(ledger, seen))
        with ledger.reading() as session:
            assert {one.by for one in standings(session, SITE) if one.state == APPROVED} == {"policy"}
    record_property("killed", tally.row)
    assert tally.row["in a transaction"] >= 2


def test_going_back_that_is_killed_puts_the_earlier_calendar_in_force_or_not(tmp_path, where, record_property):
    planning, tally = Planning(tmp_path, where, "person"), Tally("going back", where, 3)
    with opened(where) as ledger:
        first = planning.draft(ledger)
        for name in (first, None):
            made = name or planning.draft(ledger)
            with ledger.writing() as session:
                decide(session, made, APPROVED, by="person", why="clean", at=clock(planning.since_s))

        def make(fatal):
            return Doomed(doomed.go_back, fatal, where, first, planning.since_s, 0)

        kill_often(tally, KILLS_BACK, make, lambda: False, lambda seen: check_calendars(ledger, seen))
        with ledger.reading() as session:
            now = in_force(session, SITE, max(one.valid_from for one in standings(session, SITE)))
            assert stored_calendar(session, now)[0].inputs["rollback"] == {"to": first}
    record_property("killed", tally.row)
    assert tally.row["in a transaction"] >= 2


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def lets_go(ledger):
    """Whether records were let go already."""
    with ledger.reading() as session:
        return bool(session.scalar(select(func.count()).select_from(TelemetryLetGo)))


def check_telemetry(where, senders):
    """See that every record that was sent counts once."""
    batches = next(senders.numbers)
    assert senders.sent == batches
    with opened(where) as ledger:
        ledger.roll_up()
        with ledger.reading() as session:
            rows = hours(session, 0, 2**40)
        told = [one for batch in range(batches) for one in records(batch)]
        assert sum(row.records for row in rows) == len(told)
        assert sum(row.energy_j for row in rows) == pytest.approx(sum(one.energy_j for one in told), rel=1e-9)
        assert {row.part for row in rows} == {"raw", "let-go"}
        assert ledger.take_in(told).added == 0


def test_telemetry_counts_once_however_often_the_service_is_killed(tmp_path, where, record_property):
    (tmp_path / "site.toml").write_text(MINI, encoding="utf-8")
    tally, port = Tally("ingestion", where, 4), free_port()
    senders = None
    while tally.row["mid-phase"] < KILLS:
        assert tally.row["processes"] < 6 * KILLS
        fatal = tally.draw.choice([None, tally.draw.randint(1, 80)])
        process = Doomed(doomed.answer, fatal, where, tmp_path, port)
        begun = process.wait_for(BEGINS)
        if begun and tally.row["mid-phase"]:
            tally.went_on()
        senders = senders or Senders(port)
        if fatal is None:
            senders.wait_for_one_more()
            time.sleep(tally.draw.uniform(0.0, 0.3))
        else:
            assert not process.wait_for(ENDS)
        busy = senders.busy
        marks = process.kill()
        writing = marks.count(OPENS) > marks.count(COMMITS) + marks.count(ROLLS_BACK)
        tally.add(marks, hit=begun and (busy > 0 or writing))
    process = Doomed(doomed.answer, None, where, tmp_path, port)
    senders.wait_for_one_more()
    tally.went_on()
    senders.end()
    process.kill()
    record_property("killed", tally.row)
    assert set(senders.statuses) == {HTTPStatus.OK}
    assert senders.answered_late
    check_telemetry(where, senders)


def test_a_database_server_that_is_killed_is_waited_for(tmp_path, postgres, url, record_property):
    planning, tally, port = Planning(tmp_path, url, "person"), Tally("server ends", url, 6), free_port()
    answering = Doomed(doomed.answer, None, url, tmp_path, port)
    assert answering.wait_for(BEGINS)
    senders = Senders(port)
    working = planning.make("replan", every_s=1)(None)
    for _ in range(SERVER_KILLS):
        assert working.wait_for(BEGINS)
        working.marks = b""
        time.sleep(tally.draw.uniform(0.0, 0.3))
        busy, marks = senders.busy, working.hear()
        postgres.end_at_once()
        time.sleep(tally.draw.uniform(0.0, 0.3))
        postgres.start()
        senders.wait_for_one_more()
        tally.add(marks, hit=busy > 0 or ENDS not in marks)
        tally.went_on()
        with opened(url) as ledger:
            check_calendars(ledger)
    assert working.wait_for(ENDS)
    working.kill()
    until = time.monotonic() + 60
    with opened(url) as ledger:
        while not lets_go(ledger):
            assert time.monotonic() < until
            time.sleep(0.05)
    senders.end()
    assert answering.process.is_alive()
    answering.kill()
    assert set(senders.statuses) <= {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}
    record_property("killed", tally.row)
    check_telemetry(url, senders)
