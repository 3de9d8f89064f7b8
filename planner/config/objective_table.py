"""The table [objective]: what comes first, and how much carbon a horizon may emit."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.config.fields import Table

Measure = Literal["carbon", "cost", "lateness", "water"]
Tonnes = Annotated[float, Field(ge=0, le=1e9)]
OverPrice = Annotated[float, Field(gt=0, le=1e9)]

HARD_PER_T = 1_000_000.0
"""Money per tonne beyond the budget that no price of energy or of lateness in use outweighs."""


class ObjectiveTable(Table):
    """What a plan makes small; where left out, all that counts is weighed by its price."""

    order: list[Measure] | None = Field(
        default=None,
        min_length=1,
        max_length=4,
        description="measures that are made small one after the other; lateness comes first where it is not named",
    )
    tolerance_share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.01, description="by how much a measure of the order may end above its best, share of it"
    )
    carbon_budget_t: Tonnes | None = Field(
        default=None, description="most carbon of import and generators in the horizon, t"
    )
    over_budget_per_t: OverPrice = Field(
        default=HARD_PER_T, description="money per tonne beyond the budget; the default gives up all else before"
    )
