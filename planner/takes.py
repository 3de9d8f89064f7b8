"""What is taken of each contract for a given import: the takes that cost least over the horizon, exactly.

Everyone who has contracts settles them so, with a plan or without one: of all takes within volumes and import, those
for which energy price, contracts and agreements together cost least. It is one small linear program, because a minimum
take ties the slots together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, sparse

from planner.decimals import LAST, rounded_down
from planner.export import wording
from power.contracts import settle
from power.ppa import surplus_cost_per_kwh, used_cost_per_kwh

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.week import Week
    from power.contracts import EnergyContract, Settlement

    Floats = npt.NDArray[np.float64]

HALF_A_CENT = 0.005


@dataclass(frozen=True)
class Takes:
    """What is taken of contracts.

    Args:
        take_kw: Power taken of each contract of the week, kW, shape (C, T).
        cost: Money for the site's import without adders: energy price, contracts, and agreements as far as use moves
            them.
    """

    take_kw: Floats
    cost: float


def bought_shares(week: Week, bought: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each contract that is bought: 1 of those in force, of offers what was decided, else none."""
    return {c.name: bought.get(c.name, 0.0) if c.offered else 1.0 for c in week.contracts}


def best_takes(week: Week, import_kw: Floats, bought: Mapping[str, float]) -> Takes:
    """Return the takes that cost least for an import.

    Args:
        week: All inputs.
        import_kw: Import of the site, kW, shape (T,).
        bought: Share of each contract that is bought, by name.

    Returns:
        The takes, rounded down to the last decimal that files carry.
    """
    n_slots, slot_h, energy = week.grid.n_slots, week.grid.slot_h, week.rates().energy_per_kwh
    room_kw = np.maximum(import_kw, 0.0)
    volumes = np.array([bought[c.name] * week.contract_kw(c) for c in week.contracts]).reshape(-1, n_slots)
    rivals = [ppa for ppa in week.ppas if ppa.physical]
    used = [used_cost_per_kwh(p, energy) - surplus_cost_per_kwh(p, week.signals.price_per_kwh) for p in rivals]
    if not week.contracts:
        return Takes(volumes, float((energy * room_kw).sum()) * slot_h)
    count = len(week.contracts)
    cost = np.concatenate([*([-energy] * count), *used, [c.price_per_kwh / slot_h for c in week.contracts]]) * slot_h
    upper = np.concatenate([volumes.ravel(), *(week.ppa_kw(p) for p in rivals), np.full(count, np.inf)])
    least = [c.min_take_share * float(v.sum()) * slot_h for c, v in zip(week.contracts, volumes, strict=True)]
    lower = np.concatenate([np.zeros(len(upper) - count), least])
    slots = sparse.eye_array(n_slots)
    within = sparse.hstack([*([slots] * (count + len(rivals))), sparse.csr_array((n_slots, count))])
    taken = sparse.kron(sparse.eye_array(count), np.full((1, n_slots), slot_h))
    paid = sparse.hstack([taken, sparse.csr_array((count, n_slots * len(rivals))), -sparse.eye_array(count)])
    rows = sparse.csr_array(sparse.vstack([within, paid]))
    most = optimize.LinearConstraint(rows, -np.inf, np.concatenate([room_kw, np.zeros(count)]))
    answer = optimize.milp(cost, constraints=most, bounds=optimize.Bounds(lower, upper))
    assert answer.x is not None, answer.message  # taking nothing and paying all minimum takes is always possible
    # what lies a solver's error below the last decimal is that decimal
    take_kw = rounded_down(np.maximum(answer.x[: count * n_slots], 0.0) + LAST * LAST)
    return Takes(take_kw.reshape(count, n_slots), float((energy * room_kw).sum()) * slot_h + float(answer.fun))


def offer_sentences(week: Week, import_kw: Floats, bought: Mapping[str, float]) -> dict[str, str]:
    """Return for each offer whether it is bought and why, by settling the same import with it and without.

    Args:
        week: All inputs.
        import_kw: Import of the site, kW, shape (T,).
        bought: Share of each contract that is bought, by name.
    """
    told = {}
    for place, contract in enumerate(week.contracts):
        if not contract.offered:
            continue
        share, volume_kw = bought[contract.name], week.contract_kw(contract)
        without = best_takes(week, import_kw, {**bought, contract.name: 0.0})
        tried = best_takes(week, import_kw, {**bought, contract.name: share or 1.0})
        saved = without.cost - tried.cost
        settled = settle(contract, (share or 1.0) * volume_kw, tried.take_kw[place], week.grid.slot_h)
        told[contract.name] = _sentence(week, contract, share, saved, settled)
    return told


def _sentence(week: Week, contract: EnergyContract, share: float, saved: float, settled: Settlement) -> str:
    currency = week.prices.currency
    block = f"{wording.power(contract.kw)} ({contract.profile}) at {contract.price_per_kwh:g} {currency}/kWh"
    offer = f"Offer {contract.name!r}, {block},"
    if not settled.volume_kwh:
        return f"{offer} is not bought: it delivers nothing in this horizon."
    taken = f"{wording.percent(settled.take_kwh / settled.volume_kwh, 0)} of it"
    money = wording.money(abs(saved), currency)
    if share:
        part = "is bought" if share == 1.0 else f"is bought by {wording.percent(share)}"
        worth = f"saves {money}" if saved >= 0.0 else f"costs {money} more, within the plan's gap,"
        return f"{offer} {part}: it {worth} against the energy price of the hours, and {taken} is taken."
    if abs(saved) < HALF_A_CENT:
        return f"{offer} is not bought: it would save nothing against the energy price of the hours."
    if saved > 0.0:
        return f"{offer} is not bought: it would save {money}, but the plan's gap does not rule that out."
    return f"{offer} is not bought: it would cost {money} more than the energy price of the hours, with {taken} taken."
