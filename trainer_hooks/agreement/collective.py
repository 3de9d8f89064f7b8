"""Agreement by the training's own collective, every K steps: for jobs without node agent or hub."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer_hooks.agreement.wish import Stance, Wish
from trainer_hooks.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    AllReduce = Callable[[int], int]


class Collective:
    """Takes the highest wish of all ranks after every K-th step; each rank's calendar may ask for a pause.

    All ranks ask the same number of times by construction: at every K-th step, after each checkpoint, and once a second
    while they hold. A rank that dies is noticed by the collective's own timeout.

    Args:
        all_reduce: Returns the greatest of the numbers that the ranks give, to each of them.
        every: K, steps between two collectives, at least 1.

    Raises:
        SettingError: K is below 1.
    """

    leads = True
    may_pause = True
    pause_s = 1.0
    retry_s = math.inf

    def __init__(self, all_reduce: AllReduce, every: int) -> None:
        if every < 1:
            raise SettingError("every", f"{every} steps between two collectives are not possible.", "Use 1 or more.")
        self._all_reduce = all_reduce
        self._every = every
        self._met = -1
        self._failed = False
        self._paused = False

    def due(self, step: int) -> bool:
        """Whether this is a K-th step."""
        return step % self._every == 0

    def stance(self, step: int, wish: Wish) -> Stance:
        """Do what the highest wish asks, where all ranks ask."""
        if self._failed:
            self._failed = self._paused = False
            return "failed"
        if step % self._every or (self._met == step and not self._paused):
            return "go"
        self._met = step
        joint = Wish(self._all_reduce(int(wish)))
        self._paused = joint is not Wish.GO
        if joint.saves:
            return "save"
        return "exit" if joint.exits else "hold" if joint.holds else "go"

    def saved(self, ok: bool) -> None:
        """Ask the others whether theirs is written too."""
        self._failed = bool(self._all_reduce(int(not ok)))

    def due_in_s(self) -> float:
        """Steps ask for attention, not time."""
        return math.inf

    def close(self) -> None:
        """The collective belongs to the training."""
