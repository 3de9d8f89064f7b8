"""The running week planned anew each day, from the calendar in force."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from planner.errors import GridpaceError
from planner.export.report import report_html
from planner.gather import gather
from planner.going_on import go_on
from planner.ledger.decisions import APPROVED, REJECTED, decide, in_force, standing
from planner.ledger.issued import issued_input
from planner.ledger.reported import reported_tokens
from planner.rolling.behind import ahead_tokens
from planner.service.progress import progress_from, with_progress
from planner.service.publishing import POLICY, REPORT, SUMMARY, Made, objections, put_forward, stored_calendar
from planner.service.standing import due, outages_of
from planner.service.stored_week import stored_week
from planner.site_options import site_options
from planner.summary import summary
from planner.timegrid import horizon_name, zone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from planner.config import Site
    from planner.going_on import GoneOn
    from planner.service.worker import Worker
    from trainer_hooks.contract import RunCalendar

_BY, _WEEK = "service", "running week"
_LAST = timedelta(hours=24)
"""Of the week, in which it is not planned anew any more: the coming one begins."""


def go_on_daily(worker: Worker) -> str:
    """Put a draft forward that goes on from the calendar in force, where the site asks for it; the policy looks at it.

    Returns:
        What was done, as the rest of a sentence; "" where nothing was to be done.
    """
    site, now = worker.load(), worker.clock().replace(microsecond=0)
    if site.plan.rolling is None or not site.plan.rolling.daily:
        return ""
    with worker.ledger.reading() as session:
        current = in_force(session, site.name, now)
        stands = None if current is None else standing(session, current)
        failed = [] if stands is None else outages_of(session, worker.site, now, stands.valid_until)
    if current is None or stands is None or not stands.valid_from <= now < stands.valid_until - _LAST:
        return ""
    if failed:
        names = ", ".join(outage.name for outage in failed)
        return f"; the running week is left as it was answered while an outage lasts ({names})"
    try:
        told = _went_on(worker, site, current, now)
    except GridpaceError as error:
        worker.alarm(
            "replan",
            _WEEK,
            "amber",
            (f"The running week could not be planned anew: {error.what}", error.fix or "decide by hand what changes"),
            "sustainability",
        )
        return f"; the running week could not be planned anew: {error.what}"
    worker.clear("replan", _WEEK)
    return told


def _went_on(worker: Worker, site: Site, current: str, now: datetime) -> str:
    with worker.ledger.reading() as session:
        header, runs = stored_calendar(session, current)
        _, before = stored_week(session, header, worker.site_file)
        kept = issued_input(session, current, "progress")
        ahead = ahead_tokens(runs, reported_tokens(session, header.valid_from, now), now)
    stood = {} if kept is None else progress_from(kept.content)
    name = horizon_name(header.valid_from, header.valid_until, zone(header.timezone))
    known = partial(
        gather,
        with_progress(site, stood),
        week=name,
        now=now,
        issued_at=now,
        cache=worker.cache,
        offline=worker.offline,
    )
    how = site.plan.rolling
    assert how is not None
    found = go_on(
        before,
        header,
        runs,
        known(),
        lambda series: known(kept=series, offline=True),
        frozen_h=how.frozen_h,
        change_cost_per_gpu_h=how.change_cost_per_gpu_h,
        fresh_share=how.fresh_share,
        ahead=ahead,
        options=site_options(site),
    )
    if _same(found.outcome.runs, runs):
        worker.clear("approval", _WEEK)
        return f"; calendar {current} stands for the rest of the running week"
    inputs = {
        "site": worker.site_file.read_bytes(),
        **({} if kept is None else {"progress": kept.content}),
        REPORT: report_html(found.outcome),
        SUMMARY: json.dumps(summary(found.outcome, found.found, {}), allow_nan=False).encode(),
    }
    with worker.ledger.reading() as session:
        changed = _has_changed(session, worker, current)
    if changed:
        return f"; {changed} while the running week was planned anew, so that plan is let go"
    put_forward(worker.ledger, Made(found.outcome, inputs, "daily plan of the running week"), by=_BY, at=worker.clock())
    return _decided(worker, site, found, current)


def _same(now: Sequence[RunCalendar], before: Sequence[RunCalendar]) -> bool:
    """Return whether two calendars ask the same of every run."""

    def asked(runs: Sequence[RunCalendar]) -> dict[str, list[tuple[object, ...]]]:
        return {
            run.run: [(w.start, w.end, w.state, w.pool, w.gpus, w.gpu_power_limit_w) for w in run.windows]
            for run in runs
        }

    return asked(now) == asked(before)


def _has_changed(session: Session, worker: Worker, current: str) -> str:
    """Return what has happened since a calendar was the one in force, or ""."""
    now = worker.clock()
    if in_force(session, worker.site, now) != current:
        return "another calendar came in force"
    return "an event came" if due(session, worker.site, now) else ""


def _decided(worker: Worker, site: Site, found: GoneOn, current: str) -> str:
    calendar_id, against = found.outcome.calendar.calendar_id, objections(found.outcome)
    told = f"; calendar {calendar_id} goes on with the running week"
    if site.service.approve == POLICY and not against:
        with worker.ledger.writing() as session:
            # A plan of minutes ago must not undo what a person or an event has changed meanwhile.
            changed = _has_changed(session, worker, current)
            if changed:
                decide(session, calendar_id, REJECTED, by=POLICY, why=f"{changed} meanwhile", at=worker.clock())
                return f"; {changed} while the running week was planned anew, so that plan is let go"
            decide(session, calendar_id, APPROVED, by=POLICY, why="nothing speaks against it", at=worker.clock())
        worker.decided()
        worker.clear("approval", _WEEK)
        return f"{told}, approved by the policy"
    why = "; ".join(against) if site.service.approve == POLICY else "a person approves the weekly plans"
    worker.alarm(
        "approval",
        _WEEK,
        "amber",
        (f"Calendar {calendar_id} waits for approval: {why}.", "look at what it changes, and approve or reject it"),
        "sustainability",
    )
    return f"{told} once it is approved: {why}"
