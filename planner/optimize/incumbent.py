"""The best plan found for a program, and the bound that certifies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.polish import polish
from planner.optimize.solver import Highs, deadline_left

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.places import Places

SOLVER_SHARE = 0.9  # of the time left: the rest polishes what was found


@dataclass(frozen=True)
class Incumbent:
    """The best values found, shape (N,), their objective, the bound, and the program's size."""

    values: npt.NDArray[np.float64]
    objective: float
    bound: float
    columns: int
    rows: int
    binaries: int
    cuts: int


def improve(matrix: Matrix, places: Places, *, gap_target: float, deadline: float) -> Incumbent | None:
    """Return the best plan found before the deadline, or None if the program has none.

    Args:
        matrix: The program.
        places: Where its columns stand.
        gap_target: Gap at which to stop.
        deadline: Reading of the monotonic clock at which to stop.
    """
    best = polish(matrix, places, np.zeros(len(places.choices)), deadline, final=True)
    if best is None:
        return None
    highs = Highs(matrix, whole=True, mip_rel_gap=gap_target / 2)
    highs.start_from(best.values)
    answer = highs.run(deadline_left(deadline) * SOLVER_SHARE)
    if answer.values is not None:
        found = polish(matrix, places, answer.values[places.choices], deadline, final=True)
        if found is not None and found.objective < best.objective:
            best = found
    binaries = int(matrix.whole.sum())
    return Incumbent(best.values, best.objective, answer.bound, matrix.n_columns, matrix.n_rows, binaries, cuts=0)
