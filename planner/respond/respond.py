"""From events and a calendar in force to an answer that the judge has looked at."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import Infeasible
from planner.evaluate import evaluate
from planner.evaluate.event_limits import promised_limits
from planner.moves import no_moves
from planner.respond.answer import TIME_LIMIT_S, answer
from planner.respond.demand import asked_of, digest, import_limits, with_signals
from planner.respond.new_calendar import carries_on, new_calendar
from planner.respond.outcome import Response, delivered, gives_way, store_gives
from planner.respond.question import pose, span_of
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.respond.answer import Answer
    from planner.respond.question import Question
    from planner.week import Week
    from power.events import Ask, GridEvent, ImportLimit
    from power.flexibility import DemandResponse, Flexibility
    from trainer_hooks.contract import Calendar, RunCalendar

_SECOND = timedelta(seconds=1)
PLAN_AS_BASELINE = (
    "the baseline is what the calendar in force imports: there is no measured import of ten like days before the event"
)


def respond(
    week: Week,
    header: Calendar,
    runs: Sequence[RunCalendar],
    events: Sequence[GridEvent],
    *,
    now: datetime,
    agreed: DemandResponse,
    flexibility: Mapping[str, Flexibility],
    measured: tuple[npt.NDArray[np.float64], str] | None = None,
    limit_s: float = TIME_LIMIT_S,
) -> tuple[Response, list[RunCalendar]]:
    """Answer events with as few changes to the calendar in force as need be.

    Args:
        week: The inputs that the calendar was made from.
        header: The calendar in force.
        runs: Its windows.
        events: What the grid asks for.
        now: The instant of decision, UTC; nothing before it changes.
        agreed: What the site has agreed to do.
        flexibility: Run -> how far it gives way.
        measured: Import of the site without the event per slot, kW, shape (T,), by what was measured before it, and how
            it was made; None where nothing was measured: the calendar in force then is the baseline.
        limit_s: Longest time for each choice of waits, stops and added hours, s.

    Returns:
        The answer, and the windows of every run in its calendar.

    Raises:
        ConfigError: An event is not for this site, is over, or asks for what the site file does not agree to; or a run
            of the week may change its pool or its count of GPUs.
        Infeasible: The limits cannot be kept; it says what is the lowest that can.
    """
    no_moves("an answer to an event", week)
    asks = asked_of(week, events, agreed, now)
    planned_kw = {plan.block: np.array(plan.import_kw) for plan in header.blocks}
    site_kw = np.sum(list(planned_kw.values()), axis=0) if measured is None else measured[0]
    baseline_kw: dict[str | None, npt.NDArray[np.float64]] = {None: site_kw}
    baseline_kw.update(planned_kw)
    limits = import_limits(week, asks, agreed, baseline_kw)
    seen, priced = with_signals(week, asks)
    seen = replace(seen, issued_at=now)
    now_s = max(0.0, (now - week.grid.start).total_seconds())
    spans_s = [_seconds(week, ask) for ask in asks]
    plans = {plan.block: plan for plan in header.blocks}

    def ahead(lead_s: float) -> Answer:
        span = span_of(seen, plans, now_s, spans_s, lead_s)

        def ask(waits: bool) -> Question:
            return pose(
                seen,
                header,
                runs,
                now_s=now_s,
                span=span,
                limits=limits,
                priced=priced,
                flexibility=flexibility,
                agreed=replace(agreed, lead_s=lead_s),
                waits=waits,
            )

        return answer(ask, limit_s)

    found = _with_lead(week, ahead, agreed.lead_s if limits else 0.0)
    names = tuple(dict.fromkeys(event.name for event in events))
    promised = tuple(p for p in (_promised(found.question, limit) for limit in limits) if p is not None)
    earlier = tuple(limit for limit in promised_limits(header) if limit.event not in names)
    kept = (*earlier, *promised)
    after, changed = new_calendar(found, header, names, digest(asks, limits), kept)
    response = Response(
        answer=found,
        before=header,
        after=after,
        was=evaluate(header, runs, replace(seen, issued_at=header.issued_at)),
        found=evaluate(after, changed, seen, limits=kept),
        delivered=delivered(found, baseline_kw),
        runs=gives_way(found),
        stores=store_gives(found),
        baseline=PLAN_AS_BASELINE if measured is None else measured[1],
        notes=(*dict.fromkeys(note for event in events for note in event.notes), *_late(found.question, limits)),
        changes=not carries_on(found),
    )
    return response, changed


def _with_lead(week: Week, ahead: Callable[[float], Answer], lead_s: float) -> Answer:
    """Return the answer with limits set ahead of the event, or as it begins where ramps leave no room for that."""
    try:
        return ahead(lead_s)
    except Infeasible:
        if not lead_s or all(block.power.fall_step_kw is None for block in week.blocks):
            raise
        return ahead(0.0)


def _seconds(week: Week, ask: Ask) -> tuple[float, float]:
    assert ask.end is not None
    return (ask.start - week.grid.start).total_seconds(), (ask.end - week.grid.start).total_seconds()


def _promised(question: Question, limit: ImportLimit) -> ImportLimit | None:
    """Return the part of a limit that can be promised: the ramps' way down to it is not."""
    from_s, until_s = question.seconds(limit)
    if from_s >= until_s:
        return None
    start = limit.end - (until_s - from_s) * _SECOND
    return replace(limit, start=start)


def _late(question: Question, limits: Sequence[ImportLimit]) -> tuple[str, ...]:
    if not limits:
        return ()
    asked_s = (min(limit.start for limit in limits) - question.week.grid.start).total_seconds()
    late_s = question.span.met_s - asked_s
    if late_s <= 0.0:
        return ()
    at = question.week.grid.start + question.span.met_s * _SECOND
    return (f"Decided too late for the ramps: the limits hold from {iso(at)} on, {late_s:.0f} s after their start.",)
