"""From a calendar in force and what is newly known to the calendar that goes on from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.calendar_id import content_id
from planner.errors import ConfigError
from planner.evaluate.event_limits import promised_limits
from planner.pipeline import judged
from planner.publish import to_calendar
from planner.rolling.announced import SAME, announced
from planner.rolling.behind import AHEAD, GOES_ON, told_ahead, with_ahead
from planner.rolling.in_force import InForce
from planner.rolling.known import series_until
from planner.rolling.replan import replan
from planner.timegrid import iso
from power.event_limits import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from planner.optimize import PlanOptions
    from planner.outcome import Outcome
    from planner.outlook import Gathered
    from planner.schedule import Plan
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

_UNNAMED = "0"


@dataclass(frozen=True)
class GoneOn:
    """A calendar that goes on from another one.

    Args:
        outcome: The week, its calendar and the judge's figures.
        found: What the program says about the plan's quality.
        changed_gpu_h: GPU-hours that are turned on, off or over to another pool against what was announced.
        ahead: Run -> tokens by which it is taken to be ahead of the calendar in force; below zero where behind.
        note: Sentence about what could not be kept, "" where all was.
    """

    outcome: Outcome
    found: Plan
    changed_gpu_h: float
    ahead: Mapping[str, float]
    note: str = ""


def go_on(
    before: Week,
    header: Calendar,
    runs: Sequence[RunCalendar],
    fresh: Week,
    again: Callable[[Gathered], Week],
    *,
    frozen_h: float,
    change_cost_per_gpu_h: float,
    fresh_share: float,
    ahead: Mapping[str, float],
    options: PlanOptions,
) -> GoneOn:
    """Return the calendar that goes on from one in force, by what is known now.

    Args:
        before: The week that the calendar in force was made from.
        header: Its header.
        runs: Its windows.
        fresh: The same week as it is known now; `issued_at` is the present instant.
        again: Makes the week from series, as they are kept beside a calendar.
        frozen_h: Hours from now on in which starts, stops and pools stay as announced, h.
        change_cost_per_gpu_h: What a GPU-hour turned on or off against what was announced costs, money.
        fresh_share: Weight of the new forecast of carbon intensity against the one that the calendar was made on.
        ahead: Run -> tokens by which it is ahead of the calendar in force.
        options: Gap target and time limit.

    Raises:
        ConfigError: The calendar is not in force now, is none that a plan can go on from, or is of other runs.
        Infeasible: Physics leaves no plan that goes on from what was done.
    """
    now, grid = fresh.issued_at, before.grid
    if not header.valid_from <= now < header.valid_until - grid.slot:
        raise ConfigError(
            f"calendar {header.calendar_id} holds from {iso(header.valid_from)} to {iso(header.valid_until)}, and this "
            f"is {iso(now)}: there is nothing of it to plan anew",
            fix="plan the coming week with `gridpace plan`",
        )
    slot = int(np.ceil(grid.position(now) - SAME))
    schedule = announced(before, header, runs, slot)
    frozen = min(grid.n_slots, max(slot, int(np.ceil(slot + frozen_h / grid.slot_h - SAME))))
    base = again(series_until(before, fresh, slot, fresh_share))
    strange = {run.name for run in base.runs} ^ {run.name for run in before.runs}
    if strange:
        raise ConfigError(
            f"run {min(strange)!r} is in the site file now and not in calendar {header.calendar_id}, or the other way "
            "round",
            why="a plan goes on with the runs that it was made for",
            fix="let the run begin with the coming week",
        )
    week = with_ahead(base, runs, ahead, grid.start + slot * grid.slot)
    limits = tuple(limit for limit in promised_limits(header) if limit.end > now)
    made = replan(week, InForce(schedule, slot, frozen, change_cost_per_gpu_h, limits), options)
    calendar, windows = to_calendar(
        week,
        made.found.schedule,
        status=made.found.status,
        certified_gap=made.found.mip_gap,
        shortfalls=made.found.shortfalls,
        options={"gap_target": options.gap_target},
        notes=_notes(header, now, made.note),
    )
    calendar, windows = _named(calendar, windows, header, told_ahead(week, base))
    taken = {a.name: a.tokens_done - b.tokens_done for a, b in zip(week.runs, base.runs, strict=True)}
    return GoneOn(judged(week, calendar, windows), made.found, made.changed_gpu_h, taken, made.note)


def _notes(header: Calendar, now: datetime, note: str) -> tuple[str, ...]:
    told = f"Goes on from calendar {header.calendar_id} since {iso(now)}; what lies before is as it was announced."
    return (told, note) if note else (told,)


def _named(
    calendar: Calendar, runs: Sequence[RunCalendar], before: Calendar, ahead: str
) -> tuple[Calendar, list[RunCalendar]]:
    """Return the calendar with what it goes on from among its inputs, under the name that its content gives it."""
    inputs = {**calendar.inputs, GOES_ON: {"from": before.calendar_id, AHEAD: ahead}}
    limits = promised_limits(before)
    if limits:
        inputs["event"] = {"answered_from": before.calendar_id, "limits": as_text(limits)}
    header = replace(calendar, calendar_id=_UNNAMED, inputs=inputs)
    renamed = [replace(run, calendar_id=_UNNAMED) for run in runs]
    name = content_id(header, renamed)
    return replace(header, calendar_id=name), [replace(run, calendar_id=name) for run in renamed]
