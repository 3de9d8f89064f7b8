"""The plan that goes on from a plan in force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from planner.errors import Infeasible
from planner.rolling.held import held
from planner.rolling.in_force import changed_gpu_h, gone_on
from planner.rolling.limits import with_limits
from planner.slots import places
from planner.stochastic.plan import plan

if TYPE_CHECKING:
    from planner.optimize import PlanOptions
    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.rolling.in_force import InForce
    from planner.schedule import Plan, RunSchedule, Schedule
    from planner.stochastic.hold import Held
    from planner.week import Week

THAWED = "Not all that was ordered for the frozen hours can be kept by what is known now; it was planned anew."


@dataclass(frozen=True)
class Replanned:
    """What a plan that goes on comes to.

    Args:
        found: The plan; its schedule holds what was done as well as what is planned.
        changed_gpu_h: GPU-hours that are turned on, off or over to another pool against what was announced.
        note: Sentence about what could not be kept, "" where all was.
    """

    found: Plan
    changed_gpu_h: float
    note: str = ""


def replan(week: Week, in_force: InForce, options: PlanOptions) -> Replanned:
    """Return the best plan that goes on from a plan in force.

    Slots that have passed stay as they were planned, with what runs did in them, what the batteries hold, how long each
    gang has been on or off, its pauses and the peak so far. In frozen slots starts, stops and pools stay as announced,
    unless physics as it is known now leaves no such plan. After them each GPU-hour turned on or off against what was
    announced costs `InForce.change_cost_per_gpu_h`.

    Args:
        week: The week as it is known now; in passed slots it holds the signals by which they were planned.
        in_force: The plan in force.
        options: Gap target and time limit.

    Raises:
        Infeasible: Physics leaves no plan that goes on from what was done.
    """
    try:
        found = plan(week, options, hold=partial(_hold, in_force=in_force))
    except Infeasible:
        if in_force.frozen_slot == in_force.slot:
            raise
        thawed = replace(in_force, frozen_slot=in_force.slot)
        found = plan(week, options, hold=partial(_hold, in_force=thawed))
    schedule = gone_on(in_force.schedule, found.schedule, in_force.slot)
    return Replanned(
        replace(found, schedule=schedule),
        changed_gpu_h(week, in_force.schedule, schedule),
        "" if _kept(week, in_force, schedule) else THAWED,
    )


def _kept(week: Week, in_force: InForce, schedule: Schedule) -> bool:
    """Return whether starts, stops and pools of the frozen hours are as they were announced."""
    hours = slice(in_force.slot, in_force.frozen_slot)
    pairs = zip(in_force.schedule.runs, schedule.runs, strict=True)
    return all(_at(week, was)[hours] == _at(week, now)[hours] for was, now in pairs)


def _at(week: Week, decided: RunSchedule) -> tuple[tuple[str, int] | None, ...]:
    return places(week.run(decided.run), decided)


def _hold(program: Program, places: Places, matrix: Matrix, *, in_force: InForce) -> Held:
    return held(program, places, with_limits(program, matrix, in_force.limits, in_force.slot), in_force)
