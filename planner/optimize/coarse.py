"""A smaller program with the same on/off columns: one operating point per run and cell instead of one per slot.

What it finds in a fraction of the time, `polish` turns into a solution of the whole program: it gives the slots back
their freedom, and holds the hours in which import is paid for to what machines can do, which this program leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix, Row
    from planner.optimize.places import Places


@dataclass(frozen=True)
class Coarse:
    """The smaller program.

    Args:
        matrix: The program.
        column: Place in it of every column of the whole program, shape (N,).
        choices: Places in it of `Places.choices`, shape (C,).
    """

    matrix: Matrix
    column: npt.NDArray[np.int64]
    choices: npt.NDArray[np.int64]

    def held(self, columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> Coarse:
        """Return the program with columns of the whole program, shape (C,), held at values, shape (C,)."""
        return replace(self, matrix=self.matrix.held(self.column[columns], values))

    def with_rows(self, rows: Sequence[Row]) -> Coarse:
        """Return the program with rows of the whole program added."""
        moved = [replace(row, columns=self.column[row.columns]) for row in rows]
        return replace(self, matrix=self.matrix.with_rows(moved))


def coarsen(matrix: Matrix, places: Places) -> Coarse:
    """Return the smaller program of `matrix`."""
    owner = np.arange(matrix.n_columns)
    for gang in places.gangs:
        for option in gang:
            if option.lower.shape[1]:
                _, first, cell = np.unique(option.on_of_row, return_index=True, return_inverse=True)
                owner[option.lower] = option.lower[first][cell]
    kept, column = np.unique(owner, return_inverse=True)
    ones, rows = np.ones(matrix.n_columns), np.arange(matrix.n_columns)
    spread = sparse.csr_array((ones, (rows, column)), shape=(matrix.n_columns, len(kept)))
    small = replace(
        matrix,
        cost=np.asarray(spread.T @ matrix.cost),
        lower=matrix.lower[kept],
        upper=matrix.upper[kept],
        whole=np.isin(kept, places.choices),
        a=sparse.csr_array(matrix.a @ spread),
    )
    return Coarse(small, column, column[places.choices])
