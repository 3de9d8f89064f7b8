"""The jobs on their schedule, kept in the database: a restart keeps it, one instance alone works it off."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.exc import SQLAlchemyError

from planner.errors import GridpaceError
from planner.ledger.jobs import CUT_SHORT, give_lease_back, last_runs, lease_name, take_lease
from planner.service.bell import Bell
from planner.service.drift import calibrate
from planner.service.event_job import answer_events, event_mark, events_due, watch_events
from planner.service.keeping_jobs import let_go, roll_up
from planner.service.planning_jobs import publish_week, refresh_feeds, replan, watch_publication
from planner.service.prompt import Prompt
from planner.service.worker import FAILED, Job, Worker, run_job
from planner.timegrid import zone

if TYPE_CHECKING:
    from planner.config import Site

LOG = logging.getLogger("planner.service")
LEASE_S = 30.0
_SOON_S = 1.0
_TABLE = "scheduled_job_"
_AGAIN = timedelta(minutes=20)
_RETRIED = frozenset({"replan", "publish"})
"""What is tried again soon after it failed; the others come round soon by themselves."""

_AT_FIRST = frozenset({"replan"})
"""What is done at once where it never was: nobody should have to wait a day for the first draft."""

EVENTS = "events"
"""The job that no other one keeps waiting: a thread of its own runs it as soon as there is something to answer."""

JOBS: Mapping[str, Job] = {
    "feeds": refresh_feeds,
    "replan": replan,
    "publish": publish_week,
    "watch": watch_publication,
    "watch-events": watch_events,
    "roll-up": roll_up,
    "let-go": let_go,
    "calibrate": calibrate,
}

_working: dict[str, Schedule] = {}
"""Site -> the schedule of this process: the database keeps a job's name alone, never what it works with."""


@dataclass(frozen=True)
class Times:
    """When a job runs.

    Args:
        trigger: The trigger.
        told: The same as text, by which a changed one is known.
    """

    trigger: Any
    told: str


def times(site: Site) -> dict[str, Times]:
    """Return when each job of a site runs."""
    service, tz = site.service, zone(site.place.timezone)

    def cron(**fields: Any) -> Times:
        return Times(CronTrigger(timezone=tz, **fields), f"cron {sorted(fields.items())} {tz.key}")

    def every(**fields: int) -> Times:
        return Times(IntervalTrigger(timezone=tz, **fields), f"every {sorted(fields.items())}")

    return {
        "feeds": cron(minute=5),
        "replan": cron(hour=service.replan_hour, minute=15),
        "publish": cron(day_of_week=service.publish_day[:3], hour=service.publish_hour, minute=0),
        "watch": cron(minute=35),
        "watch-events": every(minutes=5),
        "roll-up": every(minutes=10),
        "let-go": cron(hour=3, minute=45),
        "calibrate": cron(hour=4, minute=30),
    }


def run_scheduled(site: str, name: str) -> None:
    """Run a job of this process's schedule: the function that the database names."""
    schedule = _working.get(site)
    if schedule is not None:
        schedule.run(name)


