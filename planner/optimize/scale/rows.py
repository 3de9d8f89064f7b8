"""Columns and rows of a linear program, gathered as arrays and handed to HiGHS at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np
from scipy import sparse

from planner.optimize.solver import linear_program, set_options, started

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LOOSE, EXACT = 1e-5, 1e-8
TINY = 1e-9  # coefficients below it are noise to the solver


class Rows:
    """A program in the making: columns first, then entries of numbered rows."""

    def __init__(self) -> None:
        self._cost: list[Floats] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._sides: list[tuple[Floats, Floats]] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self.n_columns = 0
        self.n_rows = 0

    def columns(self, count: int, lower: npt.ArrayLike, upper: npt.ArrayLike, cost: npt.ArrayLike = 0.0) -> Ints:
        """Add columns and return their places, shape (count,)."""
        for kept, value in ((self._lower, lower), (self._upper, upper), (self._cost, cost)):
            kept.append(np.broadcast_to(np.asarray(value, dtype=np.float64), count))
        places = np.arange(self.n_columns, self.n_columns + count)
        self.n_columns += count
        return places

    def rows(self, count: int, lower: npt.ArrayLike, upper: npt.ArrayLike) -> Ints:
        """Add rows without entries and return their places, shape (count,)."""
        low, high = (np.broadcast_to(np.asarray(v, dtype=np.float64), count) for v in (lower, upper))
        self._sides.append((low, high))
        places = np.arange(self.n_rows, self.n_rows + count)
        self.n_rows += count
        return places

    def put(self, rows: Ints, columns: Ints, values: npt.ArrayLike) -> None:
        """Add entries; entries of the same row and column add up."""
        shape = np.broadcast_shapes(np.shape(rows), np.shape(columns), np.shape(values))
        told = (np.broadcast_to(np.asarray(v), shape).ravel() for v in (rows, columns, values))
        row, column, value = told
        kept = np.abs(value) >= TINY
        self._entries.append((row[kept], column[kept], value[kept].astype(np.float64)))

    def model(self) -> Model:
        """Return the program as a HiGHS model."""
        entries = [np.concatenate([e[i] for e in self._entries]) for i in range(3)]
        matrix = sparse.csc_array(
            (entries[2], (entries[0].astype(np.int64), entries[1].astype(np.int64))),
            shape=(self.n_rows, self.n_columns),
        )
        matrix.sum_duplicates()
        lower, upper, cost = (np.concatenate(kept) for kept in (self._lower, self._upper, self._cost))
        sides = [np.concatenate([s[i] for s in self._sides]) for i in range(2)]
        return Model(matrix, cost, (lower, upper), (sides[0], sides[1]))


class Model:
    """A linear program that stays in HiGHS: its sides, bounds and costs change, and it starts from its last basis."""

    def __init__(
        self, matrix: sparse.csc_array, cost: Floats, bounds: tuple[Floats, Floats], sides: tuple[Floats, Floats]
    ) -> None:
        self.n_rows, self.n_columns = matrix.shape
        self._highs = started(linear_program(matrix, cost, bounds, sides))

    def side_rows(self, rows: Ints, lower: Floats, upper: Floats) -> None:
        """Change the sides of rows."""
        self._highs.changeRowsBounds(len(rows), rows.astype(np.int32), lower, upper)

    def bound_columns(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Change the bounds of columns."""
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def price_columns(self, columns: Ints, cost: Floats) -> None:
        """Change the costs of columns."""
        self._highs.changeColsCost(len(columns), columns.astype(np.int32), cost)

    def run(self, seconds: float, *, interior: bool = False) -> Solved | None:
        """Solve and return the solution with its duals, or None if there was none in time.

        Args:
            seconds: Time limit, s.
            interior: Whether to use the interior point method without crossover, which leaves no basis.
        """
        if seconds <= 0.0:
            return None
        # prices need not be exact: any of them give a valid bound
        set_options(
            self._highs,
            ipm_optimality_tolerance=LOOSE if interior else EXACT,
            solver="ipm" if interior else "simplex",
            run_crossover="off" if interior else "on",
            time_limit=float(self._highs.getRunTime() + seconds),
        )
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        return Solved(
            values=np.array(solution.col_value),
            activity=np.array(solution.row_value),
            row_dual=np.array(solution.row_dual),
            objective=float(self._highs.getInfo().objective_function_value),
        )


class Solved:
    """A solution: column values, values and duals of rows, objective."""

    def __init__(self, values: Floats, activity: Floats, row_dual: Floats, objective: float) -> None:
        self.values, self.activity, self.row_dual, self.objective = values, activity, row_dual, objective
