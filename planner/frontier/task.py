"""One plan of a front made and judged: what one process does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.baseline import counterfactuals
from planner.evaluate import evaluate
from planner.frontier.points import Point
from planner.objective import BY_PRICE, CARBON, COST, LATENESS, WATER
from planner.optimize import PlanOptions, plan
from planner.optimize.choices import Unfit, scheduled
from planner.plan_worth import late_gpu_h, plan_worth
from planner.publish import to_calendar

if TYPE_CHECKING:
    from planner.objective import Goal
    from planner.optimize.choices import Choices
    from planner.week import Week

_SIMULATED_WEEKS = 0  # no measure depends on the chances of failures


@dataclass(frozen=True)
class Task:
    """What is asked of one plan.

    Args:
        name: For people.
        week: The week as it is planned, and as the judge sees it.
        goals: What counts besides its prices; None for the site file's own objective.
        options: Gap target and time limit.
        starts: Plans that the search begins with.
    """

    name: str
    week: Week
    goals: tuple[Goal, ...] | None
    options: PlanOptions
    starts: tuple[Choices, ...] = ()


def point_of(task: Task) -> Point:
    """Plan what is asked, and have the judge replay it on the week's own prices.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    week, asked, options = task.week, task.week, task.options
    if task.goals is not None:
        # the carbon budget and the order of the site file are themselves one choice on the front
        asked = replace(week, objective=replace(BY_PRICE, goals=task.goals))
        # classes of like runs know no levels, also where the site file asks for them
        options = replace(options, method="gangs")
    try:
        found = plan(asked, options, task.starts)
    except Unfit:
        # a plan by classes of like runs may start inside a cell of the whole program
        found = plan(asked, options)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    seen = evaluate(calendar, runs, week, simulated_weeks=_SIMULATED_WEEKS)
    late = late_gpu_h(week, seen)
    figures = {CARBON: seen.carbon_kg, COST: seen.cost, LATENESS: late, WATER: seen.water_l}
    return Point(
        name=task.name,
        carbon_kg=seen.carbon_kg,
        cost=seen.cost,
        late_gpu_h=late,
        water_l=seen.water_l,
        deadlines=seen.deadlines,
        deadlines_kept=seen.deadlines - seen.deadlines_missed,
        violations=tuple(violation.sentence for violation in seen.violations),
        gap=found.mip_gap,
        settled=found.status == "optimal",
        program=dict(found.measures) or figures,
        choices=scheduled(found.schedule),
        worth=plan_worth(week, seen, counterfactuals(week, seen)),
    )
