"""The bill of a horizon, settled from the import and the published takes alone: energy, contracts, demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import figure, worst
from planner.evaluate.record import ContractResult, Violation
from power.contracts import settle
from power.tariff import demand_cost, energy_cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from planner.week import Signals, Week
    from power.contracts import EnergyContract
    from trainer_hooks.calendar import ContractPlan


@dataclass(frozen=True)
class Bill:
    """Money of the horizon's import.

    Args:
        spot: Energy beyond the takes, at the tariff's energy price.
        adders: Fees on all import.
        demand: What the horizon adds to the months' demand charges.
        contracts: What each contract comes to, in the week's order.
    """

    spot: float
    adders: float
    demand: float
    contracts: tuple[ContractResult, ...]

    @property
    def energy(self) -> float:
        """Energy at the tariff, with its adders."""
        return self.spot + self.adders

    @property
    def contracted(self) -> float:
        """Energy of the contracts."""
        return sum(result.cost for result in self.contracts)


def settle_bill(
    week: Week, signals: Signals, plans: Sequence[ContractPlan], import_kw: npt.NDArray[np.float64]
) -> Bill:
    """Return the bill of an import.

    Where the import is less than was to be taken, as it may be by actual weather, all takes of the slot shrink alike.

    Args:
        week: All inputs.
        signals: Prices as they were.
        plans: What the calendar says about contracts.
        import_kw: Import of the site, kW, shape (T,).
    """
    rates, slot_h = week.rates(signals), week.grid.slot_h
    stated = [_stated(week, contract, plans) for contract in week.contracts]
    asked_kw = sum((take_kw for _, take_kw, _ in stated), np.zeros(week.grid.n_slots))
    served_kw = np.minimum(asked_kw, np.maximum(import_kw, 0.0))
    share = np.divide(served_kw, asked_kw, out=np.zeros_like(asked_kw), where=asked_kw > 0.0)
    results = []
    for contract, (bought, take_kw, why) in zip(week.contracts, stated, strict=True):
        settled = settle(contract, bought * week.contract_kw(contract), take_kw * share, slot_h)
        results.append(
            ContractResult(
                contract.name, bought, settled.volume_kwh, settled.take_kwh, settled.paid_kwh, settled.cost, why
            )
        )
    return Bill(
        spot=energy_cost(rates.energy_per_kwh, import_kw - served_kw, slot_h),
        adders=energy_cost(rates.adder_per_kwh, import_kw, slot_h),
        demand=demand_cost(week.demand_registers, import_kw),
        contracts=tuple(results),
    )


def check_contracts(
    week: Week, plans: Sequence[ContractPlan], import_kw: npt.NDArray[np.float64]
) -> Iterator[Violation]:
    """Yield which bounds of the contracts the calendar breaks: what is bought, each volume, the import they share.

    Args:
        week: All inputs.
        plans: What the calendar says about contracts.
        import_kw: Import of the site by the replay of the calendar, kW, shape (T,).
    """
    named, known = [plan.contract for plan in plans], [contract.name for contract in week.contracts]
    for name in sorted(set(named) - set(known)):
        sentence = f"the site has no energy contract {name}"
        yield Violation("contract-unknown", name, None, name, "the site's contracts", "", sentence)
    for name in sorted(name for name in known if named.count(name) != 1):
        count = named.count(name)
        sentence = f"the calendar speaks of contract {name} {count} times, not once"
        yield Violation("contract-missing", name, None, count, 1, "plans", sentence)
    taken_kw = np.zeros(week.grid.n_slots)
    for contract in week.contracts:
        bought, take_kw, _ = _stated(week, contract, plans)
        taken_kw += take_kw
        subject = f"contract {contract.name}"
        yield from _check_bought(contract, bought)
        most_kw = bought * week.contract_kw(contract)
        yield from worst(week, "contract-take", subject, take_kw, most_kw, "kW", "is taken at")
        yield from worst(week, "contract-take", subject, take_kw, 0.0, "kW", "is taken at", least=True)
    if week.contracts:
        yield from worst(week, "contract-cover", "the site", taken_kw, import_kw, "kW", "takes of its contracts")


def _check_bought(contract: EnergyContract, bought: float) -> Iterator[Violation]:
    whole = bought in {0.0, 1.0}
    fits = bought == 1.0 if not contract.offered else whole if contract.all_or_none else 0.0 <= bought <= 1.0
    if not fits:
        rule = "1, as it is in force" if not contract.offered else "0 or 1" if contract.all_or_none else "0 to 1"
        sentence = f"contract {contract.name} is bought by a share of {figure(bought)}; allowed: {rule}"
        yield Violation("contract-bought", contract.name, None, bought, rule, "", sentence)


def _stated(
    week: Week, contract: EnergyContract, plans: Sequence[ContractPlan]
) -> tuple[float, npt.NDArray[np.float64], str]:
    """Return what the calendar says is bought and taken of a contract, and why; nothing taken where it says nothing."""
    plan = next((p for p in plans if p.contract == contract.name), None)
    if plan is None or len(plan.take_kw) != week.grid.n_slots:
        return (0.0 if contract.offered else 1.0), np.zeros(week.grid.n_slots), ""
    return plan.bought_share, np.array(plan.take_kw), plan.why
