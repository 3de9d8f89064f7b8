"""From the table [objective] to what a plan makes small, with the faults of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.objective import BY_PRICE, LATENESS, CarbonBudget, Objective

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed
    from planner.config.objective_table import ObjectiveTable


def objective(table: ObjectiveTable) -> Objective:
    """Return what a plan makes small."""
    order: tuple[str, ...] = tuple(table.order or ())
    if not order and table.carbon_budget_t is None:
        return BY_PRICE
    if order and LATENESS not in order:
        order = (LATENESS, *order)
    budget = None
    if table.carbon_budget_t is not None:
        budget = CarbonBudget(1000.0 * table.carbon_budget_t, table.over_budget_per_t)
    return Objective(order, table.tolerance_share if order else 0.0, budget)


def check_objective(draft: Draft) -> None:
    """Note the faults of the table: a measure named twice, and keys that do nothing."""
    placed: Placed[ObjectiveTable] | None = draft.single.get("objective")
    if placed is None:
        return
    table = placed.table
    order = table.order or []
    twins = sorted({name for name in order if order.count(name) > 1})
    if twins and placed.sound("order"):
        placed.fault(("order",), f"names {', '.join(map(repr, twins))} more than once", "name each measure once")
    said = table.model_fields_set
    if "tolerance_share" in said and not order and placed.sound("order", "tolerance_share"):
        placed.fault(("tolerance_share",), "does nothing without an order", 'add order = ["carbon", "cost"]')
    if "over_budget_per_t" in said and table.carbon_budget_t is None and placed.sound("carbon_budget_t"):
        placed.fault(("over_budget_per_t",), "does nothing without a budget", "add carbon_budget_t, or leave it out")
