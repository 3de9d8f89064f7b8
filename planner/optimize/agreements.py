"""Columns and rows of power purchase agreements: what of their energy meets the site's import, what is left over.

What is left over is sold or curtailed, whichever costs less in its slot; that depends on prices alone, so that one
column holds both. A contract for difference is one fixed sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pulp

from planner.optimize.columns import Column, Terms
from planner.optimize.limits import weighed
from power.export import sale_price_per_kwh
from power.ppa import difference_cost, surplus_cost_per_kwh, used_cost_per_kwh

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.week import Week
    from power.ppa import Ppa


@dataclass(frozen=True)
class PpaColumns:
    """A physical agreement's columns per slot, in power units: energy used, energy left over."""

    ppa: Ppa
    used: tuple[Column, ...]
    left: tuple[Column, ...]


@dataclass(frozen=True)
class AgreementColumns:
    """All agreements: the physical ones, and the one sum of those settled by difference, or None without any."""

    physical: tuple[PpaColumns, ...]
    settled: Column | None


def least_worth(week: Week) -> npt.NDArray[np.float64]:
    """Return the least that a kWh more of import can cost with its carbon, money per kWh, shape (T,)."""
    return weighed(week, least_money(week))


def least_money(week: Week) -> npt.NDArray[np.float64]:
    """Return the least that can be paid for a kWh more of import, money per kWh, shape (T,).

    Where an agreement has energy left over, a kWh more of import takes it from sale or from curtailment; where a
    contract's minimum take is not reached, it takes energy that is paid for anyway, and else energy at its price.
    """
    price, money, rate = week.signals.price_per_kwh, week.rates().total_per_kwh, week.rates().energy_per_kwh
    least = money.copy()
    for ppa in week.ppas:
        if ppa.physical:
            instead = sale_price_per_kwh(price, ppa.sale_share)
            if ppa.may_curtail:
                instead = np.maximum(instead, (1.0 - ppa.curtailed_share) * ppa.strike_per_kwh)
            least = np.minimum(least, money - rate + instead)
    for contract in week.contracts:
        instead = np.full(week.grid.n_slots, 0.0 if contract.min_take_share else contract.price_per_kwh)
        least = np.where(week.contract_kw(contract) > 0.0, np.minimum(least, money - rate + instead), least)
    return least


def add_agreements(
    prob: pulp.LpProblem,
    week: Week,
    grid: Sequence[Sequence[Column]],
    takes: Sequence[Sequence[Column]],
    power_kw: float,
) -> AgreementColumns:
    """Add the agreements to the program.

    Args:
        prob: The program.
        week: The week.
        grid: Import of every block per slot.
        takes: What other contracts cover of the site's import, per contract and slot.
        power_kw: Unit of power, kW.
    """
    slots, physical = range(week.grid.n_slots), []
    for i, ppa in enumerate(week.ppas):
        if not ppa.physical:
            continue
        volume = week.ppa_kw(ppa) / power_kw
        columns = PpaColumns(
            ppa,
            used=tuple(prob.add_variable(f"ppa_used_{i}_{t}", 0, float(volume[t])) for t in slots),
            left=tuple(prob.add_variable(f"ppa_left_{i}_{t}", 0, float(volume[t])) for t in slots),
        )
        for t in slots:
            prob += columns.used[t] + columns.left[t] == float(volume[t]), f"ppa_volume_{i}_{t}"
        physical.append(columns)
    if physical:
        for t in slots:
            covered = [(c.used[t], 1.0) for c in physical] + [(take[t], 1.0) for take in takes]
            row = pulp.LpAffineExpression(covered + [(block[t], -1.0) for block in grid])
            prob += row <= 0, f"ppa_import_{t}"
    by_difference = any(not ppa.physical for ppa in week.ppas)
    return AgreementColumns(tuple(physical), prob.add_variable("ppa_settled", 1, 1) if by_difference else None)


def agreement_terms(week: Week, agreements: AgreementColumns, power_kw: float) -> Terms:
    """Return the objective's coefficients: what agreements add to the bill of the import at the tariff's rate."""
    price, rate, slot_h = week.signals.price_per_kwh, week.rates().energy_per_kwh, week.grid.slot_h
    terms: Terms = []
    for columns in agreements.physical:
        used, left = used_cost_per_kwh(columns.ppa, rate), surplus_cost_per_kwh(columns.ppa, price)
        terms += [(v, float(c) * slot_h) for v, c in zip(columns.used, used, strict=True)]
        terms += [(v, float(c) * slot_h) for v, c in zip(columns.left, left, strict=True)]
    if agreements.settled is not None:
        money = sum(difference_cost(p, week.ppa_kw(p), price, slot_h) for p in week.ppas if not p.physical)
        terms.append((agreements.settled, money / power_kw))
    return terms
