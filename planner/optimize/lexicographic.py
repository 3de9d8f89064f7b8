"""One measure after the other: each made small as far as those before it allow.

Every step is a plan of the week in which the step's measure counts many times what the prices say, and those after it a
small part of that, while those before it cost far more where they end above their best than the step could gain.
Nothing is held by a row without slack, so that rounding of a best value never leaves a step without a plan; each step
starts from the plan of the one before, which keeps all that is held.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from planner.errors import Infeasible
from planner.objective import CARBON, COST, LATENESS, WATER, Goal
from planner.optimize.choices import scheduled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.optimize.choices import Choices
    from planner.optimize.search import PlanOptions
    from planner.schedule import Plan
    from planner.week import Week

FIRST = 100.0
"""By how much a step's measure outweighs all else."""
HELD = 100.0
"""What is held costs so many times all that a step could gain where it ends as much again above its best."""
LEAST_S = 0.1
OUT_OF_TIME = "time-limit"


class Planner(Protocol):
    """Plans one week by its prices and goals."""

    def __call__(self, week: Week, options: PlanOptions, starts: Sequence[Choices]) -> Plan:
        """Return the plan; the search knows the plans that `starts` stand for from the start."""


def in_order(week: Week, options: PlanOptions, planned: Planner) -> Plan:
    """Return the plan of a week whose objective has an order.

    Args:
        week: All inputs.
        options: Gap target of each step, and the time limit of all of them together.
        planned: Plans one step.

    Returns:
        The last step's plan, or that of the last one that had time for any: its objective and its certified gap are
        those of its step, its seconds those of all.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    began = time.monotonic()
    found = _last_step(week, options, planned, began + options.time_limit_s)
    return replace(found, solve_s=time.monotonic() - began - found.build_s)


def _last_step(week: Week, options: PlanOptions, planned: Planner, deadline: float) -> Plan:
    order, tolerance = week.objective.order, week.objective.tolerance_share
    best: dict[str, float] = {}
    found = planned(_step(week, ()), _until(options, deadline, len(order) + 1), ())
    for place, measure in enumerate(order):
        first = Goal(measure, FIRST * worth_per_unit(week, found, measure))
        stake = money_of(found) + first.money_per_unit * abs(dict(found.measures)[measure])
        held = [
            Goal(name, HELD * stake / _amount(week, found, name), value + tolerance * abs(value))
            for name, value in best.items()
        ]
        later = [Goal(name, -(1.0 - 1.0 / FIRST) * price_of(week, name)) for name in order[place + 1 :]]
        left = _until(options, deadline, len(order) - place)
        try:
            found = planned(_step(week, (*held, first, *later)), left, (scheduled(found.schedule),))
        except Infeasible:
            # there is a plan, that of the step before: only the time was too short to come to it again
            return replace(found, status=OUT_OF_TIME)
        best[measure] = dict(found.measures)[measure]
    return found


def worth_per_unit(week: Week, found: Plan, measure: str) -> float:
    """Return the money at which a unit of a measure counts as much as all else that a plan comes to.

    Args:
        week: All inputs.
        found: A plan of it.
        measure: One of `planner.objective.MEASURES`.
    """
    if measure == COST:
        return 1.0
    if measure == LATENESS:
        return week.prices.lateness_per_gpu_h
    return max(1.0, money_of(found)) / _amount(week, found, measure)


def money_of(found: Plan) -> float:
    """Return the money that a plan comes to by the site's prices, whatever its sign."""
    return sum(abs(value) for name, value in found.terms if name != "goals")


def price_of(week: Week, measure: str) -> float:
    """Return what the site's prices say of a unit of a measure, money."""
    prices = week.prices
    of: Mapping[str, float] = {
        CARBON: prices.carbon_per_t / 1000.0,
        COST: 1.0,
        LATENESS: prices.lateness_per_gpu_h,
        WATER: prices.water_per_m3 / 1000.0,
    }
    return of[measure]


def _amount(week: Week, found: Plan, measure: str) -> float:
    """Return how much of a measure is a lot: what a plan has; for none, the largest gang late by a slot."""
    least = max((run.gpus for run in week.runs), default=1) * week.grid.slot_h if measure == LATENESS else 1.0
    return max(abs(dict(found.measures)[measure]), least)


def _step(week: Week, goals: tuple[Goal, ...]) -> Week:
    return replace(week, objective=replace(week.objective, order=(), goals=goals))


def _until(options: PlanOptions, deadline: float, steps: int) -> PlanOptions:
    """Return the options of the next of so many steps that are left."""
    return replace(options, time_limit_s=max(LEAST_S, (deadline - time.monotonic()) / steps))
