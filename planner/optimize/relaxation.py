"""The linear relaxation with hull cuts: solved once from scratch, then again and again from its last basis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cuts import separate
from planner.optimize.solver import Answer, Highs, seconds_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.cuts import HullCuts
    from planner.optimize.matrix import Matrix, Row

INTERIOR_FROM = 5_000  # columns from which the interior point method is the faster first solve
WORTH_A_ROUND = 1e-4  # share of the objective that a round of cuts should bring
POOR_ROUNDS = 2  # in a row, after which no more are tried
TIGHT = 1e-6


class Relaxation:
    """A program's linear relaxation that grows by cuts; columns and values are those of the whole program.

    Args:
        matrix: The whole program, or a smaller one.
        hulls: Where cuts come from.
        column: Place in `matrix` of every column of the whole program, shape (N,).
        basis: Status of every column and row of `matrix` to start from (`Highs.statuses`), or None.
    """

    def __init__(
        self,
        matrix: Matrix,
        hulls: Sequence[HullCuts],
        column: npt.NDArray[np.int64],
        basis: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        self.rows: list[Row] = []
        self._hulls, self._column, self._n_rows = hulls, column, matrix.n_rows
        self._highs = Highs(matrix, whole=False, solver=first_solver(matrix) if basis is None else "simplex")
        self._first = basis is None
        if basis is not None:
            self._highs.start_at(*basis)

    def solve(self, deadline: float, rounds: int) -> Answer:
        """Solve, adding rounds of cuts as long as each is worth its time.

        Args:
            deadline: Reading of the monotonic clock at which to stop.
            rounds: Most rounds of cuts.

        Returns:
            The last answer; one that is not "optimal" bounds nothing.
        """
        answer = self._run(deadline)
        if self._first:
            self._highs.set(solver="simplex")
            self._first = False
        poor = 0
        for _ in range(rounds):
            if answer.status != "optimal" or answer.values is None or answer.objective is None:
                break
            rows = separate(self._hulls, answer.values)
            if not rows:
                break
            self._highs.add_rows([replace(row, columns=self._column[row.columns]) for row in rows])
            self.rows += rows
            better = self._run(deadline)
            if better.status != "optimal" or better.objective is None:
                break
            worth = better.objective - answer.objective >= WORTH_A_ROUND * abs(better.objective)
            poor = 0 if worth else poor + 1
            answer = better
            if poor == POOR_ROUNDS:
                break
        return answer

    def bound_columns(
        self, columns: npt.NDArray[np.int64], lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64]
    ) -> None:
        """Change the bounds of columns."""
        self._highs.bound_columns(self._column[columns], lower, upper)

    def statuses(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the basis of the last solve: the status of every column, and of every row with the cuts behind."""
        return self._highs.statuses()

    def _run(self, deadline: float) -> Answer:
        answer = self._highs.run(seconds_left(deadline))
        return answer if answer.values is None else replace(answer, values=answer.values[self._column])

    def tight_rows(self, x: npt.NDArray[np.float64]) -> list[Row]:
        """Return the cuts that hold `x` back."""
        return [row for row in self.rows if row.values @ x[row.columns] > row.upper - TIGHT]

    def prices(self, x: npt.NDArray[np.float64]) -> tuple[list[Row], npt.NDArray[np.float64]]:
        """Return the cuts that hold the last optimum `x` back, and the duals of the program's rows, then of these.

        All are nothing where the last solve ran out of time.
        """
        dual, cuts = self._highs.row_duals(), self.tight_rows(x)
        if len(dual) != self._n_rows + len(self.rows):
            dual = np.zeros(self._n_rows + len(self.rows))
        held = {id(row) for row in cuts}
        kept = [self._n_rows + i for i, row in enumerate(self.rows) if id(row) in held]
        return cuts, np.append(dual[: self._n_rows], dual[kept])


def first_solver(matrix: Matrix) -> str:
    """Return the method that is faster on a program without a basis to start from."""
    return "ipm" if matrix.n_columns >= INTERIOR_FROM else "simplex"
