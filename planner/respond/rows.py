"""A program grown column by column and row by row, handed over as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable

Terms = list[tuple[int, float]]


@dataclass
class Rows:
    """Columns and rows so far; all costs are made small."""

    _cost: list[float] = field(default_factory=list)
    _lower: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _whole: list[bool] = field(default_factory=list)
    _at: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)
    _row_lower: list[float] = field(default_factory=list)
    _row_upper: list[float] = field(default_factory=list)

    def column(self, lower: float = 0.0, upper: float = 1.0, cost: float = 0.0, *, whole: bool = False) -> int:
        """Add a column and return its place."""
        self._lower.append(lower)
        self._upper.append(upper)
        self._cost.append(cost)
        self._whole.append(whole)
        return len(self._cost) - 1

    def priced(self, column: int, cost: float) -> None:
        """Add to a column's cost."""
        self._cost[column] += cost

    def row(self, terms: Iterable[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add a row: `lower <= terms <= upper`."""
        for column, value in terms:
            self._at.append(len(self._row_lower))
            self._columns.append(column)
            self._values.append(value)
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def matrix(self) -> Matrix:
        """Return the program as arrays."""
        shape = (len(self._row_lower), len(self._cost))
        return Matrix(
            cost=np.array(self._cost),
            lower=np.array(self._lower),
            upper=np.array(self._upper),
            whole=np.array(self._whole, dtype=np.bool_),
            a=sparse.csr_array((self._values, (self._at, self._columns)), shape=shape),
            row_lower=np.array(self._row_lower),
            row_upper=np.array(self._row_upper),
            row_names=tuple(f"r{i}" for i in range(shape[0])),
        )
