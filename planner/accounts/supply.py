"""What supplies a site beside the plain grid, as its accounts see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.agreements import ppa_flows
from power.accounts import ON_SITE, ContractHours

if TYPE_CHECKING:
    from planner.evaluate.record import BlockResult
    from planner.week import Block, Signals, Week
    from power.factors import FactorSet
    from trainer_hooks.contract import Calendar

GENERATOR = "generator"
"""Technology of on-site generators: never free of carbon in the accounts, whatever they burn."""


def contract_hours(
    week: Week, calendar: Calendar, blocks: Sequence[BlockResult], factors: FactorSet, signals: Signals
) -> tuple[ContractHours, ...]:
    """Return plants behind the meter with what the site used of each, then contracts with what they supply.

    What a block exports is taken off its sun and wind. Generators stand in full: what of theirs is exported stays in
    the site's account, so that giving energy away earns no credit. Of an energy contract its takes count, and of an
    agreement delivered to the site what it uses: energy that is sold counts for its buyer. An agreement settled by
    difference supplies all that its farm makes. A contract without attributes counts as the residual mix.

    Args:
        week: All inputs.
        calendar: The header, with the takes of contracts and agreements.
        blocks: The judge's figures of every block.
        factors: Factors of plants that name none of their own.
        signals: Grid and weather that the account stands on.
    """
    return (
        *_behind_the_meter(week, calendar, blocks, factors),
        *_contracts(week, calendar),
        *_agreements(week, calendar, blocks, signals),
    )


def _behind_the_meter(
    week: Week, calendar: Calendar, blocks: Sequence[BlockResult], factors: FactorSet
) -> Iterator[ContractHours]:
    plans = {plan.block: plan for plan in calendar.blocks}
    for block, seen in zip(week.blocks, blocks, strict=True):
        yield from _renewables(block, seen, factors)
        factor_of = {generator.name: generator.factor_gco2_per_kwh for generator in block.generators}
        for group in plans[block.name].generators if block.name in plans else ():
            if group.generator in factor_of:
                yield ContractHours(
                    f"{group.generator} of {block.name}",
                    GENERATOR,
                    factor_of[group.generator],
                    factors.basis,
                    ON_SITE,
                    np.array(group.generation_kw),
                )


def _renewables(block: Block, seen: BlockResult, factors: FactorSet) -> Iterator[ContractHours]:
    made_kw = seen.solar_kw + seen.wind_kw
    kept = np.divide(
        np.maximum(made_kw - seen.export_kw, 0.0), made_kw, out=np.zeros_like(made_kw), where=made_kw > 0.0
    )
    for plant, technology, kw in ((block.solar, "solar", seen.solar_kw), (block.wind, "wind", seen.wind_kw)):
        if plant is not None:
            factor = factors.gco2_per_kwh(technology)
            name = f"{plant.name} of {block.name}"
            yield ContractHours(name, technology, factor, factors.basis, ON_SITE, kw * kept)


def _contracts(week: Week, calendar: Calendar) -> Iterator[ContractHours]:
    attributes = {contract.name: contract.attributes for contract in week.contracts}
    for plan in calendar.contracts:
        counts = attributes.get(plan.contract)
        if counts is not None:
            yield ContractHours(
                plan.contract,
                counts.technology,
                counts.factor_gco2_per_kwh,
                counts.basis,
                counts.boundary,
                np.array(plan.take_kw),
            )


def _agreements(
    week: Week, calendar: Calendar, blocks: Sequence[BlockResult], signals: Signals
) -> Iterator[ContractHours]:
    import_kw = np.sum([block.import_kw for block in blocks], axis=0)
    flows = ppa_flows(week, calendar, None if signals is week.signals else signals, import_kw)
    delivered = [ppa for ppa in week.ppas if ppa.physical]
    supplied = [(ppa, found.used_kw) for ppa, found in zip(delivered, flows, strict=True)]
    supplied += [(ppa, week.ppa_kw(ppa, signals)) for ppa in week.ppas if not ppa.physical]
    for ppa, kw in supplied:
        yield ContractHours(ppa.name, ppa.technology, ppa.factor_gco2_per_kwh, week.signals.ci_basis, ppa.boundary, kw)
