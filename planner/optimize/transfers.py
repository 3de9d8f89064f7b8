"""What bringing a run's data to a pool adds to a plan: paid and emitted once, where that pool is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.geography import transfer_kg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.columns import Terms
    from planner.optimize.gangs import Gang
    from planner.week import Week


def transfer_money_terms(gangs: Sequence[Gang], power_kw: float) -> Terms:
    """Return what transfers cost, in the objective's unit.

    Args:
        gangs: Columns of the runs.
        power_kw: Unit of power, kW.
    """
    return [
        (option.chosen, sum(one.cost for one in option.option.transfers) / power_kw)
        for gang in gangs
        for option in gang.options
        if option.chosen is not None and option.option.transfers
    ]


def transfer_carbon_terms(week: Week, gangs: Sequence[Gang], per_kg: float, power_kw: float) -> Terms:
    """Return the carbon of transfers, in the objective's unit.

    Args:
        week: The week.
        gangs: Columns of the runs.
        per_kg: Money, or what else is counted, per kgCO2e.
        power_kw: Unit of power, kW.
    """
    return [
        (option.chosen, per_kg * sum(transfer_kg(week, one) for one in option.option.transfers) / power_kw)
        for gang in gangs
        for option in gang.options
        if option.chosen is not None and option.option.transfers
    ]
