"""The schedule: kept over restarts, worked off by one instance, taken over from one that was killed."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from planner.errors import ExportError
from planner.ledger import Ledger
from planner.ledger.jobs import CUT_SHORT, give_lease_back, job_begins, last_runs, take_lease
from planner.service import worker as worker_module
from planner.service.schedule import JOBS, Schedule, Times, times
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from tests.service.test_service_jobs import SITE


def now():
    return datetime.now(UTC)


class Counted:
    def __init__(self):
        self.count, self.ran = 0, threading.Event()

    def __call__(self, worker):
        self.count += 1
        self.ran.set()
        return "counted"


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


@pytest.fixture
def make(tmp_path, ledger):
    file = tmp_path / "site.toml"
    file.write_text(SITE, encoding="utf-8")

    def maker(instance="one", jobs=None, hours=1.0, lease_s=0.6):
        worker = Worker(file, "Werk Süd", ledger, ResponseCache(tmp_path / "cache"), now, instance, offline=True)
        jobs = {"count": Counted()} if jobs is None else jobs
        when = {name: Times(IntervalTrigger(seconds=hours * 3600), f"every {hours}") for name in jobs}
        return Schedule(worker, lease_s=lease_s, jobs=jobs, when=lambda _: when)

    return maker


def test_a_job_that_takes_long_does_not_keep_the_service_from_ending(make, ledger):
    begun, go_on = threading.Event(), threading.Event()

    def long(worker):
        begun.set()
        go_on.wait(10.0)
        return "done"

    schedule = make(jobs={"long": long}, hours=1e-5)
    schedule.start()
    assert begun.wait(10.0)
    assert not schedule.stop(0.05)
    with ledger.writing() as session:
        assert take_lease(session, "schedule of Werk Süd", "another", 1.0)
    go_on.set()


def wait(until, seconds=10.0):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


def make_late(ledger, by: timedelta):
    """Have every scheduled job be overdue."""
    with ledger.reading() as session:
        tables = session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")).all()
    (table,) = [name for name in tables if name.startswith("scheduled_job_")]
    store = SQLAlchemyJobStore(engine=ledger.writing_engine, tablename=table)
    store.start(BackgroundScheduler(), "default")
    for job in store.get_all_jobs():
        job.next_run_time = now() - by
        store.update_job(job)


def test_what_was_missed_runs_once_after_a_restart(make, ledger):
    counted = Counted()
    first = make(jobs={"count": counted})
    first.start()
    wait(lambda: first.leads)
    first.stop()
    assert counted.count == 0
    make_late(ledger, timedelta(hours=5.5))  # five runs of an hourly job were missed
    second = make("two", jobs={"count": counted})
    second.start()
    assert counted.ran.wait(10)
    time.sleep(0.2)
    second.stop()
    assert counted.count == 1
    with ledger.reading() as session:
        (run,) = last_runs(session, "Werk Süd")
    assert (run.outcome, run.told, run.holder) == ("done", "counted", "two")


def test_one_instance_works_and_another_takes_over_when_it_ends_or_dies(make, ledger):
    one, two = make("one"), make("two")
    one.start()
    wait(lambda: one.leads)
    two.start()
    time.sleep(0.4)
    assert (one.leads, two.leads) == (True, False)
    one.stop()
    wait(lambda: two.leads)
    two.stop()
    with ledger.writing() as session:
        # An instance that is killed gives nothing back.
        assert take_lease(session, "schedule of Werk Süd", "killed", 0.5)
    three = make("three")
    three.start()
    time.sleep(0.2)
    assert not three.leads
    wait(lambda: three.leads)
    three.stop()


def test_what_a_job_says_again_and_again_is_kept_once(make, ledger, caplog):
    caplog.set_level("INFO", "planner.service")
    said = iter(("nothing", "nothing", "2 answered", "nothing"))
    schedule = make(jobs={"events": lambda _: next(said)})
    for _ in range(4):
        schedule.run("events")
    with ledger.reading() as session:
        kept = session.execute(text("SELECT number, told FROM job_run ORDER BY number")).all()
    assert kept == [(2, "nothing"), (3, "2 answered"), (4, "nothing")]
    assert [record.args[2] for record in caplog.records] == ["nothing", "2 answered", "nothing"]


def test_a_job_that_a_killed_instance_left_is_done_again(make, ledger):
    with ledger.writing() as session:
        job_begins(session, "Werk Süd", "count", "killed", now())
    counted = Counted()
    schedule = make(jobs={"count": counted})
    schedule.start()
    assert counted.ran.wait(10)
    schedule.stop()
    with ledger.reading() as session:
        outcomes = session.execute(text("SELECT holder, outcome FROM job_run ORDER BY number")).all()
    assert outcomes == [("killed", CUT_SHORT), ("one", "done")]


def test_a_job_that_could_not_be_noted_is_done_again_once_it_can(make, ledger, monkeypatch):
    """The database was away for less than the lease lasts, so that nobody took over and nobody looks what is left."""
    with ledger.writing() as session:
        job_begins(session, "Werk Süd", "count", "killed", now())
    counted, away, noting = Counted(), [True, True], worker_module.job_ends

    def job_ends(*given):
        if away and away.pop():
            raise ExportError("the ledger cannot be written")
        return noting(*given)

    monkeypatch.setattr(worker_module, "job_ends", job_ends)
    schedule = make(jobs={"count": counted}, hours=100.0)
    schedule.start()
    wait(lambda: counted.count == 3)
    schedule.stop()
    with ledger.reading() as session:
        assert [(run.job, run.outcome) for run in last_runs(session, "Werk Süd")] == [("count", "done")]


def test_a_database_that_is_away_for_a_moment_does_not_end_the_schedule(make, monkeypatch):
    """The moment at which the scheduler's own thread notes when a job is due next."""
    monkeypatch.setattr("planner.service.schedule._SOON_S", 0.05)
    counted, away, noting = Counted(), [True, True], SQLAlchemyJobStore.update_job

    def update_job(*given):
        if away and away.pop():
            raise OperationalError("UPDATE", {}, Exception("gone"))
        return noting(*given)

    monkeypatch.setattr(SQLAlchemyJobStore, "update_job", update_job)
    schedule = make(jobs={"count": counted}, hours=0.05 / 3600)
    schedule.start()
    wait(lambda: not away and counted.count >= 4)
    schedule.stop()


