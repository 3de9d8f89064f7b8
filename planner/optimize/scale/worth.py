"""What an hour of work is worth to each gang at each time, for given multipliers of what it is due.

The multiplier of a stage is one number: from 0 to 1 the share of the price of lateness that work before the deadline
is worth; above 1 the deadline is missed, and the part above 1 is the share of the price of the next day, and so on.
Below 0 it is a price on work beyond what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Due:
    """What is due of R rows, as in `crowd.Dues`: work (R, D), marks (R, D, J), price (R,) and most work (R,)."""

    work_h: Floats
    marks: Floats
    price: Floats
    most_h: Floats

    def only(self, rows: Ints) -> Due:
        """Return some of the rows."""
        return Due(self.work_h[rows], self.marks[rows], self.price[rows], self.most_h[rows])

    @property
    def days(self) -> Ints:
        """Count of marks per stage, shape (R, D)."""
        return np.asarray(np.isfinite(self.marks).sum(axis=2))


@dataclass(frozen=True)
class Worth:
    """Worth of work at given multipliers, money per GPU and h of work.

    Args:
        levels: Multiplier of each mark, money, shape (R, D, J).
        excess: Price on work beyond what there is, shape (R,).
    """

    due: Due
    levels: Floats
    excess: Floats

    def promised(self) -> Floats:
        """Return what the multipliers ask for at least, money per GPU, shape (R,)."""
        return np.asarray((self.levels.sum(axis=2) * self.due.work_h).sum(axis=1) - self.excess * self.due.most_h)

    def at(self, positions: Floats) -> Floats:
        """Return the worth of work at or lost from each position on, shape (B, R); positions broadcast to it."""
        found = np.repeat(-self.excess[None], len(positions), axis=0)
        where = np.broadcast_to(positions, found.shape)
        for row, level, mark in self._active:
            if row.size == len(self.excess):
                found += level * (mark > where)
            else:
                found[:, row] += level * (mark > where[:, row])
        return found

    @cached_property
    def _active(self) -> list[tuple[Ints, Floats, Floats]]:
        found = []
        for i in range(self.levels.shape[1]):
            for j in range(self.levels.shape[2]):
                row = np.flatnonzero(self.levels[:, i, j] > 0.0)
                if row.size:
                    found.append((row, self.levels[row, i, j], self.due.marks[row, i, j]))
        return found


def worth_at(due: Due, multiplier: Floats) -> Worth:
    """Return the worth of work for a multiplier per row and stage, shape (R, D)."""
    j = np.arange(due.marks.shape[2])
    share = np.clip(multiplier[:, :, None] - j, 0.0, 1.0) * np.isfinite(due.marks)
    excess = np.maximum(-multiplier, 0.0).sum(axis=1) * due.price
    return Worth(due, share * due.price[:, None, None], excess)
