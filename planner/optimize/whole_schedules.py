"""Bound and plans of a few large gangs from whole schedules, where the relaxation alone says too little.

Everything is limited by counts, so that neither bound nor plans depend on the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cuts import HullCuts, packings, separate
from planner.optimize.generation import Generation
from planner.optimize.parts import SITE, take_apart
from planner.optimize.pricing import GangPricing
from planner.optimize.schedule_dive import Dive
from planner.optimize.worklevels import Fineness

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.optimize.relaxation import Relaxation
    from planner.optimize.schedule_dive import Settled
    from planner.optimize.solver import Answer

    Floats = npt.NDArray[np.float64]

ITERATIONS = 40  # mixes between two rounds of cuts
MIXES, FEWEST = 6e5, 12  # rows times mixes in all, and mixes at least: a mix of many rows takes seconds
CUT_ROUNDS = 1
CERTIFIED = 4  # mixes
STEPS = (Fineness(48, 2_400), Fineness(32, 1_600))
"""How finely work is counted, at best and at least."""
MOST_EFFORT, PER_SECOND = 4e7, 7e5  # for one set of prices, also per second of the limit, not of what is left of it


class WholeSchedules:
    """Schedules of all runs of one program, and what they bound and come to.

    Args:
        generation: Their generation.
        hulls: Where cuts come from.
        places: Where the program's columns stand.
    """

    def __init__(self, generation: Generation, hulls: Sequence[HullCuts], places: Places) -> None:
        self._generation, self._hulls, self._gangs = generation, hulls, places.gangs
        self._dive = Dive(generation, np.array([gang[0].gpus if gang else 1 for gang in places.gangs], dtype=np.int64))
        self._best: Settled | None = None

    def work(self, deadline: float) -> None:
        """Raise the bound of the program, until it is as high as it will get or `stop_at`.

        Args:
            deadline: Reading of the monotonic clock at which to stop.
        """
        generation = self._generation
        generation.begin(deadline)
        left = max(FEWEST, int(MIXES / len(generation.master.lower)))
        for last in (*[False] * CUT_ROUNDS, True):
            left -= generation.grow(min(ITERATIONS, left), deadline)
            generation.certify(CERTIFIED, deadline)
            if generation.mix is None or generation.bound >= generation.enough or last or left <= 0:
                break
            cuts = separate(self._hulls, generation.mix.values)
            if not cuts:
                break
            generation.add_cuts(cuts)

    def stop_at(self, enough: float) -> None:
        """End the work at a bound, also from another thread."""
        self._generation.enough = enough

    def bound(self, enough: float) -> float:
        """Return the first bound that was enough, else the best: whenever the work ended, it is the same."""
        return next((b for b in self._generation.bounds if b >= enough), self._generation.bound)

    @property
    def mix(self) -> Floats | None:
        """What the last mix of all schedules comes to in every column, shape (N,), or None."""
        return None if self._generation.mix is None else self._generation.mix.values

    def ruled(self, objective: float, deadline: float) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return columns of which every plan that costs less than `objective` has the same value, and that value."""
        return self._generation.ruled(self._gangs, objective, deadline)

    def plan(self, deadline: float) -> Floats | None:
        """Return the columns of a first plan, shape (N,), or None if there was none in time."""
        self._best = self._dive.first(deadline)
        return None if self._best is None else self._best.values

    def better(self, x: Floats, tries: int, deadline: float) -> Floats | None:
        """Return the columns of a better plan than the one known here and that of `x`, shape (N,), or None.

        Args:
            x: Columns of the best plan so far.
            tries: Plans that are ruined and recreated.
            deadline: Reading of the monotonic clock at which to stop.
        """
        known = [plan for plan in (self._dive.known(x, deadline), self._best) if plan is not None]
        if not known:
            return None
        first = best = min(known, key=lambda plan: plan.objective)
        for _ in range(tries):
            best = self._dive.again(best, deadline) or best
        self._best = best
        return None if best is first else best.values


def whole_schedules(
    program: Program,
    matrix: Matrix,
    index: ColumnIndex,
    places: Places,
    relaxation: Relaxation,
    root: Answer,
    limit_s: float,
) -> WholeSchedules | None:
    """Return the schedules of a program, or None where its runs cannot be told apart, or priced in little time.

    Args:
        program: The program.
        matrix: The same as arrays.
        index: Place of every column.
        places: Where the columns stand.
        relaxation: Its relaxation, just solved.
        root: The answer of that.
        limit_s: Time limit of the whole search, s.
    """
    parts = take_apart(program, matrix, index)
    if parts is None or root.values is None:
        return None
    ways = ([GangPricing(gang, index, fine) for gang in program.gangs] for fine in STEPS)
    most = min(MOST_EFFORT, PER_SECOND * limit_s)
    pricing = next((way for way in ways if sum(run.effort for run in way) <= most), None)
    if pricing is None:
        return None
    cuts, dual = relaxation.prices(root.values)
    ground = np.append(dual[: matrix.n_rows][parts.of_row == SITE], dual[matrix.n_rows :])
    generation = Generation(program, matrix, index, places, parts, pricing, cuts, ground)
    # cuts of its own: it works beside others that look for cuts
    return WholeSchedules(generation, [HullCuts(p) for p in packings(program.week, places)], places)
