"""The relaxation of a week much like one that is solved: it starts from that one's basis and with its hull cuts.

What one change of a week does to its relaxation is little, so that a few steps of the simplex lead from one optimum to
the other, where a solve from scratch takes most of the time. Columns and rows are matched by their names.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cuts import HullCuts, packings
from planner.optimize.incumbent import ROOT_ROUNDS
from planner.optimize.matrix import Row
from planner.optimize.relaxation import Relaxation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.fixed import Fixed
    from planner.optimize.solver import Answer

SECONDS = 60.0
LOWER, BASIC = 0, 1
"""HiGHS's numbers of a column at its lower bound and of a row that is not active."""


@dataclass(frozen=True)
class Cut:
    """A hull cut by the names of its columns: `values @ columns <= upper`; `status` is that of its row."""

    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    upper: float
    status: int


@dataclass(frozen=True)
class Warm:
    """Where the relaxation of a program ended.

    Args:
        columns: Column -> its status.
        rows: Row -> its status.
        cuts: The hull cuts that were added.
    """

    columns: Mapping[str, int]
    rows: Mapping[str, int]
    cuts: tuple[Cut, ...]


def relaxed(fixed: Fixed, warm: Warm | None = None, *, same_gpus: bool = True) -> tuple[Answer, Warm]:
    """Return the optimum of a program's relaxation with hull cuts, and where it ended.

    Args:
        fixed: The program.
        warm: Where that of a program much like it ended, or None to start from scratch.
        same_gpus: Whether both have the same gangs and GPUs: its cuts hold then too.
    """
    names, matrix = fixed.index.names, fixed.whole
    place = {name: i for i, name in enumerate(names)}
    known = () if warm is None or not same_gpus else warm.cuts
    known = tuple(cut for cut in known if all(name in place for name in cut.columns))
    rows = [Row("hull", np.array([place[n] for n in cut.columns]), cut.values, cut.upper) for cut in known]
    basis = None
    if warm is not None:
        of_rows = [warm.rows.get(name, BASIC) for name in matrix.row_names]
        basis = [warm.columns.get(name, LOWER) for name in names], of_rows + [cut.status for cut in known]
    hulls = [HullCuts(p) for p in packings(fixed.program.week, fixed.places)]
    relaxation = Relaxation(matrix.with_rows(rows), hulls, np.arange(matrix.n_columns), basis)
    answer = relaxation.solve(time.monotonic() + SECONDS, ROOT_ROUNDS)
    columns, statuses = relaxation.statuses()
    cuts = zip([*rows, *relaxation.rows], statuses[matrix.n_rows :], strict=False)
    return answer, Warm(
        dict(zip(names, columns, strict=False)),
        dict(zip(matrix.row_names, statuses, strict=False)),
        tuple(Cut(tuple(names[c] for c in row.columns), row.values, row.upper, status) for row, status in cuts),
    )
