"""How programs are handed to HiGHS and solved: options, threads, the time limit and its watchdog, starts and bounds."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix, Row

    Floats = npt.NDArray[np.float64]
    Sides = tuple[Floats, Floats]

THREADS = 1  # HiGHS keeps the first thread count of a process and fails silently on another
OVERRUN_S = 5.0  # patience beyond a time limit that HiGHS does not keep
_FEASIBLE = 2


class SolverFault(RuntimeError):
    """HiGHS was asked for something it does not know, or failed."""


@dataclass(frozen=True)
class Answer:
    """What HiGHS found.

    Args:
        status: "optimal" (within the gap asked for), "feasible", "infeasible" or "none".
        values: Column values, shape (N,), or None without a solution.
        objective: Objective of the values, or None without them.
        bound: No solution can be below it; -inf where nothing is known.
    """

    status: str
    values: npt.NDArray[np.float64] | None
    objective: float | None
    bound: float


NOTHING = Answer("none", None, None, -np.inf)


@dataclass(frozen=True)
class Basis:
    """The duals and the basis of a linear program solved to its end.

    Args:
        row_dual: What the objective changes by per unit of a row's active side, shape (M,).
        column_dual: The same of a column's active bound, shape (N,).
        row_basic: Rows of which neither side is active, shape (M,).
        column_basic: Columns of which neither bound is, shape (N,).
    """

    row_dual: npt.NDArray[np.float64]
    column_dual: npt.NDArray[np.float64]
    row_basic: npt.NDArray[np.bool_]
    column_basic: npt.NDArray[np.bool_]


class Highs:
    """One HiGHS model with checked options; after a run it can be changed and run again from its last basis."""

    def __init__(self, matrix: Matrix, *, whole: bool, **options: Any) -> None:
        self._whole = whole and bool(matrix.whole.any())
        self._left_behind = False
        self._mark: tuple[int, highspy.HighsBasis] | None = None
        self._highs = started(_lp(matrix, whole=self._whole), **options)
        self._n_columns = matrix.n_columns

    def set(self, **options: Any) -> None:
        """Set options by their HiGHS names.

        Raises:
            SolverFault: HiGHS does not know the name or refuses the value.
        """
        set_options(self._highs, **options)

    def start_from(self, values: npt.NDArray[np.float64]) -> None:
        """Give a complete solution to start from."""
        solution = highspy.HighsSolution()
        solution.col_value = list(values)
        self._highs.setSolution(solution)

    def bound_columns(
        self, columns: npt.NDArray[np.int64], lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64]
    ) -> None:
        """Change the bounds of columns."""
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def price_columns(self, cost: npt.NDArray[np.float64], first: int = 0) -> None:
        """Change the cost of columns from one on, shape (C,)."""
        self._highs.changeColsCost(len(cost), np.arange(first, first + len(cost), dtype=np.int32), cost)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows; the last basis stays usable."""
        if not rows:
            return
        starts = np.cumsum([0] + [len(r.columns) for r in rows])[:-1].astype(np.int32)
        columns = np.concatenate([r.columns for r in rows]).astype(np.int32)
        values = np.concatenate([r.values for r in rows])
        lower, upper = np.full(len(rows), -highspy.kHighsInf), np.array([r.upper for r in rows])
        self._highs.addRows(len(rows), lower, upper, len(columns), starts, columns, values)

    def add_columns(self, cost: Floats, entries: Sequence[tuple[npt.NDArray[np.int64], Floats]]) -> None:
        """Add columns from 0 up with their cost, shape (K,), rows and coefficients; the last basis stays usable."""
        if not entries:
            return
        starts = np.cumsum([0] + [len(rows) for rows, _ in entries])[:-1].astype(np.int32)
        rows = np.concatenate([rows for rows, _ in entries]).astype(np.int32)
        values = np.concatenate([values for _, values in entries])
        free = np.full(len(cost), highspy.kHighsInf)
        self._highs.addCols(len(cost), cost, np.zeros(len(cost)), free, len(rows), starts, rows, values)

    def row_duals(self) -> Floats:
        """Return what the objective changes by per unit of each row's active side, of the last run's optimum."""
        return np.array(self._highs.getSolution().row_dual)

    def mark(self) -> None:
        """Keep the rows and the basis of the last run, to come back to."""
        now, kept = self._highs.getBasis(), highspy.HighsBasis()
        kept.valid, kept.alien = now.valid, now.alien
        kept.col_status, kept.row_status = list(now.col_status), list(now.row_status)
        self._mark = (self._highs.getNumRow(), kept)

    def back_to_mark(self) -> None:
        """Take off the rows added since the mark and start the next run from the basis kept there."""
        assert self._mark is not None
        rows, basis = self._mark
        added = np.arange(rows, self._highs.getNumRow(), dtype=np.int32)
        self._highs.deleteRows(len(added), added)
        self._highs.setBasis(basis)

    def run(self, seconds: float, *, aside: bool = True) -> Answer:
        """Run until done or out of time.

        HiGHS can overrun its time limit; it is then left to itself and nothing is read from it.

        Args:
            seconds: Time limit, s.
            aside: Whether it may overrun. A small program that was solved before does not, and a thousand of them take
                longer to be handed to a thread than to be solved.
        """
        if seconds <= 0 or self._left_behind:
            return NOTHING
        # the limit counts from the first run of this object
        self.set(time_limit=float(self._highs.getRunTime() + seconds))
        if not aside:
            self._highs.run()
            return self._read()
        worker = threading.Thread(target=self._highs.run, daemon=True)
        worker.start()
        worker.join(seconds + OVERRUN_S)
        self._left_behind = worker.is_alive()
        if self._left_behind:
            return NOTHING
        return self._read()

    def basis(self) -> Basis:
        """Return the duals and the basis of the last run, a linear program that was solved to its end."""
        solution, basis = self._highs.getSolution(), self._highs.getBasis()
        basic = highspy.HighsBasisStatus.kBasic
        return Basis(
            np.array(solution.row_dual),
            np.array(solution.col_dual),
            np.array([status == basic for status in basis.row_status]),
            np.array([status == basic for status in basis.col_status]),
        )

    def column_duals(self) -> npt.NDArray[np.float64]:
        """Return what the objective changes by per unit of each column's active bound, of the last run, shape (N,)."""
        return np.array(self._highs.getSolution().col_dual)

    def statuses(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the basis of the last run: HiGHS's number for every column and every row."""
        basis = self._highs.getBasis()
        return tuple(int(s) for s in basis.col_status), tuple(int(s) for s in basis.row_status)

    def start_at(self, columns: Sequence[int], rows: Sequence[int]) -> None:
        """Start the next run at a basis, which need not be quite one of this program: HiGHS repairs it."""
        basis = highspy.HighsBasis()
        basis.valid = basis.alien = True
        basis.col_status = [highspy.HighsBasisStatus(s) for s in columns]
        basis.row_status = [highspy.HighsBasisStatus(s) for s in rows]
        self._highs.setBasis(basis)

    def _read(self) -> Answer:
        info = self._highs.getInfo()
        state = self._highs.getModelStatus()
        status = highspy.HighsModelStatus
        if state in {status.kInfeasible, status.kUnboundedOrInfeasible}:
            return Answer("infeasible", None, None, np.inf)
        done = state == status.kOptimal
        bound = info.mip_dual_bound if self._whole else (info.objective_function_value if done else -np.inf)
        if info.primal_solution_status != _FEASIBLE:
            return Answer("none", None, None, float(bound))
        solution = self._highs.getSolution()
        values = np.array(solution.col_value)
        return Answer("optimal" if done else "feasible", values, float(info.objective_function_value), bound)


def seconds_left(deadline: float) -> float:
    """Return the seconds until a reading of the monotonic clock."""
    return deadline - time.monotonic()


def started(lp: highspy.HighsLp, **options: Any) -> highspy.Highs:
    """Return HiGHS with a program in it, silent, on one thread, with the seed that makes runs alike.

    Raises:
        SolverFault: HiGHS refuses an option.
    """
    highs = highspy.Highs()
    set_options(highs, output_flag=False, log_to_console=False, threads=THREADS, random_seed=0, **options)
    highs.passModel(lp)
    return highs


def set_options(highs: highspy.Highs, **options: Any) -> None:
    """Set options by their HiGHS names.

    Raises:
        SolverFault: HiGHS does not know the name or refuses the value.
    """
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverFault(f"HiGHS {highs.version()} refuses option {name} = {value!r}")


def linear_program(a: sparse.csc_array, cost: Floats, bounds: Sides, sides: Sides) -> highspy.HighsLp:
    """Return a linear program as HiGHS takes it.

    Args:
        a: Coefficients, shape (M, N).
        cost: Cost of each column, shape (N,).
        bounds: Lowest and highest value of each column, shape (N,) each.
        sides: Lowest and highest value of each row, shape (M,) each.
    """
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = a.shape
    lp.col_cost_, (lp.col_lower_, lp.col_upper_) = cost, bounds
    lp.row_lower_, lp.row_upper_ = sides
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = a.indptr, a.indices, a.data
    return lp


def _lp(matrix: Matrix, *, whole: bool) -> highspy.HighsLp:
    bounds, sides = (matrix.lower, matrix.upper), (matrix.row_lower, matrix.row_upper)
    lp = linear_program(sparse.csc_array(matrix.a), matrix.cost, bounds, sides)
    if whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(w)] for w in matrix.whole]
    return lp
