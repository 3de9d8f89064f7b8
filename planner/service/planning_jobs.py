"""Jobs that read the sources, plan the coming week, and publish it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from planner.errors import DataUnavailable
from planner.export.report import report_html
from planner.gather import gather
from planner.ledger.decisions import APPROVED, DRAFTED, Standing, decide, standings
from planner.ledger.issued import issued_input
from planner.outages import derated
from planner.outlook import gather_signals
from planner.pipeline import plan_or_mends
from planner.service.going_on import go_on_daily
from planner.service.progress import progress_json, progress_until, with_progress
from planner.service.publishing import POLICY, REPORT, SUMMARY, Made, objections, put_forward
from planner.service.standing import outages_of
from planner.site_options import site_options
from planner.summary import summary
from planner.timegrid import TimeGrid, coming_week, iso, iso_week, zone

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from planner.config import Site
    from planner.outcome import Outcome
    from planner.service.worker import Worker

SERVICE = "service"
_URGENT = timedelta(hours=24)
_OBJECTIONS = "objections"


def refresh_feeds(worker: Worker) -> str:
    """Ask every source of the coming week, so that its answers are at hand when the plan needs them."""
    site = worker.load()
    grid = _coming_grid(worker, site)
    try:
        found = gather_signals(site, grid, now=worker.clock(), offline=worker.offline, cache=worker.cache)
    except DataUnavailable as error:
        worker.alarm(
            "feed",
            "sources",
            "amber",
            (f"A series of the coming week cannot be had: {error.what}", error.fix or "see `gridpace sources test`"),
            "operator",
        )
        raise
    worker.clear("feed", "sources")
    return f"{len(found.provenance)} series of the week from {iso(grid.start)} are at hand"


def replan(worker: Worker) -> str:
    """Put a draft of the coming week forward; after the hour of publication the policy looks at it at once.

    The running week is planned anew too, where the site asks for it.
    """
    site = worker.load()
    outcome = _make(worker, site, "daily plan")
    told = f"calendar {outcome.calendar.calendar_id} is a draft"
    if worker.clock() >= _publication(site, outcome.week.grid.start):
        told += _decided(worker, site, outcome)
    return told + go_on_daily(worker)


def publish_week(worker: Worker) -> str:
    """Publish the coming week: its draft is approved by the policy, or a person is asked to."""
    site = worker.load()
    start = _coming_start(worker, site)
    found = [one for one in _of_week(worker, start) if one.state in {DRAFTED, APPROVED}]
    if any(one.state == APPROVED for one in found):
        return f"the week from {iso(start)} is published already"
    if found:
        with worker.ledger.reading() as session:
            kept = issued_input(session, found[0].calendar_id, _OBJECTIONS)
        against = tuple(json.loads(kept.content)) if kept is not None else ("nothing says what the judge found",)
        return f"calendar {found[0].calendar_id}{_decide(worker, site, found[0].calendar_id, against)}"
    outcome = _make(worker, site, "weekly plan")
    return f"calendar {outcome.calendar.calendar_id}{_decided(worker, site, outcome)}"


def watch_publication(worker: Worker) -> str:
    """See whether the coming week has a calendar in time."""
    site = worker.load()
    start, now = _coming_start(worker, site), worker.clock()
    states = {one.state for one in _of_week(worker, start)}
    if APPROVED in states or now < _publication(site, start):
        worker.clear("publication", "coming week")
        return "the coming week is published" if APPROVED in states else "it is not yet time to publish"
    waits = "a draft waits for approval" if DRAFTED in states else "there is no draft"
    urgent = start - now <= _URGENT
    worker.alarm(
        "publication",
        "coming week",
        "red" if urgent else "amber",
        (
            f"The week that begins on {iso(start)} has no calendar: {waits}.",
            "approve or reject the draft" if DRAFTED in states else "see why the job 'replan' failed",
        ),
        "sustainability",
    )
    return f"the coming week is not published: {waits}"


def _make(worker: Worker, site: Site, why: str) -> Outcome:
    worker.ledger.roll_up()
    with worker.ledger.reading() as session:
        stand = progress_until(session, site, worker.clock(), _coming_start(worker, site))
    week = gather(with_progress(site, stand), now=worker.clock(), offline=worker.offline, cache=worker.cache)
    with worker.ledger.reading() as session:
        week = derated(week, outages_of(session, worker.site, week.grid.start, week.grid.end))
    outcome, found = plan_or_mends(week, site_options(site), _silent)
    inputs = {
        "site": worker.site_file.read_bytes(),
        "progress": progress_json(stand),
        REPORT: report_html(outcome),
        SUMMARY: json.dumps(summary(outcome, found, {}), allow_nan=False).encode(),
        _OBJECTIONS: json.dumps(objections(outcome)).encode(),
    }
    put_forward(worker.ledger, Made(outcome, inputs, why), by=SERVICE, at=worker.clock())
    return outcome


def _silent(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def _decided(worker: Worker, site: Site, outcome: Outcome) -> str:
    return _decide(worker, site, outcome.calendar.calendar_id, objections(outcome))


def _decide(worker: Worker, site: Site, calendar_id: str, against: tuple[str, ...]) -> str:
    if site.service.approve == POLICY and not against:
        with worker.ledger.writing() as session:
            decide(session, calendar_id, APPROVED, by=POLICY, why="nothing speaks against it", at=worker.clock())
        worker.decided()
        worker.clear("approval", "coming week")
        return " is approved by the policy"
    why = "a person approves the weekly plans" if site.service.approve != POLICY else "; ".join(against)
    worker.alarm(
        "approval",
        "coming week",
        "amber",
        (f"Calendar {calendar_id} waits for approval: {why}.", "look at what it changes, and approve or reject it"),
        "sustainability",
    )
    return f" waits for approval: {why}"


def _coming_grid(worker: Worker, site: Site) -> TimeGrid:
    tz = zone(site.place.timezone)
    return iso_week(site.horizon.week or coming_week(worker.clock(), tz), tz, site.horizon.slot_minutes)


def _coming_start(worker: Worker, site: Site) -> datetime:
    return _coming_grid(worker, site).start


def _publication(site: Site, start: datetime) -> datetime:
    """Return when the week that begins at an instant is to be published, UTC."""
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    local = start.astimezone(zone(site.place.timezone))
    day = local.date() - timedelta(days=7 - days.index(site.service.publish_day))
    return local.replace(year=day.year, month=day.month, day=day.day, hour=site.service.publish_hour, fold=0)


def _of_week(worker: Worker, start: datetime) -> list[Standing]:
    with worker.ledger.reading() as session:
        return [one for one in standings(session, worker.site) if one.valid_from == start]
