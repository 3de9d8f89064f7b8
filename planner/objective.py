"""What a plan makes small, beside the site's own prices: an order of measures, a carbon budget, goals of one stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from power.later import LATER

CARBON, COST, LATENESS, WATER = "carbon", "cost", "lateness", "water"
MEASURES = (CARBON, COST, LATENESS, WATER)
"""Carbon of import and generators, kgCO2e; money paid; work missing at deadlines, GPU-h; water, L."""


@dataclass(frozen=True)
class Goal:
    """A measure that costs more than the site's own prices say.

    Args:
        measure: One of `MEASURES`.
        money_per_unit: Money per unit of the measure; below zero takes off what the site's price adds.
        most: What is free of it: only what lies above costs; None where all of it does.
    """

    measure: str
    money_per_unit: float
    most: float | None = None


@dataclass(frozen=True)
class CarbonBudget:
    """The carbon that a horizon may emit.

    Args:
        most_kg: The budget, kgCO2e of import and generators.
        over_per_t: Money per tonne beyond it, beside the site's price: no plan is beyond it where it need not be.
    """

    most_kg: float
    over_per_t: float

    def over_kg(self, carbon_kg: float) -> float:
        """Return by how much an amount of carbon is beyond the budget, kg."""
        return max(0.0, carbon_kg - self.most_kg)


@dataclass(frozen=True)
class Objective:
    """What a plan makes small.

    Args:
        order: Measures that are made small one after the other, each as far as those before it allow; empty where the
            site's prices weigh all of them at once.
        tolerance_share: By how much a measure of the order may end above its best, share of it.
        budget: The carbon budget, or None.
        goals: What counts besides.
    """

    order: tuple[str, ...] = ()
    tolerance_share: float = 0.0
    budget: CarbonBudget | None = None
    goals: tuple[Goal, ...] = field(default=(), metadata=LATER)

    @property
    def counted(self) -> tuple[Goal, ...]:
        """All goals, the budget's among them."""
        if self.budget is None:
            return self.goals
        return (*self.goals, Goal(CARBON, self.budget.over_per_t / 1000.0, self.budget.most_kg))


BY_PRICE = Objective()
"""All that counts has a price."""
