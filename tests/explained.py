"""Planned weeks with what `gridpace explain` starts from."""

from __future__ import annotations

from typing import NamedTuple

from planner.optimize import PlanOptions, plan
from planner.optimize.choices import Choices, choices_of
from planner.optimize.fixed import Fixed, fix
from planner.publish import to_calendar
from planner.schedule import Plan
from planner.week import Week
from trainer_hooks.contract import Calendar, RunCalendar

OPTIONS = PlanOptions(gap_target=0.02, time_limit_s=5.0)


class Explained(NamedTuple):
    """A week, its plan and calendar, and the linear program that its choices leave."""

    week: Week
    plan: Plan
    calendar: Calendar
    runs: list[RunCalendar]
    choices: Choices
    fixed: Fixed


def explained(week: Week, options: PlanOptions = OPTIONS) -> Explained:
    """Plan a week, publish it, and read its choices back from what was published."""
    found = plan(week, options)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    choices = choices_of(week, calendar, runs)
    fixed = fix(week, choices)
    assert fixed is not None
    return Explained(week, found, calendar, runs, choices, fixed)
