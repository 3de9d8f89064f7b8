"""Events put to small weeks."""

from __future__ import annotations

from datetime import datetime, timedelta

from planner.respond.outcome import Response
from planner.respond.respond import respond
from planner.week import Week
from power.events import LAST_PRIORITY, Ask, Asked, GridEvent
from power.flexibility import DemandResponse, Flexibility, flexibility
from tests.weeks import at
from trainer_hooks.calendar import Calendar, RunCalendar


def grid_event(*asks: Ask, name: str = "cut", **changes) -> GridEvent:
    """An event of these asks."""
    given = {
        "name": name,
        "event_id": "",
        "program": "p",
        "priority": LAST_PRIORITY,
        "targets": (),
        "currency": None,
        "randomize": timedelta(0),
        "asks": asks,
    }
    return GridEvent(**(given | changes))


def limit(first_h: float, after_h: float, kw: float, kind: Asked = Asked.IMPORT_LIMIT, name: str = "cut") -> GridEvent:
    """An event that asks for one thing."""
    return grid_event(Ask(kind, at(first_h), at(after_h), kw, name), name=name)


def answer_to(
    week: Week,
    published: tuple[Calendar, list[RunCalendar]],
    *events: GridEvent,
    now: datetime,
    agreed: DemandResponse | None = None,
    most_lost: float | None = None,
    tiers: dict[str, int] | None = None,
) -> tuple[Response, list[RunCalendar]]:
    """The answer; every run may lose `most_lost` where that is given, else what its tier or priority says."""
    found = {run.name: flexibility(run.priority, (tiers or {}).get(run.name), most_lost) for run in week.runs}
    assert all(isinstance(value, Flexibility) for value in found.values())
    return respond(week, *published, events, now=now, agreed=agreed or DemandResponse(), flexibility=found)


def decisions(runs: list[RunCalendar], until: datetime) -> list[tuple]:
    """What every run is told before an instant."""
    return [
        (run.run, w.start, min(w.end, until), w.state, w.gpu_power_limit_w)
        for run in runs
        for w in run.windows
        if w.start < until
    ]
