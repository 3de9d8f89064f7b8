"""A fortnight of the service, hour by hour on a clock that tests set: feeds fail by script, the grid asks twice.

Training follows the calendar in force and reports late, twice and in disorder; what the ledger says in the end is
recomputed from the raw records by a few lines of their own.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from planner.errors import StaleData
from planner.ledger import Ledger
from planner.ledger.decisions import APPROVED, history, in_force
from planner.ledger.events import events
from planner.ledger.hours import hours
from planner.ledger.service_tables import AlarmRow
from planner.service import planning_jobs
from planner.service.publishing import stored_calendar
from planner.service.schedule import JOBS, times
from planner.service.worker import Worker, run_job
from planner.sources.cache import ResponseCache
from tests.mini_site import MINI
from tests.served import Clock
from tests.service.test_service_jobs import event, send
from tests.unit.test_ledger import record

pytestmark = pytest.mark.postgres
SITE = MINI.replace('[horizon]\nweek = "2024-W20"\n', "[plan]\ntime_limit_s = 3\n").replace(
    "tokens = 8.0e9, deadline = 2024-05-17T18:00:00", "tokens = 9.5e10, deadline = 2024-06-01T18:00:00"
)
SERVICE = '\n[service]\napprove = "policy"\nraw_days = 8\n'
BEGIN = datetime(2024, 5, 9, 22, tzinfo=UTC)
WEEKS = tuple(datetime(2024, 5, day, 22, tzinfo=UTC) for day in (12, 19, 26))
FEEDS_FAIL = (datetime(2024, 5, 15, 9, tzinfo=UTC), datetime(2024, 5, 15, 14, tzinfo=UTC))
SEEN = frozenset({"feeds", "replan", "publish", "watch", "events", "roll-up", "let-go", "calibrate"})
HOUR = timedelta(hours=1)


@pytest.fixture(params=["sqlite", "postgresql"])
def worker(request, tmp_path):
    where = tmp_path / "g.sqlite" if request.param == "sqlite" else request.getfixturevalue("url")
    file = tmp_path / "site.toml"
    file.write_text(SITE + SERVICE, encoding="utf-8")
    with Ledger(where) as ledger:
        yield Worker(file, "Werk Süd", ledger, ResponseCache(tmp_path / "cache"), Clock(BEGIN), "here", offline=True)


def due(worker, end):
    """Every run of every job by its own trigger, in order of time; the most frequent ones once an hour."""
    found = []
    for name, at in times(worker.load()).items():
        if name in {"events", "roll-up"}:
            found += [(BEGIN + hour * HOUR + HOUR / 2, name) for hour in range(int((end - BEGIN) / HOUR))]
            continue
        moment = BEGIN
        while (moment := at.trigger.get_next_fire_time(moment, moment + timedelta(seconds=1))) < end:
            found.append((moment.astimezone(UTC), name))
    return sorted(found)


def trained(worker, start, number):
    """What the run reports of one hour under the calendar in force: two records of half an hour, or none."""
    with worker.ledger.reading() as session:
        name = in_force(session, worker.site, start)
        _, (run,) = stored_calendar(session, name)
    window = run.window_at(start)
    if window is None or window.state != "run":
        return []
    share = HOUR / (window.end - window.start)
    made = {
        "run": run.run, "calendar_id": name, "gpus": window.gpus, "gpu_power_limit_w": window.gpu_power_limit_w,
        "tokens": round(window.tokens * share / 2), "useful_tokens": round(window.tokens * share / 2 * 0.98),
        "energy_j": window.energy_kwh * share * 3.6e6 / 2, "energy_error_j": 1e3,
    }  # fmt: skip
    return [
        record(2 * number + half, 0, 1, **made, t_start=start + half * HOUR / 2, t_end=start + (half + 1) * HOUR / 2)
        for half in (0, 1)
    ]


def steady_kw(worker, start):
    """The least that the calendar in force imports in the two hours from an instant on, kW; 0 where the week ends."""
    with worker.ledger.reading() as session:
        header, _ = stored_calendar(session, in_force(session, worker.site, start))
    per_h = 60 // header.slot_minutes
    first = round((start - header.valid_from) / HOUR * per_h)
    slots = header.blocks[0].import_kw[first : first + 2 * per_h]
    return min(slots) if len(slots) == 2 * per_h else 0.0


def test_a_fortnight_goes_as_it_should(worker, monkeypatch):
    draw, clock = random.Random(14), worker.clock
    working = planning_jobs.gather_signals

    def gather_signals(*given, **named):
        if FEEDS_FAIL[0] <= clock() < FEEDS_FAIL[1]:
            raise StaleData("carbon of demo-central is too old")
        return working(*given, **named)

    monkeypatch.setattr(planning_jobs, "gather_signals", gather_signals)
    asking = [(datetime(2024, 5, 13, 9, tzinfo=UTC), "e1"), (datetime(2024, 5, 20, 3, tzinfo=UTC), "e2")]
    reported, waiting, ran, hour = [], [], set(), BEGIN
    for moment, name in due(worker, WEEKS[-1]):
        while hour + HOUR <= moment:
            clock.now = hour
            drawn_kw = steady_kw(worker, hour + HOUR) if asking and hour >= asking[0][0] else 0.0
            if drawn_kw > 7.0:  # the run trains then, and faster than it has to
                assert send(worker, event(6.9, hour + HOUR, id=asking.pop(0)[1])) == "new"
                assert run_job(worker, "events", JOBS["events"])
            if hour >= WEEKS[0]:
                new = trained(worker, hour, len(reported))
                reported += new
                waiting += new
            if draw.random() < 0.4:  # late, twice and in disorder
                draw.shuffle(waiting)
                batch, waiting = waiting, waiting[: draw.randint(0, 2)]
                worker.ledger.take_in([*batch, *draw.sample(reported, min(3, len(reported)))])
            hour += HOUR
        clock.now = moment
        done = run_job(worker, name, JOBS[name])
        assert done or (name == "feeds" and FEEDS_FAIL[0] <= moment < FEEDS_FAIL[1]), (moment, name)
        ran.add(name)
    worker.ledger.take_in(waiting)
    worker.ledger.roll_up()
    assert ran == SEEN

    with worker.ledger.reading() as session:
        rows = hours(session, 0, 2**40)
        decided = [(one.action, one.by) for one in history(session, worker.site, 1000)]
        answers = [row.outcome for row in events(session, worker.site)]
        told = {row.kind: row for row in session.scalars(select(AlarmRow))}
        for start in WEEKS[:2]:
            assert in_force(session, worker.site, start) is not None
    assert sum(row.records for row in rows) == len(reported)
    assert {row.part for row in rows} == {"raw", "let-go"}
    for name in ("energy_j", "tokens", "useful_tokens"):
        alone = sum(getattr(one, name) for one in reported)
        assert sum(getattr(row, name) for row in rows) == pytest.approx(alone, rel=1e-6)
    assert answers == ["answered", "answered"]
    assert decided.count((APPROVED, "policy")) >= 2
    assert FEEDS_FAIL[0] <= told["feed"].opened_at < told["feed"].closed_at <= FEEDS_FAIL[1] + HOUR
    assert all(row.closed_at is not None for row in told.values() if row.kind in {"feed", "job"})
