"""The best plan found for a program, and the bound that certifies it.

First plans at several paces; then, each only if the gap asked for is not reached: relaxation with hull cuts; a tree
over the height of the billed peak, where the plan raises it; a dive that settles the pools; a small program around
the relaxation (relaxation enforced neighbourhood, Berthold 2007), with whole schedules or a tree over the pools for the
bound; the plan of whole schedules; neighbourhoods of the plan; the whole program. All but the last are limited by
counts, so that a plan does not depend on the machine.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.branching import PoolTree
from planner.optimize.coarse import Coarse, coarsen
from planner.optimize.cuts import HullCuts, packings
from planner.optimize.greedy import Greedy, Pace
from planner.optimize.neighbourhood import Neighbourhoods
from planner.optimize.peaks import PeakTree, hull_of
from planner.optimize.polish import Polished, polish
from planner.optimize.relaxation import Relaxation
from planner.optimize.shifts import Shifts
from planner.optimize.skyline import skylines
from planner.optimize.solver import Highs, seconds_left
from planner.optimize.whole_schedules import WholeSchedules, whole_schedules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.optimize.solver import Answer

ROOT_ROUNDS = 12
SMALL = 150  # whole columns up to which the whole program is solved at once
EASY = 300  # whole columns up to which spells are moved beyond the gap asked for
PEAK_COLUMNS = 8_000  # up to which a tree over the peak's height is worth its time
BANDS = 3  # of the peak's height that are searched one by one, best first
BAND_WHOLE = 600  # whole columns up to which they are
BAND_NODES = 100
SUB_NODES = 4  # the first few bring the plans, the rest only prove them
MIX_NODES = 20  # of what schedules do not agree on: fewer columns
SUB_GAP = 0.4  # of the gap target
AT_BOUND = 1e-6
RECREATED = 4  # plans ruined and recreated beside every neighbourhood
WITHOUT_GAIN = 8  # neighbourhoods in a row without a better plan, before the whole program is tried
WHOLE_GAP = 0.9  # of the gap target: leaves room for what polishing holds back
KEEP_S = 1.0  # of the time left, to polish what the whole program finds
FIRST_S = 10.0
LAST_S = 60.0  # for any plan at all
ZERO = 1e-12


@dataclass(frozen=True)
class Incumbent:
    """The best values found, shape (N,), their objective, the bound, and the program's size."""

    values: npt.NDArray[np.float64]
    objective: float
    bound: float
    columns: int
    rows: int
    binaries: int
    cuts: int


