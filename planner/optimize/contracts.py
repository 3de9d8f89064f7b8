"""Columns and rows of energy contracts: what is bought of an offer, what is taken per slot, what is paid for.

Of import, what is taken costs no energy price; the contract is paid over the horizon for what is taken, and at least
for its minimum take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulp

from planner.optimize.columns import Column, Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from planner.week import Week
    from power.contracts import EnergyContract


@dataclass(frozen=True)
class ContractColumns:
    """One contract's columns in power units.

    Args:
        contract: The contract.
        take: Power taken per slot.
        paid: Energy paid for over the horizon, power units times hours.
        bought: Share of an offer that is bought, whole where it is all or none; None for a contract in force and for
            an offer that delivers nothing.
    """

    contract: EnergyContract
    take: tuple[Column, ...]
    paid: Column
    bought: Column | None


def add_contracts(
    prob: pulp.LpProblem, week: Week, imports: Sequence[Sequence[Column]], power_kw: float
) -> tuple[ContractColumns, ...]:
    """Add the week's contracts to the program.

    Args:
        prob: The program.
        week: The week.
        imports: Import of each block per slot, power units.
        power_kw: Unit of power, kW.
    """
    # by place: two names may differ in signs alone that PuLP writes alike
    found = tuple(_add(prob, week, str(i), c, week.contract_kw(c) / power_kw) for i, c in enumerate(week.contracts))
    for t in range(week.grid.n_slots) if found else ():
        taken = [(columns.take[t], 1.0) for columns in found]
        prob += pulp.LpAffineExpression([*taken, *((grid[t], -1.0) for grid in imports)]) <= 0, f"take_{t}"
    return found


def contract_terms(week: Week, contracts: Sequence[ContractColumns]) -> tuple[Terms, Terms]:
    """Return the objective's coefficients: what takes spare of the energy price, and what contracts are paid."""
    spared = week.rates().energy_per_kwh * week.grid.slot_h
    energy = [(take, -float(spared[t])) for columns in contracts for t, take in enumerate(columns.take)]
    return energy, [(columns.paid, columns.contract.price_per_kwh) for columns in contracts]


def _add(
    prob: pulp.LpProblem, week: Week, name: str, contract: EnergyContract, volume: npt.NDArray[np.float64]
) -> ContractColumns:
    slot_h = week.grid.slot_h
    least = contract.min_take_share * float(volume.sum()) * slot_h
    bought = None
    if contract.offered and volume.any():
        kind = "Binary" if contract.all_or_none else "Continuous"
        bought = prob.add_variable(f"bought_{name}", 0, 1, cat=kind)
    columns = ContractColumns(
        contract,
        take=tuple(prob.add_variable(f"take_{name}_{t}", 0, float(v)) for t, v in enumerate(volume)),
        paid=prob.add_variable(f"paid_{name}", least if bought is None else 0),
        bought=bought,
    )
    taken = [(take, -slot_h) for take in columns.take]
    prob += pulp.LpAffineExpression([(columns.paid, 1.0), *taken]) >= 0, f"paid_{name}_taken"
    if bought is not None:
        prob += columns.paid - least * bought >= 0, f"paid_{name}_least"
        for t, v in enumerate(volume):
            if v > 0.0:
                prob += columns.take[t] - float(v) * bought <= 0, f"bought_{name}_{t}"
    return columns
