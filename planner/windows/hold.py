"""What a window may not change: spells that have just begun go on, and power moves on from where it was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.limits import POWER_MARGIN
from planner.stochastic.hold import Held

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places

    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Handover:
    """What the window before has planned, in slots of this one.

    Args:
        on: Run -> slots in which it was planned to be on, shape (T,).
        pools: Run -> its pool, or None.
        kept: Run -> slots from the first on in which it stays on.
        it_kw: IT power of each block in the slot before, kW.
    """

    on: Mapping[str, Flags]
    pools: Mapping[str, str | None]
    kept: Mapping[str, int]
    it_kw: Mapping[str, float]


def held(program: Program, places: Places, matrix: Matrix, *, handover: Handover) -> Held:
    """Return a window's program with what is handed over held, and the plan of the window before to begin with."""
    lower, upper, start = matrix.lower.copy(), matrix.upper.copy(), np.zeros(matrix.n_columns)
    for gang, options in zip(program.gangs, places.gangs, strict=True):
        name, edges = gang.run.name, gang.cells.edges[:-1]
        on = np.logical_and.reduceat(handover.on[name], edges)
        kept = edges < handover.kept[name]
        for option in options:
            there = option.on >= 0
            if option.pool != handover.pools[name]:
                continue
            start[option.on[there & on]] = 1.0
            lower[option.on[there & kept]] = 1.0
            if option.chosen >= 0:
                start[option.chosen] = float((there & on).any())
    for block, columns in zip(program.blocks, places.blocks, strict=True):
        power, kw = block.limits.block.power, handover.it_kw[block.limits.block.name]
        first = int(columns.it[0])
        for step_kw, sides, sign in ((power.rise_step_kw, upper, 1.0), (power.fall_step_kw, lower, -1.0)):
            if step_kw is not None:
                far = (kw + sign * step_kw * (1.0 - POWER_MARGIN)) / program.power_kw
                sides[first] = min(sides[first], far) if sign > 0.0 else max(sides[first], far)
    return Held(replace(matrix, lower=lower, upper=upper), 0.0, start[places.choices])
