"""Columns and rows of the billed peaks: what each rises above the demand that is owed already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pulp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.week import Week


def add_peaks(
    prob: pulp.LpProblem, week: Week, imports: Sequence[Sequence[pulp.LpVariable]], power_kw: float
) -> tuple[pulp.LpVariable, ...]:
    """Add one rise per register: no interval's mean import is above what is owed and the rise together.

    Args:
        prob: The program.
        week: The week.
        imports: Import of each block per slot, power units.
        power_kw: Unit of power, kW.

    Returns:
        The rises, in the order of `Week.demand_registers`.
    """
    rises = []
    for r, register in enumerate(week.demand_registers):
        owed = register.owed_kw / power_kw
        rise = prob.add_variable(f"peak_rise_{r}", (register.least_kw - register.owed_kw) / power_kw)
        rises.append(rise)
        for i in np.unique(register.interval[register.interval >= 0]):
            slots = np.flatnonzero(register.interval == i).tolist()
            mean = [(grid[t], 1.0 / len(slots)) for grid in imports for t in slots]
            prob += pulp.LpAffineExpression([*mean, (rise, -1.0)]) <= owed, f"peak_{r}_{i}"
    return tuple(rises)
