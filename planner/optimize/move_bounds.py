"""What moves of a plan cost at the least, and which no plan can make: told before anything is solved for.

A linear program of which only bounds of columns change keeps its dual feasible: every optimum solved so far says what
any other choices cost at the least. And a row that cannot hold whatever the other columns are rules choices out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix

    Floats = npt.NDArray[np.float64]

KEPT = 40
"""Optima that are remembered; neighbours of a plan resemble the latest ones."""
BROKEN = 1e-6
"""By how much a row must be broken at the least: what solvers call infeasible."""


class MoveBounds:
    """Bounds on the cost of choices in one program.

    Args:
        matrix: The program.
        choices: Places of the columns that moves change, shape (C,).
    """

    def __init__(self, matrix: Matrix, choices: npt.NDArray[np.int64]) -> None:
        self._base: deque[float] = deque(maxlen=KEPT)
        self._per_unit: deque[Floats] = deque(maxlen=KEPT)
        a = sparse.csr_array(matrix.a)
        self._a = sparse.csr_array(a[:, choices])
        lower, upper = matrix.lower.copy(), matrix.upper.copy()
        lower[choices] = upper[choices] = 0.0
        up, down = a.copy(), a.copy()
        up.data, down.data = np.maximum(a.data, 0.0), np.minimum(a.data, 0.0)
        self._room = matrix.row_upper - _sum(up, lower, -np.inf) - _sum(down, upper, -np.inf)
        """What choices may add to each row at the most, shape (M,)."""
        self._need = matrix.row_lower - _sum(up, upper, np.inf) - _sum(down, lower, np.inf)
        """What they must add at the least, shape (M,)."""

    def learn(self, objective: float, values: Floats, duals: Floats) -> None:
        """Remember an optimum.

        Args:
            objective: Its objective.
            values: The choices, shape (C,).
            duals: What the objective changes by per unit of each, shape (C,).
        """
        self._base.append(float(objective - duals @ values))
        self._per_unit.append(duals)

    def least(self, values: Floats) -> float:
        """Return what choices cost at the least, infinity where no plan makes them; values of shape (C,)."""
        added = self._a @ values
        if ((added > self._room + BROKEN) | (added < self._need - BROKEN)).any():
            return np.inf
        found = (base + float(per_unit @ values) for base, per_unit in zip(self._base, self._per_unit, strict=True))
        return max(found, default=-np.inf)


def _sum(a: sparse.csr_array, bounds: Floats, unbounded: float) -> Floats:
    """Return the product of a matrix of one sign and bounds; `unbounded` where a bound that counts is infinite."""
    finite = np.isfinite(bounds)
    total = np.asarray(a @ np.where(finite, bounds, 0.0))
    return np.where(np.asarray(abs(a) @ (~finite).astype(np.float64)) > 0.0, unbounded, total)
