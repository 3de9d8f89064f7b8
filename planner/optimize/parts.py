"""The program taken apart: what each gang decides on its own, what the site decides, and the rows that link them.

Without the rows for GPUs and IT power a gang shares nothing with the others: each gang's columns and rows are then a
small program of their own, whose best whole schedule can be found at given prices (`planner.optimize.pricing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    import numpy.typing as npt
    import pulp

    from planner.optimize.gangs import Gang
    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.model import Program

    Places1 = npt.NDArray[np.int64]

LINKS = ("gpus_", "it_power_")
"""How the names of rows begin in which gangs meet each other and the site."""
BESIDE = ("done_", "between_")
"""How the names of a gang's columns begin that its schedule decides on."""
WORK = "work_"
SITE = -1
SAME = 1e-9


@dataclass(frozen=True)
class Parts:
    """Which gang every column and row belongs to.

    Args:
        of_column: Place of the gang, or `SITE`, shape (N,).
        of_row: Place of the gang whose own row it is, or `SITE` for the site's and the linking rows, shape (M,).
    """

    of_column: Places1
    of_row: Places1

    def columns(self, gang: int) -> Places1:
        """Return the places of a gang's columns, or of the site's."""
        return np.flatnonzero(self.of_column == gang)

    def rows(self, gang: int) -> Places1:
        """Return the places of a gang's own rows, or of all others."""
        return np.flatnonzero(self.of_row == gang)


def take_apart(program: Program, matrix: Matrix, index: ColumnIndex) -> Parts | None:
    """Return the parts, or None where gangs share more than GPUs and IT power, or are not as they are priced.

    The prices of a run that may move would be those of several pools at once: its weeks are searched without.

    Args:
        program: The program.
        matrix: The same as arrays.
        index: Place of every column.
    """
    if any(gang.run.moves for gang in program.gangs):
        return None
    known = np.full(matrix.n_columns, SITE, dtype=np.int64)
    for r, gang in enumerate(program.gangs):
        known[index.many(_columns(gang))] = r
    linking = np.array([name.startswith(LINKS) for name in matrix.row_names], dtype=bool)
    of_row, of_column = _components(matrix, linking)
    owner = np.full(max(of_row.max(), of_column.max()) + 1, SITE, dtype=np.int64)
    for r in range(len(program.gangs)):
        mine = np.unique(of_column[known == r])
        if (owner[mine] != SITE).any():
            return None
        owner[mine] = r
    parts = Parts(owner[of_column], np.where(linking, SITE, owner[of_row]))
    # what a gang decides besides its schedule must have no price and meet no one
    beside = np.flatnonzero((parts.of_column != SITE) & (known == SITE))
    met = np.asarray(abs(matrix.a[linking]).sum(axis=0)).ravel()
    names = index.names
    told = all(names[column].startswith(BESIDE) for column in beside)
    if not told or met[beside].any() or matrix.cost[beside].any():
        return None
    priced = all(_works_as_priced(matrix, index, parts, r, gang) for r, gang in enumerate(program.gangs))
    return parts if priced else None


def _components(matrix: Matrix, linking: npt.NDArray[np.bool_]) -> tuple[Places1, Places1]:
    """Return which rows and columns hang together without the linking rows, by number."""
    apart = sparse.diags_array((~linking).astype(np.float64)) @ matrix.a
    graph = sparse.block_array([[None, apart], [apart.T, None]], format="csr")
    _, component = connected_components(graph, directed=False)
    numbers = component.astype(np.int64)
    return numbers[: matrix.n_rows], numbers[matrix.n_rows :]


def _columns(gang: Gang) -> list[pulp.LpVariable]:
    columns = [short for due in gang.due for _, short in due.short]
    for option in gang.options:
        columns += [] if option.chosen is None else [option.chosen]
        for group in (option.on, option.start, option.stop, option.lower):
            columns += list(group.values())
    return columns


def _works_as_priced(matrix: Matrix, index: ColumnIndex, parts: Parts, r: int, gang: Gang) -> bool:
    """Whether all work is that of the points less what starts and stops lose, as the pricing takes it."""
    rows = [row for row in parts.rows(r) if matrix.row_names[row].startswith(WORK)]
    work = -np.asarray(matrix.a[rows].sum(axis=0)).ravel()
    expected = np.zeros(matrix.n_columns)
    slot_h = gang.cells.slot_h
    for option in gang.options:
        top = option.rate * option.points[-1].relative_throughput
        for cell, on in option.on.items():
            expected[index(on)] = top * slot_h * len(gang.cells.slots(cell))
        for (_, k), share in option.lower.items():
            expected[index(share)] = (option.rate * option.points[k].relative_throughput - top) * slot_h
        for columns, lost_s in ((option.start, gang.run.reload_s), (option.stop, gang.run.checkpoint_s)):
            expected[index.many(list(columns.values()))] = -top * lost_s / 3600.0
    mine = index.many(_columns(gang))
    return bool(np.abs(work[mine] - expected[mine]).max(initial=0.0) < SAME)
