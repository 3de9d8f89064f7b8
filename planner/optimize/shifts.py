"""Spells moved, stretched and cut by whole cells, one at a time, as long as that makes the plan better.

In a small program a linear program per move, solved from the last basis, costs milliseconds; most moves are ruled out
before (`planner.optimize.move_bounds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.move_bounds import MoveBounds
from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.places import OptionPlaces, Places

WHOLE = (1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32)
MOVES = (*((cells, cells) for cells in WHOLE), (1, 0), (-1, 0), (0, 1), (0, -1))
"""Cells by which a spell's start and end move."""
MOST_TRIES = 400
WORTH = 1e-9  # share of the objective


class Shifts:
    """Tries moves of a plan's spells on one program.

    Args:
        matrix: The program.
        places: Where its columns stand.
    """

    def __init__(self, matrix: Matrix, places: Places) -> None:
        self._matrix, self._places = matrix, places
        self._highs = Highs(matrix, whole=False)
        self._bounds = MoveBounds(matrix, places.choices)

    def better(
        self, x: npt.NDArray[np.float64], objective: float, deadline: float, most_tries: int = MOST_TRIES
    ) -> npt.NDArray[np.float64]:
        """Return the choices reached when no move helps any more, or the tries or the time are used up.

        Args:
            x: Column values of a plan, shape (N,).
            objective: Its objective.
            deadline: Reading of the monotonic clock at which to stop.
            most_tries: Moves that are tried at most.

        Returns:
            Values of `Places.choices`, shape (C,).
        """
        best, now = objective, np.round(x)
        options = [o for gang in self._places.gangs for o in gang if (now[o.on[o.on >= 0]] > 0).any()]
        tries, since = 0, 0
        while since < len(options) and tries < most_tries:
            option = options[0]
            options = [*options[1:], option]
            since += 1
            for moved in _moved(option, now):
                if tries == most_tries or seconds_left(deadline) <= 0:
                    break
                tries += 1
                if self.least(moved[self._places.choices]) >= best:
                    continue
                value = self._value(moved, deadline)
                if value < best - WORTH * abs(best):
                    best, now, since = value, moved, 0
                    break
        return now[self._places.choices]

    def least(self, choices: npt.NDArray[np.float64]) -> float:
        """Return what values of `Places.choices` cost at the least, by what was solved for; infinity for no plan."""
        return self._bounds.least(choices)

    def _value(self, x: npt.NDArray[np.float64], deadline: float) -> float:
        choices = self._places.choices
        self._highs.bound_columns(choices, x[choices], x[choices])
        answer = self._highs.run(seconds_left(deadline), aside=False)
        if answer.status != "optimal" or answer.objective is None:
            return np.inf
        self._bounds.learn(answer.objective, x[choices], self._highs.column_duals()[choices])
        return answer.objective


def _moved(option: OptionPlaces, x: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the plan with one spell of one run moved, for every spell and every move that its open cells allow."""
    on = np.where(option.on >= 0, x[option.on], 0.0) > 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        rest = on.copy()
        rest[first:after] = False
        for start, end in MOVES:
            cells = np.arange(first + start, after + end)
            if not cells.size or cells[0] < 0 or cells[-1] >= len(on):
                continue
            if rest[cells].any() or (option.on[cells] < 0).any():
                continue
            moved = x.copy()
            moved[option.on[option.on >= 0]] = rest[option.on >= 0]
            moved[option.on[cells]] = 1.0
            yield moved