def test_the_first_draft_is_made_at_once_and_later_ones_at_their_hour(make):
    counted = Counted()
    for instance in ("one", "two"):
        schedule = make(instance, jobs={"replan": counted}, hours=100.0)
        schedule.start()
        assert counted.ran.wait(10)
        wait(lambda schedule=schedule: schedule.leads)
        schedule.stop()
    assert counted.count == 1


def test_another_time_in_the_site_file_changes_the_kept_schedule(make, ledger):
    first = make(hours=100.0)
    first.start()
    wait(lambda: first.leads)
    first.stop()
    counted = Counted()
    second = make("two", jobs={"count": counted}, hours=0.05 / 3600)
    second.start()
    assert counted.ran.wait(10)
    second.stop()


def test_a_lease_is_one_s_until_it_ends(ledger):
    with ledger.writing() as session:
        assert take_lease(session, "x", "a", 0.2)
        assert not take_lease(session, "x", "b", 0.2)
        assert take_lease(session, "x", "a", 0.2)
        assert take_lease(session, "y", "b", 0.2)
        give_lease_back(session, "x", "b")
        assert not take_lease(session, "x", "b", 0.2)
    time.sleep(0.25)
    with ledger.writing() as session:
        assert take_lease(session, "x", "b", 5.0)
        give_lease_back(session, "x", "b")
        assert take_lease(session, "x", "a", 5.0)


def test_every_job_has_its_time_and_every_time_its_job(make):
    site = make()._worker.load()
    assert set(times(site)) == set(JOBS)
    at = times(site)["publish"].trigger.get_next_fire_time(None, datetime(2024, 5, 9, tzinfo=UTC))
    assert at.isoformat() == "2024-05-10T12:00:00+02:00"


def test_a_site_file_that_is_broken_is_waited_for(make, tmp_path, caplog):
    schedule = make(lease_s=0.15)
    (tmp_path / "site.toml").write_text("[site", encoding="utf-8")
    schedule.start()
    wait(lambda: "the schedule waits" in caplog.text)
    assert not schedule.leads
    (tmp_path / "site.toml").write_text(SITE, encoding="utf-8")
    wait(lambda: schedule.leads)
    schedule.stop()


def test_what_nobody_foresaw_does_not_end_the_schedule_for_good(make, monkeypatch, caplog):
    schedule = make(lease_s=0.15)
    begin = Schedule._begin
    fails = iter((True, False))

    def fragile(self):
        if next(fails):
            raise OSError("no more threads")
        begin(self)

    monkeypatch.setattr(Schedule, "_begin", fragile)
    schedule.start()
    wait(lambda: schedule.leads)
    schedule.stop()
    assert "no more threads" in caplog.text
