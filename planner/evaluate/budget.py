"""The carbon budget of a week, held against the replay: what a calendar says of it, and whether it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.evaluate.finding import figure
from planner.evaluate.record import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.week import Week
    from trainer_hooks.calendar import CarbonBudgetPlan

STATED_SHARE = 1e-4
KEPT_SHARE = 1e-6
SITE = "the site"


def check_budget(week: Week, stated: CarbonBudgetPlan | None, kg: float) -> Iterator[Violation]:
    """Yield what is wrong with a calendar's carbon budget; one that it misses and says so breaks no promise.

    Args:
        week: All inputs.
        stated: What the calendar says of the budget.
        kg: Carbon of all that counts by the replay of the calendar, kgCO2e.
    """
    budget = week.objective.budget
    if budget is None or stated is None:
        if (budget is None) != (stated is None):
            missing = "the site has no carbon budget" if budget is None else "the calendar says nothing of it"
            sentence = f"the calendar and the site differ on the carbon budget: {missing}"
            yield Violation("carbon-budget", SITE, None, "", "", "", sentence)
        return
    for told, number, right in (("a budget", stated.most_kg, budget.most_kg), ("its carbon", stated.planned_kg, kg)):
        if abs(number - right) > 1e-5 + STATED_SHARE * abs(right):
            sentence = f"the calendar states {told} of {figure(number)} kg, but it is {figure(right)} kg"
            yield Violation("carbon-budget", SITE, None, number, right, "kg", sentence)
    kept_kg = budget.most_kg * (1.0 + KEPT_SHARE) + 1e-5
    if kg > kept_kg and stated.planned_kg <= budget.most_kg:
        sentence = f"the site emits {figure(kg)} kg, more than the carbon budget of {figure(budget.most_kg)} kg"
        yield Violation("carbon-budget", SITE, None, kg, budget.most_kg, "kg", sentence)


def over_budget_cost(week: Week, site_kg: float) -> float:
    """Return the price of carbon beyond the budget, money; 0 where there is none."""
    budget = week.objective.budget
    return 0.0 if budget is None else max(0.0, site_kg - budget.most_kg) / 1000.0 * budget.over_per_t
