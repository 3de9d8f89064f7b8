"""What supplies a site beside the plain grid, as its accounts see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from power.accounts import ON_SITE, ContractHours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.evaluate.record import BlockResult
    from planner.week import Week
    from power.factors import FactorSet


def contract_hours(week: Week, blocks: Sequence[BlockResult], factors: FactorSet) -> tuple[ContractHours, ...]:
    """Return the plants behind the meter with what the site used of each.

    Args:
        week: All inputs.
        blocks: The judge's figures of every block.
        factors: Factors of plants that name none of their own.
    """
    return tuple(
        ContractHours(
            name=f"{block.solar.name} of {block.name}",
            technology="solar",
            factor_gco2_per_kwh=factors.gco2_per_kwh("solar"),
            basis=factors.basis,
            boundary=ON_SITE,
            kw=seen.solar_kw,
        )
        for block, seen in zip(week.blocks, blocks, strict=True)
        if block.solar is not None
    )