class Schedule:
    """Works the jobs off while this instance holds the lease, and tries to get it while another one does.

    Args:
        worker: What jobs work with.
        bell: Rung when an event came in to this instance.
        lease_s: Length of the lease, s: after that another instance takes over from one that was killed.
        jobs: The jobs by name.
        when: Returns when each runs.
    """

    def __init__(
        self,
        worker: Worker,
        bell: Bell | None = None,
        *,
        lease_s: float = LEASE_S,
        jobs: Mapping[str, Job] = JOBS,
        when: Callable[[Site], dict[str, Times]] = times,
    ) -> None:
        self._worker = worker
        self._bell = bell or Bell()
        self._prompt: Prompt | None = None
        self._lease_s = lease_s
        self._jobs = jobs
        self._when = when
        self._lease = lease_name(worker.site)
        self._stop = threading.Event()
        self._unnoted: set[str] = set()
        self._scheduler: BackgroundScheduler | None = None
        self._thread = threading.Thread(target=self._keep, name="gridpace-lease", daemon=True)

    @property
    def leads(self) -> bool:
        """Whether this instance works the jobs off."""
        return self._scheduler is not None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, wait_s: float | None = None) -> bool:
        """End, and give the lease back.

        Args:
            wait_s: How long a job that runs may take to finish, s; None waits as long as it takes.

        Returns:
            Whether none runs any more. One that does is done again by the next instance, so the process has to end.
        """
        self._stop.set()
        self._thread.join()
        ending = threading.Thread(target=self._end, kwargs={"wait": True}, daemon=True)
        ending.start()
        ending.join(wait_s)
        if ending.is_alive():
            LOG.warning("a job was cut short; it is done again by whoever works the schedule off next")
        try:
            with self._worker.ledger.writing() as session:
                give_lease_back(session, self._lease, self._worker.instance)
        except GridpaceError as error:
            LOG.warning("the lease could not be given back: %s", error.what)
        return not ending.is_alive()

    def run(self, name: str) -> None:
        """Run a job now, in this thread; one that failed and matters is tried again soon."""
        try:
            done = run_job(self._worker, name, self._jobs[name])
        except GridpaceError as error:
            # The database was away for longer than the job, but not for so long that the lease was lost.
            LOG.warning("the job %r is done again once it can be noted: %s", name, error.what)
            self._unnoted.add(name)
            return
        if not done and name in _RETRIED and self._scheduler is not None:
            self._scheduler.add_job(
                run_scheduled,
                "date",
                args=[self._worker.site, name],
                run_date=self._worker.clock() + _AGAIN,
                id=f"{self._worker.site}: {name} again",
                replace_existing=True,
            )

    def _keep(self) -> None:
        while True:
            try:
                with self._worker.ledger.writing() as session:
                    held = take_lease(session, self._lease, self._worker.instance, self._lease_s)
                if held and self._scheduler is None:
                    self._begin()
                elif not held and self._scheduler is not None:
                    LOG.warning("another instance holds the schedule now")
                    self._end(wait=False)
                elif self._scheduler is not None:
                    self._take_up(self._scheduler)
            except GridpaceError as error:
                LOG.warning("the schedule waits: %s", error.what)
                self._end(wait=False)  # without the lease another instance may begin
            except Exception:
                LOG.exception("the schedule waits")  # this thread is the only one that can begin it again
                self._end(wait=False)
            if self._stop.wait(self._lease_s / 3):
                return

    def _take_up(self, scheduler: BackgroundScheduler) -> None:
        """Have done again what the database kept from being noted."""
        for name in sorted(self._unnoted):
            _add_once(scheduler, self._worker.site, name)
            self._unnoted.discard(name)

    def _begin(self) -> None:
        site = self._worker.load()
        # A table for each site: whoever looks into a shared one would take the jobs of other sites for its own.
        table = _TABLE + hashlib.sha256(self._worker.site.encode()).hexdigest()[:12]
        store = SQLAlchemyJobStore(engine=self._worker.ledger.writing_engine, tablename=table)
        scheduler = _Enduring(
            jobstores={"default": store},
            executors={"default": ThreadPoolExecutor(1)},  # one job at a time: they share files and the solver's cores
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=zone(site.place.timezone),
        )
        _working[self._worker.site] = self
        scheduler.start(paused=True)
        self._agree(scheduler, site)
        self._scheduler = scheduler
        scheduler.resume()
        self._prompt = Prompt(lambda: event_mark(self._worker), self._answer_events, self._bell)
        self._prompt.start()
        LOG.info("this instance works the schedule off")

    def _agree(self, scheduler: BackgroundScheduler, site: Site) -> None:
        """Have the kept schedule be the site's; what is unchanged keeps its next time, so that what was missed runs."""
        name = self._worker.site
        wanted = {f"{name}: {job}": (job, at) for job, at in self._when(site).items()}
        for kept in scheduler.get_jobs():
            mine = kept.id.startswith(f"{name}: ")
            if mine and (kept.id not in wanted or kept.name != wanted[kept.id][1].told) and not _once(kept.id):
                scheduler.remove_job(kept.id)
        there = {kept.id for kept in scheduler.get_jobs()}
        for called, (job, at) in wanted.items():
            if called not in there:
                scheduler.add_job(run_scheduled, at.trigger, args=[name, job], id=called, name=at.told)
        with self._worker.ledger.reading() as session:
            ran = {run.job: (run.ended_at, run.outcome) for run in last_runs(session, name)}
        unfinished = {  # an instance that was killed left it
            job
            for job, (ended_at, outcome) in ran.items()
            if ended_at is None or outcome == CUT_SHORT or (outcome == FAILED and job in _RETRIED)
        }
        for job in self._jobs.keys() & (unfinished | (_AT_FIRST - ran.keys())):
            _add_once(scheduler, name, job)

    def _answer_events(self) -> bool:
        if not events_due(self._worker):
            return True
        return run_job(self._worker, EVENTS, partial(answer_events, leads=lambda: self._prompt is not None))

    def _end(self, *, wait: bool) -> None:
        prompt, self._prompt = self._prompt, None
        if prompt is not None:
            prompt.stop(wait=wait)
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.shutdown(wait=wait)
        if _working.get(self._worker.site) is self:
            del _working[self._worker.site]


class _Enduring(BackgroundScheduler):  # type: ignore[misc]  # it comes without types
    """Goes on where the database is away at the very moment at which it notes when a job is due next.

    Its thread would end there, and the lease be held by an instance that works nothing off.
    """

    def _process_jobs(self) -> float:
        try:
            wait_s: float = super()._process_jobs()
        except SQLAlchemyError as error:
            LOG.warning("the schedule waits: %s", type(error).__name__)
            return _SOON_S
        return wait_s


def _add_once(scheduler: BackgroundScheduler, site: str, job: str) -> None:
    scheduler.add_job(run_scheduled, "date", args=[site, job], id=f"{site}: {job} again", replace_existing=True)


def _once(job_id: str) -> bool:
    return job_id.endswith(" again")
