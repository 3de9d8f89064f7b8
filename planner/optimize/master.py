"""The program over whole schedules: each run a mix of schedules that it could really follow, the site as it is.

Its prices for GPUs and IT power are held in a box around good ones (du Merle et al. 1999): the first mixes, of a few
schedules, would price them wildly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.matrix import Row
from planner.optimize.parts import SITE
from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.parts import Parts
    from planner.optimize.schedules import Schedule

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

BOX = 0.3  # of a price and of the mean of its kind, half each: how far the box reaches on either side
WIDER = 1.5
MOST_WIDER = 4
NARROWEST = 1e-7


@dataclass(frozen=True)
class Mix:
    """A best mix of schedules.

    Args:
        objective: Its objective, what the box bears included.
        price: Dual of every ground row, shape (G,).
        weight: Weight of every schedule, shape (S,).
        values: What the mix comes to in every column of the program, shape (N,).
        outside: How much of the ground rows the box bears.
    """

    objective: float
    price: Floats
    weight: Floats
    values: Floats
    outside: float


class Master:
    """The program over schedules, which grows by schedules and by cuts.

    Args:
        matrix: The whole program.
        parts: What belongs to whom.
        cuts: Cuts to begin with.
        centre: Prices of the ground rows around which the box is laid at first, shape (G,).
    """

    def __init__(self, matrix: Matrix, parts: Parts, cuts: Sequence[Row], centre: Floats) -> None:
        self._n_columns, self._n_gangs = matrix.n_columns, int(parts.of_column.max()) + 1
        self._site, rows = parts.columns(SITE), parts.rows(SITE)
        whole = matrix.with_rows(cuts)
        kept = np.concatenate([rows, np.arange(matrix.n_rows, whole.n_rows)])
        self.ground: sparse.csr_array = sparse.csr_array(whole.a[kept])
        """Ground rows over all columns of the program, shape (G, N): the site's, the linking ones, the cuts."""
        self.lower, self.upper = whole.row_lower[kept], whole.row_upper[kept]
        self._n_first = len(kept)
        self.schedules: list[Schedule] = []
        self._stacked: sparse.csc_array = sparse.csc_array((self._n_columns, 0))
        self._highs = Highs(self._first(matrix), whole=False, solver="simplex")
        shared = abs(self.ground[:, np.flatnonzero(parts.of_column != SITE)]).sum(axis=1)
        self._boxed = np.flatnonzero(np.asarray(shared).ravel())
        self._width = 0
        places, nothing = self._place(self._boxed), np.zeros(len(self._boxed))
        for sign in (1.0, -1.0):
            self._highs.add_columns(nothing, [(np.array([place]), np.array([sign])) for place in places])
        self._first_schedule = len(self._site) + 2 * len(self._boxed)
        self.enclose(centre)

    def _first(self, matrix: Matrix) -> Matrix:
        """Return the program without any schedule: the ground rows, then a row per run for its weights."""
        a = sparse.vstack([self.ground[:, self._site], sparse.csr_array((self._n_gangs, len(self._site)))])
        ones = np.ones(self._n_gangs)
        return replace(
            matrix,
            cost=matrix.cost[self._site],
            lower=matrix.lower[self._site],
            upper=matrix.upper[self._site],
            whole=np.zeros(len(self._site), dtype=bool),
            a=sparse.csr_array(a),
            row_lower=np.append(self.lower, ones),
            row_upper=np.append(self.upper, ones),
            row_names=(),
        )

    def _place(self, ground: Places1) -> Places1:
        """Return where ground rows stand: those of the runs' weights lie before the cuts that were added later."""
        return np.where(ground < self._n_first, ground, ground + self._n_gangs)

    def add_cuts(self, cuts: Sequence[Row]) -> None:
        """Add cuts over the runs' columns."""
        starts = np.cumsum([0] + [len(cut.columns) for cut in cuts])
        new = sparse.csr_array(
            (np.concatenate([c.values for c in cuts]), np.concatenate([c.columns for c in cuts]), starts),
            shape=(len(cuts), self._n_columns),
        )
        self.ground = sparse.csr_array(sparse.vstack([self.ground, new]))
        self.lower = np.append(self.lower, np.full(len(cuts), -np.inf))
        self.upper = np.append(self.upper, [cut.upper for cut in cuts])
        by_schedule = sparse.csr_array(new @ self._stack())
        rows = []
        for i, cut in enumerate(cuts):
            in_site, of_site = new[[i]][:, self._site], by_schedule[[i]]
            columns = np.append(in_site.indices, of_site.indices + self._first_schedule).astype(np.int64)
            rows.append(Row(cut.name, columns, np.append(in_site.data, of_site.data), cut.upper))
        self._highs.add_rows(rows)

    def _stack(self) -> sparse.csc_array:
        """Return all schedules as columns, shape (N, S)."""
        if self._stacked.shape[1] < len(self.schedules):
            new = self.schedules[self._stacked.shape[1] :]
            starts = np.cumsum([0] + [len(s.columns) for s in new])
            values, columns = (np.concatenate(x) for x in zip(*((s.values, s.columns) for s in new), strict=True))
            block = sparse.csc_array((values, columns, starts), shape=(self._n_columns, len(new)))
            self._stacked = sparse.csc_array(sparse.hstack([self._stacked, block], format="csc"))
        return self._stacked

    def cheapest(self, reduced: Floats) -> Floats:
        """Return the cost of each run's cheapest schedule at reduced costs, shape (N,); infinite where it has none."""
        least = np.full(self._n_gangs, np.inf)
        if self.schedules:
            np.minimum.at(least, [s.gang for s in self.schedules], reduced @ self._stack())
        return least

    def add(self, schedules: Sequence[Schedule]) -> None:
        """Add schedules."""
        entries = []
        for schedule in schedules:
            x = np.zeros(self._n_columns)
            x[schedule.columns] = schedule.values
            taken = self.ground @ x
            rows = np.flatnonzero(taken)
            entries.append((np.append(self._place(rows), self._n_first + schedule.gang), np.append(taken[rows], 1.0)))
        self._highs.add_columns(np.array([schedule.cost for schedule in schedules]), entries)
        self.schedules += schedules

    def enclose(self, centre: Floats) -> None:
        """Lay the box around prices of the ground rows, shape (G,); what leaves it is paid for."""
        held, at = self._boxed, centre[self._boxed]
        equal = self.lower[held] == self.upper[held]
        mean = np.where(equal, _mean(at[equal]), _mean(at[~equal]))
        width = BOX * WIDER ** min(self._width, MOST_WIDER) * 0.5 * (np.abs(at) + mean) + NARROWEST
        # a row that only holds down has no price above nothing
        above = np.where(np.isneginf(self.lower[held]), np.minimum(at + width, 0.0), at + width)
        self._highs.price_columns(np.append(above, width - at), len(self._site))

    def widen(self) -> None:
        """Make the next box wider."""
        self._width += 1

    def run(self, deadline: float) -> Mix | None:
        """Return the best mix of the schedules so far, or None if there is none or was no time."""
        answer = self._highs.run(seconds_left(deadline))
        if answer.status != "optimal" or answer.values is None or answer.objective is None:
            return None
        after = self._first_schedule
        weight = np.maximum(answer.values[after:], 0.0)
        values = self._stack() @ weight
        values[self._site] = answer.values[: len(self._site)]
        price = np.delete(self._highs.row_duals(), np.arange(self._n_first, self._n_first + self._n_gangs))
        return Mix(answer.objective, price, weight, values, float(answer.values[len(self._site) : after].sum()))

    def run_within(self, open_ones: npt.NDArray[np.bool_], deadline: float) -> Mix | None:
        """Return the best mix of some schedules, shape (S,), without the box, or None as `run`."""
        if seconds_left(deadline) <= 0:
            # a run that overran its limit may still be at work
            return None
        boxed = np.zeros(self._first_schedule - len(self._site))
        self._hold(np.append(boxed, np.where(open_ones, np.inf, 0.0)))
        return self.run(deadline)

    def _hold(self, most: Floats) -> None:
        """Bound the box and the weights of all schedules from above."""
        places = np.arange(len(self._site), len(self._site) + len(most))
        self._highs.bound_columns(places, np.zeros(len(most)), most)


def _mean(values: Floats) -> float:
    return float(np.abs(values).mean()) if values.size else 0.0
