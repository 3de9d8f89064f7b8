"""Which pool each run uses: a dive that settles all choices, and a tree that certifies them.

The choice of pools is where the relaxation is weakest: half a gang in each of two pools fits anywhere. A tree over
these few choices, with hull cuts in every node, raises the bound where branching on the many on/off columns would not.
A run that may move uses several of its options in turn: the dive settles it in one, from which a search then moves it,
and the tree leaves it open.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from planner.optimize.places import OptionPlaces, Places
    from planner.optimize.relaxation import Relaxation
    from planner.optimize.solver import Answer

LARGE = 0.4  # of the largest gang with a choice: from there on a dive tries every pool
SETTLED = 0.9  # share of a run's on-time in one pool from which a dive takes that pool
WHOLE = 1e-6
ROUNDS = 1  # of cuts in a node
NODES = 48

Choice = dict[int, int]  # run -> place of its option


@dataclass(frozen=True)
class Dive:
    """Pools chosen for all runs (run -> option), and the relaxation's values with them."""

    choice: Mapping[int, int]
    values: npt.NDArray[np.float64]


class PoolTree:
    """The choices of pools over one relaxation."""

    def __init__(self, relaxation: Relaxation, places: Places) -> None:
        self._relaxation = relaxation
        self._all = {r: gang for r, gang in enumerate(places.gangs) if len(gang) > 1}
        self._runs = {r: gang for r, gang in self._all.items() if not gang[0].moves}
        self.enough = np.inf
        """Bound at which the tree may stop; may be set while it grows."""
        settling = [_settling(option) for gang in self._all.values() for option in gang]
        self._counts = [len(columns) for columns in settling]
        self._columns = np.concatenate([np.empty(0, dtype=np.int64), *settling])

    @property
    def open(self) -> bool:
        """Whether any run has a choice."""
        return bool(self._all)

    @property
    def moving(self) -> bool:
        """Whether any run may move from one of its options to another."""
        return len(self._runs) < len(self._all)

    def dive(self, deadline: float) -> Dive | None:
        """Return pools for all runs, or None if time ran out.

        Large gangs are settled one by one, largest first, each in the pool with the lowest bound; the small ones then
        follow the relaxation, first those that are nearly settled in it.
        """
        choice: Choice = {}
        answer = self._solve(choice, deadline)
        largest = max(gang[0].gpus for gang in self._all.values())
        for run in sorted(self._all, key=lambda r: (-self._all[r][0].gpus, r)):
            if self._all[run][0].gpus < LARGE * largest:
                break
            tries = [(self._solve(choice | {run: k}, deadline), k) for k in range(len(self._all[run]))]
            solved = [(a.objective, k, a) for a, k in tries if a.objective is not None and a.status == "optimal"]
            if not solved:
                return None
            _, option, answer = min(solved, key=lambda one: one[:2])
            choice[run] = option
        for least in (SETTLED, 0.0):
            if answer.values is None:
                return None
            shares = {r: _shares(g, answer.values) for r, g in self._all.items() if r not in choice}
            choice |= {r: int(s.argmax()) for r, s in shares.items() if s.max() >= least}
            answer = self._solve(choice, deadline)
        return None if answer.values is None else Dive(choice, answer.values)

    def certify(self, root: float, deadline: float) -> float:
        """Return a bound of the program from a best-first tree over the choices.

        The bound is the first to reach `enough`, whenever that was set, so that it does not depend on the machine.

        Args:
            root: Bound without any choice.
            deadline: Reading of the monotonic clock at which to stop.
        """
        bounds = [root]
        for bound in self._bounds(root, deadline):
            bounds.append(bound)
            if bound >= self.enough:
                break
        return next((b for b in bounds if b >= self.enough), bounds[-1])

    def _bounds(self, root: float, deadline: float) -> Iterator[float]:
        """Yield the bound after every node of the tree."""
        first = self._solve({}, deadline)
        if first.values is None:
            return
        order = itertools.count()
        heap = [(root, next(order), Choice(), first.values)]
        for _ in range(NODES):
            bound, _, choice, values = heap[0]
            shares = {r: _shares(g, values) for r, g in self._runs.items() if r not in choice}
            shares = {r: s for r, s in shares.items() if s.max() < 1.0 - WHOLE}
            if not shares:
                return
            run = max(shares, key=lambda r: self._doubt(r, shares[r]))
            children = []
            for option in range(len(self._runs[run])):
                answer = self._solve(choice | {run: option}, deadline)
                if answer.status not in {"optimal", "infeasible"} or bound >= self.enough:
                    return
                if answer.values is not None and answer.objective is not None:
                    below = max(bound, answer.objective)
                    children.append((below, next(order), choice | {run: option}, answer.values))
            heapq.heappop(heap)
            for child in children:
                heapq.heappush(heap, child)
            yield heap[0][0]

    def _doubt(self, run: int, shares: npt.NDArray[np.float64]) -> float:
        return float((1.0 - shares.max()) * self._runs[run][0].gpus)

    def _solve(self, choice: Choice, deadline: float) -> Answer:
        lower, upper = [], []
        for r, gang in self._all.items():
            for k, option in enumerate(gang):
                lower.append(1.0 if choice.get(r) == k and not option.moves else 0.0)
                upper.append(0.0 if r in choice and choice[r] != k else 1.0)
        ends = (np.repeat(end, self._counts) for end in (lower, upper))
        self._relaxation.bound_columns(self._columns, *ends)
        return self._relaxation.solve(deadline, ROUNDS)


def _settling(option: OptionPlaces) -> npt.NDArray[np.int64]:
    """Return the columns that settle whether a run uses an option: its choice; all on-columns of one that may move."""
    return option.on[option.on >= 0] if option.moves else np.array([option.chosen], dtype=np.int64)


def _shares(gang: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the share of a run's on-time in each of its pools; a run that is never on is settled in its first."""
    hours = np.array([x[o.on[o.on >= 0]].sum() for o in gang])
    return np.asarray(hours / hours.sum() if hours.sum() > WHOLE else np.eye(len(gang))[0])
