"""One week of a replay: planned in every way, each judged on what came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.backtest_kept import ORACLE, PlannedWeek
from planner.backtest_plans import judged_on
from planner.replay.outcome import ROLLING, STOCHASTIC, WEEK_AHEAD, ReplayedWeek
from planner.replay.roll import Manner, rolled
from planner.stochastic.plan import plan

if TYPE_CHECKING:
    from planner.optimize import PlanOptions
    from planner.week import Week


@dataclass(frozen=True)
class ReplayTask:
    """One week to replay.

    Args:
        weight: CARBON or MONEY.
        known: The week on what came.
        days: The week as it was known at the start of each of its days, with its paths and its heat.
        manner: How plans go on.
        options: Gap target and time limit of each plan.
    """

    weight: str
    known: Week
    days: tuple[Week, ...]
    manner: Manner
    options: PlanOptions


def replay_week(task: ReplayTask) -> ReplayedWeek:
    """Return what a week came to by every way of planning.

    Args:
        task: The week.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    on_forecast = [replace(week, uncertainty=None) for week in task.days]
    daily = {
        ROLLING: rolled(on_forecast, task.manner, task.options),
        STOCHASTIC: rolled(task.days, task.manner, task.options),
    }
    made = [
        (ORACLE, task.known, plan(task.known, task.options)),
        (WEEK_AHEAD, on_forecast[0], plan(on_forecast[0], task.options)),
        *((name, one.week, replace(one.plan, mip_gap=one.gap)) for name, one in daily.items()),
    ]
    return ReplayedWeek(
        planned=PlannedWeek(
            origin=task.known.grid.start,
            weight=task.weight,
            plans=tuple(judged_on(name, week, found, task.known, task.weight) for name, week, found in made),
        ),
        deadlines=sum(len(task.known.promised_tokens(run)) for run in task.known.runs),
        changed_gpu_h={name: one.changed_gpu_h for name, one in daily.items()},
        thawed={name: one.thawed for name, one in daily.items()},
    )
