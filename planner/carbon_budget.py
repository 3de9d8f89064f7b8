"""What a plan says of its carbon budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS, ROUNDING
from power.carbon import carbon_kg
from power.generation import generation_kg
from trainer_hooks.calendar import CarbonBudgetPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.week import Week
    from trainer_hooks.calendar import BlockPlan, Calendar


def budget_plan(week: Week, planned_kg: float, *, proven: bool | None) -> CarbonBudgetPlan | None:
    """Return what a calendar says of the week's budget, or None where the week has none.

    Args:
        week: All inputs.
        planned_kg: What the plan emits, kgCO2e.
        proven: Whether the search reached the gap asked for; None where the carbon of the week was not searched anew.
    """
    budget = week.objective.budget
    if budget is None:
        return None
    over_kg = budget.over_kg(planned_kg)
    kept = over_kg <= ROUNDING
    planned_kg = min(planned_kg, budget.most_kg) if kept else planned_kg
    sentence = (
        f"the carbon budget of {budget.most_kg:,.1f} kg is kept: the plan emits {planned_kg:,.1f} kg"
        if kept
        else f"the carbon budget of {budget.most_kg:,.1f} kg is missed by {over_kg:,.1f} kg: the plan emits "
        f"{planned_kg:,.1f} kg{_why(week, budget.over_per_t, proven=proven)}"
    )
    return CarbonBudgetPlan(budget.most_kg, round(planned_kg, DECIMALS), sentence)


def _why(week: Week, over_per_t: float, *, proven: bool | None) -> str:
    if proven is None:
        return ""
    if proven:
        return f", and less would cost more than {over_per_t:,.0f} {week.prices.currency}/t or is not possible"
    return ", and the search ended while a plan that emits less was not ruled out"


def emitted_kg(week: Week, plans: Mapping[str, BlockPlan]) -> npt.NDArray[np.float64]:
    """Return what the blocks of a calendar emit: carbon of their import and generators per slot, kgCO2e, shape (T,).

    Args:
        week: All inputs.
        plans: Block -> its plan.
    """
    slot_h, kg = week.grid.slot_h, np.zeros(week.grid.n_slots)
    for block in week.blocks:
        plan = plans[block.name]
        for group, made in zip(block.generators, plan.generators, strict=True):
            kg += generation_kg(group, np.array(made.generation_kw), slot_h)
        kg += carbon_kg(week.here(block).signals.ci_gco2_per_kwh, np.array(plan.import_kw), slot_h)
    return kg


def budget_missed(calendar: Calendar) -> tuple[str, ...]:
    """Return the sentence of a budget that a calendar misses, or nothing."""
    plan = calendar.carbon_budget
    return (plan.sentence,) if plan is not None and plan.planned_kg > plan.most_kg else ()
