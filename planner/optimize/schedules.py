"""Whole schedules of one run: on and off from its pattern, power and work by the run's own rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.parts import Parts
    from planner.optimize.places import OptionPlaces

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

NOTHING = 1e-11
HALF = 0.5


@dataclass(frozen=True)
class Schedule:
    """A schedule that one run could follow.

    Args:
        gang: Place of the run.
        columns: Columns of the program that are not zero, shape (K,).
        values: Their values, shape (K,).
        cost: Their cost.
        choices: The whole ones among them, the same for all schedules of one on/off pattern, as bytes.
    """

    gang: int
    columns: Places1
    values: Floats
    cost: float
    choices: bytes


class OwnProgram:
    """The columns and rows of one run alone, solved for one on/off pattern after the other.

    Args:
        matrix: The whole program.
        parts: What belongs to whom.
        gang: Place of the run.
        options: Where its options stand.
    """

    def __init__(self, matrix: Matrix, parts: Parts, gang: int, options: tuple[OptionPlaces, ...]) -> None:
        self._gang, self._options = gang, options
        self._columns, rows = parts.columns(gang), parts.rows(gang)
        self._cost = matrix.cost[self._columns]
        own = replace(
            matrix,
            cost=self._cost,
            lower=matrix.lower[self._columns],
            upper=matrix.upper[self._columns],
            whole=matrix.whole[self._columns],
            a=sparse.csr_array(matrix.a[rows][:, self._columns]),
            row_lower=matrix.row_lower[rows],
            row_upper=matrix.row_upper[rows],
            row_names=tuple(matrix.row_names[row] for row in rows),
        )
        self._highs = Highs(own, whole=False, solver="simplex")
        on = [option.on[option.on >= 0] for option in options]
        chosen = [np.array([option.chosen]) for option in options if option.chosen >= 0]
        self._choices = np.concatenate([*on, *chosen]) if on else np.zeros(0, dtype=np.int64)
        self._places = np.searchsorted(self._columns, self._choices)

    def idle(self, reduced: Floats, deadline: float) -> Schedule | None:
        """Return the schedule that is never on, or None if the run's rows do not allow it; arguments as `schedule`."""
        return self.of(np.zeros(0, dtype=np.int64), reduced, deadline)

    def schedule(
        self, choice: int, pattern: npt.NDArray[np.bool_], reduced: Floats, deadline: float
    ) -> Schedule | None:
        """Return the best schedule with a pattern, or None if the run's rows do not allow it.

        Args:
            choice: Place of the run's option.
            pattern: On or off per cell, shape (B,).
            reduced: Reduced cost of every column of the program, shape (N,).
            deadline: Reading of the monotonic clock at which to give up.
        """
        option = self._options[choice]
        on = option.on[pattern]
        return self.of(np.append(on, option.chosen) if option.chosen >= 0 else on, reduced, deadline)

    def in_plan(self, x: Floats) -> Places1:
        """Return which of the run's on/off and pool columns are one in a plan, shape (N,)."""
        return self._choices[x[self._choices] > HALF]

    def of(self, whole: Places1, reduced: Floats, deadline: float) -> Schedule | None:
        """Return the best schedule in which these on/off and pool columns are one and all others nothing, or None."""
        fixed = np.isin(self._choices, whole).astype(np.float64)
        self._highs.bound_columns(self._places, fixed, fixed)
        self._highs.price_columns(reduced[self._columns])
        answer = self._highs.run(seconds_left(deadline), aside=False)
        if answer.status != "optimal" or answer.values is None:
            return None
        return self._told(answer.values, whole)

    def _told(self, values: Floats, whole: Places1) -> Schedule:
        used = np.flatnonzero(np.abs(values) > NOTHING)
        cost = float(self._cost @ values)
        return Schedule(self._gang, self._columns[used], values[used], cost, np.sort(whole).tobytes())