class Search:
    """The state of one search: the best plan and the best bound so far."""

    def __init__(
        self,
        program: Program,
        matrix: Matrix,
        places: Places,
        gap_target: float,
        deadline: float,
        starts: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = (),
        index: ColumnIndex | None = None,
        limit_s: float = np.inf,
    ) -> None:
        self._program, self._matrix, self._places = program, matrix, places
        self._gap_target, self._deadline = gap_target, deadline
        self._hulls = [HullCuts(p) for p in packings(program.week, places)]
        self._relaxation = Relaxation(matrix, self._hulls, np.arange(matrix.n_columns))
        self._worthy = matrix
        """The program, held to where plans better than the best may lie."""
        self._best: Polished | None = None
        self._bound = _box_bound(matrix)
        self._index, self._limit_s = index, limit_s
        self._starts = starts
        """Columns and values of plans that are known, as `polish` takes them."""

    def run(self) -> Incumbent | None:
        """Return the best plan found, or None if the program has none."""
        choices = self._places.choices
        # a first plan is worth more than a short time limit
        with_time, self._deadline = self._deadline, max(self._deadline, time.monotonic() + FIRST_S)
        self._offer(choices, np.zeros(len(choices)))
        for columns, values in self._starts:
            self._offer(columns, values)
        for pace in Pace:
            self._offer(choices, Greedy(self._program, pace).choices(self._places))
        if self._best is None:
            # a late plan is worth more than none: the machine may be busy with other work
            self._deadline = max(with_time, time.monotonic() + LAST_S)
            self._offer(choices, np.zeros(len(choices)))
            if self._best is None:
                # every gang off breaks a limit, such as a ramp that a gang could bridge: any plan is a start
                self._whole(mip_max_improving_sols=1)
        self._deadline = with_time
        if self._best is None:
            return None
        self._improve()
        if self._matrix.whole.sum() <= EASY:
            # within the gap asked for a plain rule could still be the better plan, and moves cost little here
            moves = Shifts(self._matrix, self._places)
            now = moves.better(self._best.values, self._best.objective, self._deadline - KEEP_S)
            self._offer(choices, now)
        binaries = int(self._matrix.whole.sum())
        return Incumbent(
            self._best.values,
            self._best.objective,
            min(self._bound, self._best.objective),
            self._matrix.n_columns,
            self._matrix.n_rows,
            binaries,
            len(self._relaxation.rows),
        )

    def _improve(self) -> None:
        root = self._relaxation.solve(self._deadline, ROOT_ROUNDS)
        if root.status != "optimal" or root.values is None or root.objective is None:
            return
        self._bound = max(self._bound, root.objective)
        rises = root.values[self._places.peaks].sum() > ZERO
        if not self._done() and rises and self._matrix.n_columns <= PEAK_COLUMNS:
            self._settle_peak(root.values)
        if self._done():
            return
        if self._matrix.whole.sum() <= SMALL:
            self._whole()
            return
        schedules = self._schedules(root)
        coarse = self._around_root(root) if schedules is None else self._beside(schedules, root)
        if schedules is not None:
            coarse = self._rule_out(schedules, coarse)
        if self._open_choices() > SMALL:
            before = self._best
            self._neighbourhoods(coarse, schedules)
            if schedules is not None and self._best is not before:
                self._rule_out(schedules, coarse)
        if not self._done():
            self._whole()

    def _settle_peak(self, root: npt.NDArray[np.float64]) -> None:
        """Raise the bound by a tree over the height of the billed peak, and search where better plans may lie."""
        assert self._best is not None
        found = skylines(self._program, self._places)
        if not found:
            return
        matrix, peaks = self._matrix.with_rows(self._relaxation.tight_rows(root)), self._places.peaks
        bands = PeakTree(matrix, found).split(self._enough(), self._deadline)
        if not bands:
            return
        self._bound = max(self._bound, bands[0].bound)
        alone = len(bands) > 1 and self._matrix.whole.sum() <= BAND_WHOLE
        for band in bands[: BANDS if alone else 0]:
            if self._done() or band.bound >= self._best.objective:
                break
            self._search(band.within(matrix, peaks), mip_max_nodes=BAND_NODES)
        self._worthy = hull_of(bands, self._best.objective).within(self._matrix, peaks)

    def _schedules(self, root: Answer) -> WholeSchedules | None:
        if self._index is None:
            return None
        return whole_schedules(
            self._program, self._matrix, self._index, self._places, self._relaxation, root, self._limit_s
        )

    def _around_root(self, root: Answer) -> Coarse:
        """Settle the pools and search around the relaxation while a tree works on the bound.

        Returns:
            The smaller program, with the cuts that hold its relaxation back.
        """
        assert root.values is not None
        coarse = coarsen(self._worthy, self._places).with_rows(self._relaxation.tight_rows(root.values))
        tree = PoolTree(self._relaxation, self._places)
        if not tree.open:
            self._around(coarse, {})
            return coarse
        small = Relaxation(coarse.matrix, self._hulls, coarse.column)
        dive = PoolTree(small, self._places).dive(self._deadline)
        if dive is None:
            return coarse
        coarse = coarse.with_rows(small.tight_rows(dive.values))
        self._around_with_tree(coarse, tree, dive.choice)
        return coarse

    def _around_with_tree(self, coarse: Coarse, tree: PoolTree, choice: Mapping[int, int]) -> None:
        """Search around the dive while the tree works on the bound; its bound counts only when it was waited for."""
        with ThreadPoolExecutor(max_workers=1) as other:
            bound = other.submit(tree.certify, self._bound, self._deadline)
            try:
                self._around(coarse, choice)
                if tree.moving and not self._done():
                    self._around(coarse, {r: k for r, k in choice.items() if not self._places.gangs[r][0].moves})
            except BaseException:
                tree.enough = -np.inf
                raise
            if self._done():
                tree.enough = -np.inf
                return
            tree.enough = self._enough()
            self._bound = max(self._bound, bound.result())

    def _beside(self, schedules: WholeSchedules, root: Answer) -> Coarse:
        """Search around the relaxation while whole schedules work on the bound; then offer their plan.

        Their bound counts only where it was waited for.
        """
        with ThreadPoolExecutor(max_workers=1) as other:
            work, enough = other.submit(schedules.work, self._deadline - KEEP_S), -np.inf
            try:
                coarse = self._around_root(root)
                # where the time is out the bound found by then still counts
                if self._bound < self._enough():
                    enough = self._enough()
            finally:
                schedules.stop_at(enough)
            if np.isfinite(enough):
                work.result()
                self._bound = max(self._bound, schedules.bound(enough))
        if not self._done():
            self._around_mix(coarse, schedules.mix)
        if not self._done():
            self._offer_plan(schedules.plan(self._deadline - KEEP_S))
        return coarse

    def _rule_out(self, schedules: WholeSchedules, coarse: Coarse) -> Coarse:
        """Hold the program, and the smaller one, to what plans better than the best have in common."""
        if self._done() or self._best is None:
            return coarse
        columns, values = schedules.ruled(self._best.objective, self._deadline - KEEP_S)
        # hours that have passed are held already, and not known to the schedules
        able = (values >= self._worthy.lower[columns]) & (values <= self._worthy.upper[columns])
        columns, values = columns[able], values[able]
        self._worthy = self._worthy.held(columns, values)
        return coarse.held(columns, values)

    def _open_choices(self) -> int:
        """Return the count of whole columns that better plans may choose."""
        return int(np.count_nonzero(self._worthy.whole & (self._worthy.lower < self._worthy.upper)))

    def _offer_plan(self, x: npt.NDArray[np.float64] | None) -> bool:
        return x is not None and self._offer(self._places.choices, x[self._places.choices])

    def _around(self, coarse: Coarse, choice: Mapping[int, int]) -> None:
        """Solve the small program with pools settled and what the relaxation has at a bound kept there."""
        matrix = coarse.matrix
        lower, upper = matrix.lower.copy(), matrix.upper.copy()
        for r, k in choice.items():
            for i, option in enumerate(self._places.gangs[r]):
                upper[coarse.column[option.on[option.on >= 0]]] = float(i == k)
                if not option.moves:
                    chosen = coarse.column[option.chosen]
                    lower[chosen] = upper[chosen] = float(i == k)
        highs = Highs(replace(matrix, lower=lower, upper=upper), whole=False)
        relaxed = highs.run(seconds_left(self._deadline))
        if relaxed.values is None:
            return
        self._enforced(coarse, relaxed.values, (lower, upper), SUB_NODES)

    def _around_mix(self, coarse: Coarse, mix: npt.NDArray[np.float64] | None) -> None:
        """Solve the small program with what all schedules of a mix, shape (N,), agree on kept there."""
        if mix is None:
            return
        x = np.zeros(coarse.matrix.n_columns)
        x[coarse.choices] = mix[self._places.choices]
        self._enforced(coarse, x, (coarse.matrix.lower, coarse.matrix.upper), MIX_NODES)

    def _enforced(
        self,
        coarse: Coarse,
        x: npt.NDArray[np.float64],
        ends: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
        nodes: int,
    ) -> None:
        """Solve the small program within bounds with what is whole in `x`, of its own columns, kept there."""
        lower, upper = (end.copy() for end in ends)
        whole = coarse.matrix.whole
        upper[whole & (x < AT_BOUND)] = 0.0
        lower[whole & (x > 1.0 - AT_BOUND)] = 1.0
        highs = Highs(
            replace(coarse.matrix, lower=np.minimum(lower, upper), upper=upper),
            whole=True,
            mip_rel_gap=self._gap_target * SUB_GAP,
            mip_max_nodes=nodes,
            objective_target=self._good_enough(),
        )
        answer = highs.run(seconds_left(self._deadline) - KEEP_S)
        if answer.values is not None:
            self._offer(self._places.choices, answer.values[coarse.choices])

    def _neighbourhoods(self, coarse: Coarse, schedules: WholeSchedules | None) -> None:
        moves = Neighbourhoods(coarse, self._places)
        idle = 0
        while idle < WITHOUT_GAIN and not self._done() and self._best is not None:
            now = self._best.values
            with ThreadPoolExecutor(max_workers=1) as other:
                again = None
                if schedules is not None:
                    again = other.submit(schedules.better, now, RECREATED, self._deadline - KEEP_S)
                found = moves.step(
                    now[self._places.choices], self._gap_target * SUB_GAP, self._good_enough(), self._deadline - KEEP_S
                )
                recreated = None if again is None else again.result()
            better = found is not None and self._offer(self._places.choices, found)
            better = self._offer_plan(recreated) or better
            if found is None and not better:
                return
            idle = 0 if better else idle + 1

    def _whole(self, **options: int) -> None:
        """Solve the whole program with what is known, for the time left."""
        self._bound = max(self._bound, self._search(self._worthy.with_rows(self._relaxation.rows), **options))

    def _search(self, matrix: Matrix, **options: int) -> float:
        """Solve the program held to a part of its plans, offer what is found, and return the bound of that part."""
        highs = Highs(
            matrix,
            whole=True,
            mip_rel_gap=self._gap_target * WHOLE_GAP,
            objective_target=self._good_enough(),
            **options,
        )
        if self._best is not None:
            highs.start_from(self._best.values)
        answer = highs.run(seconds_left(self._deadline) - KEEP_S)
        if answer.values is not None:
            columns = np.flatnonzero(self._matrix.whole)
            self._offer(columns, answer.values[columns])
        return answer.bound

    def _offer(self, columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> bool:
        found = polish(self._matrix, self._places, columns, values, self._deadline)
        if found is None or (self._best is not None and found.objective >= self._best.objective - ZERO):
            return False
        self._best = found
        return True

    def _good_enough(self) -> float:
        """Return the objective that has the gap asked for over the best bound."""
        return float(self._bound / (1.0 - np.sign(self._bound) * self._gap_target))

    def _enough(self) -> float:
        """Return the bound with which the best plan has the gap asked for."""
        assert self._best is not None
        return self._best.objective - self._gap_target * abs(self._best.objective)

    def _done(self) -> bool:
        return self._bound >= self._enough() or seconds_left(self._deadline) <= 0


def _box_bound(matrix: Matrix) -> float:
    """Return what the bounds of the columns alone say of the objective."""
    used = matrix.cost != 0.0
    ends = np.minimum(matrix.cost[used] * matrix.lower[used], matrix.cost[used] * matrix.upper[used])
    return float(ends.sum())
