"""The program as arrays: built once from PuLP, then solved many times with rows added and columns fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pulp
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

TINY = 1e-9  # coefficients below it are noise to the solver
HALF = 0.5  # between two whole numbers

Floats = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class Matrix:
    """Minimise `cost @ x` over `row_lower <= a @ x <= row_upper`, `lower <= x <= upper`, some x whole.

    Args:
        cost: Shape (N,).
        lower: Shape (N,).
        upper: Shape (N,).
        whole: Which columns are whole numbers, shape (N,).
        a: Rows, shape (M, N).
        row_lower: Shape (M,).
        row_upper: Shape (M,).
        row_names: Length M.
    """

    cost: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    whole: npt.NDArray[np.bool_]
    a: sparse.csr_array
    row_lower: npt.NDArray[np.float64]
    row_upper: npt.NDArray[np.float64]
    row_names: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """Count of columns, N."""
        return len(self.cost)

    @property
    def n_rows(self) -> int:
        """Count of rows, M."""
        return len(self.row_lower)

    def within(self, columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> bool:
        """Return whether whole values, shape (C,), lie within the bounds of their columns, shape (C,)."""
        inside = (values >= self.lower[columns] - HALF) & (values <= self.upper[columns] + HALF)
        return bool(inside.all())

    def held(self, columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> Matrix:
        """Return the program with columns, shape (C,), held at values, shape (C,)."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[columns], upper[columns] = values, values
        return replace(self, lower=lower, upper=upper)

    def with_whole(self, whole: npt.NDArray[np.bool_]) -> Matrix:
        """Return the program with other columns whole, shape (N,)."""
        return replace(self, whole=whole)

    def with_rows(self, rows: Sequence[Row]) -> Matrix:
        """Return the program with rows added."""
        if not rows:
            return self
        starts = np.cumsum([0] + [len(r.columns) for r in rows])
        extra = sparse.csr_array(
            (np.concatenate([r.values for r in rows]), np.concatenate([r.columns for r in rows]), starts),
            shape=(len(rows), self.n_columns),
        )
        return Matrix(
            cost=self.cost,
            lower=self.lower,
            upper=self.upper,
            whole=self.whole,
            a=sparse.csr_array(sparse.vstack([self.a, extra], format="csr")),
            row_lower=np.append(self.row_lower, np.full(len(rows), -np.inf)),
            row_upper=np.append(self.row_upper, [r.upper for r in rows]),
            row_names=self.row_names + tuple(r.name for r in rows),
        )


@dataclass(frozen=True)
class Row:
    """A row to add: `values @ x[columns] <= upper`."""

    name: str
    columns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    upper: float


class ColumnIndex:
    """Place of every PuLP column in the arrays."""

    def __init__(self, order: dict[pulp.LpVariable, int]) -> None:
        self._order = order

    def __call__(self, column: pulp.LpVariable) -> int:
        """Return the place of a column."""
        return self._order[column]

    def many(self, columns: Sequence[pulp.LpVariable]) -> npt.NDArray[np.int64]:
        """Return the places of columns, of their length."""
        return np.array([self._order[c] for c in columns], dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, by place."""
        return tuple(column.name for column in self._order)


def from_pulp(problem: pulp.LpProblem) -> tuple[Matrix, ColumnIndex]:
    """Return a PuLP program as arrays, columns and rows in the order in which the program first names them.

    Args:
        problem: A program that minimises.

    Returns:
        The arrays and the place of every column in them.
    """
    order: dict[pulp.LpVariable, int] = {}
    starts, columns, values = [0], [], []
    row_lower, row_upper, names = [], [], []
    for row in problem.constraints():
        for column, value in row.items():
            if abs(value) >= TINY:
                columns.append(order.setdefault(column, len(order)))
                values.append(value)
        starts.append(len(columns))
        row_lower.append(-np.inf if row.getLb() is None else row.getLb())
        row_upper.append(np.inf if row.getUb() is None else row.getUb())
        names.append(row.name)
    for column in problem.objective:
        order.setdefault(column, len(order))
    cost = np.zeros(len(order))
    for column, value in problem.objective.items():
        cost[order[column]] = value
    matrix = Matrix(
        cost=cost,
        lower=np.array([-np.inf if c.lowBound is None else c.lowBound for c in order], dtype=np.float64),
        upper=np.array([np.inf if c.upBound is None else c.upBound for c in order], dtype=np.float64),
        whole=np.array([c.cat == pulp.LpInteger for c in order], dtype=bool),
        a=sparse.csr_array((values, columns, starts), shape=(len(names), len(order))),
        row_lower=np.array(row_lower, dtype=np.float64),
        row_upper=np.array(row_upper, dtype=np.float64),
        row_names=tuple(names),
    )
    return matrix, ColumnIndex(order)
