"""Runs that wait for a stage of another, among placed gangs: from which slot on each may run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cells import ROUNDING
from planner.optimize.scale.lateness import tokens_by_slot
from planner.precedence import needed_tokens, waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.ground import Placed

DONE_SHARE = 2e-6  # of the tokens up to a stage: less is rounding; the judge forgives more
NEVER = math.inf


class Order:
    """What runs wait for.

    Attributes:
        level: How many others, one after the other, each run waits for at most, shape (N,).
        waiting: Runs that wait, those that others wait for first.
    """

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        place = {run.name: i for i, run in enumerate(crowd.week.runs)}
        self._before: dict[int, list[tuple[int, float, float]]] = {}
        self._behind: dict[int, list[int]] = {}
        for i, run in enumerate(crowd.week.runs):
            for after in waits(crowd.week, run):
                first = place[after.run]
                told = (first, needed_tokens(crowd.week, after), after.lag_h / crowd.week.grid.slot_h)
                self._before.setdefault(i, []).append(told)
                self._behind.setdefault(first, []).append(i)
        self.level = np.zeros(len(place), dtype=np.int64)
        moved = bool(self._before)
        while moved:
            moved = False
            for i, others in self._before.items():
                level = 1 + max(int(self.level[first]) for first, _, _ in others)
                moved |= level > self.level[i]
                self.level[i] = level
        self.waiting = sorted(self._before, key=lambda i: (int(self.level[i]), i))

    def first_slot(self, run: int, places: Sequence[Placed | None]) -> float:
        """Return the slot from which a run may be on while all others stand where they do; inf for none, 0 for all."""
        found = 0.0
        for first, tokens, lag in self._before.get(run, ()):
            made = tokens_by_slot(self._crowd, first, places[first])
            done = np.flatnonzero(made >= tokens * (1.0 - DONE_SHARE))
            found = max(found, math.ceil(int(done[0]) + lag - ROUNDING) if done.size else NEVER)
        return found

    def holds(self, run: int, places: Sequence[Placed | None]) -> bool:
        """Return whether a run and all that wait for it start no earlier than they may."""
        return all(
            (placed := places[one]) is None or placed.slots[0] >= self.first_slot(one, places)
            for one in (run, *self._behind.get(run, ()))
        )
