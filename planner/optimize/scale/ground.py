"""What is taken of pools and blocks while whole gangs are placed, and whether one more fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.limits import POWER_MARGIN
from power.blocks import ramp_excess_kw

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

HAIR = 1e-9


@dataclass(frozen=True)
class Placed:
    """A gang with its slots.

    Args:
        table: Its operating points.
        option: Place of its option in the run's options.
        gpus: Gang size.
        slots: Slots in which it is on, rising, shape (S,).
        speed: Relative throughput in each of them, shape (S,).
        kw: IT power that it adds, per block, kW, shape (blocks, S).
    """

    table: int
    option: int
    gpus: float
    slots: Ints
    speed: Floats
    kw: Floats


class Ground:
    """GPUs and IT power taken so far."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self.free = crowd.in_service.copy()
        self.it_kw = np.array([one.idle_kw for one in crowd.limits])
        self._most_kw = np.array([one.it_max_kw for one in crowd.limits])
        self._ramped = [
            (b, one.block.power)
            for b, one in enumerate(crowd.limits)
            if one.block.power.rise_step_kw is not None or one.block.power.fall_step_kw is not None
        ]

    def _counts(self, placed: Placed) -> list[tuple[int, int]]:
        return self._crowd.tables[placed.table].counts(placed.gpus)

    def fits(self, placed: Placed) -> bool:
        """Return whether a gang fits beside those placed."""
        slots = placed.slots
        if any((self.free[pool, slots] < count).any() for pool, count in self._counts(placed)):
            return False
        after_kw = self.it_kw[:, slots] + placed.kw
        if (after_kw > self._most_kw[:, slots] + HAIR).any():
            return False
        for b, power in self._ramped:
            it_kw = self.it_kw[b].copy()
            it_kw[slots] += placed.kw[b]
            if (ramp_excess_kw(power, np.diff(it_kw), 1.0 - POWER_MARGIN) > HAIR).any():
                return False
        return True

    def over_kw(self, placed: Placed) -> Floats:
        """Return by how much a gang would be above what blocks may take, kW, shape (blocks, S); below 0 under it."""
        slots = placed.slots
        return np.asarray(self.it_kw[:, slots] + placed.kw - self._most_kw[:, slots])

    @property
    def above_kw(self) -> Floats:
        """By how much IT power is above what the blocks may take, kW, shape (blocks, T); below 0 under it."""
        return np.asarray(self.it_kw - self._most_kw)

    def short_of_kw(self, pool: int) -> Flags:
        """Return in which slots a block of a pool is above what it may take, shape (T,)."""
        drawn_from = [self._crowd.week.pools[pool].share_in(block.name) > 0.0 for block in self._crowd.week.blocks]
        return np.asarray((self.above_kw[drawn_from] > HAIR).any(axis=0))

    @property
    def crowded(self) -> bool:
        """Whether more GPUs or power are taken than there are."""
        return bool((self.free < 0.0).any() or (self.above_kw > HAIR).any())

    def steepest(self) -> tuple[int | None, int, bool]:
        """Return the block whose IT power moves farthest beyond its ramp, the slot before, and whether it rises there.

        The block is None where every ramp holds.
        """
        worst: tuple[float, int | None, int, bool] = (HAIR, None, 0, False)
        for b, power in self._ramped:
            change_kw = np.diff(self.it_kw[b])
            excess_kw = ramp_excess_kw(power, change_kw, 1.0 - POWER_MARGIN)
            t = int(np.argmax(excess_kw))
            if excess_kw[t] > worst[0]:
                worst = float(excess_kw[t]), b, t, bool(change_kw[t] > 0.0)
        return worst[1:]

    def gentle(self) -> bool:
        """Return whether every block keeps its ramp."""
        return all(
            not (ramp_excess_kw(power, np.diff(self.it_kw[b]), 1.0 - POWER_MARGIN) > HAIR).any()
            for b, power in self._ramped
        )

    def take(self, placed: Placed, sign: float = 1.0) -> None:
        """Place a gang, or take it away again with sign -1."""
        for pool, count in self._counts(placed):
            self.free[pool, placed.slots] -= sign * count
        self.it_kw[:, placed.slots] += sign * placed.kw

    def open_cells(self, rank: Rank) -> Flags:
        """Return in which of its open cells each row would fit at its lowest power, shape (R, B)."""
        counts = np.rint(self._crowd.drawn[rank.table] * rank.gpus[:, None])
        slots = np.ones((len(rank), self.free.shape[1]), dtype=bool)
        for pool, free in enumerate(self.free):
            rows = np.flatnonzero(counts[:, pool])
            slots[rows] &= free >= counts[rows, pool][:, None]
        room_kw = self._most_kw - self.it_kw
        for b in range(len(room_kw)):
            need_kw = self._crowd.added_kw[rank.table, 0, b] * rank.gpus[:, None]
            slots &= (need_kw <= room_kw[b] + HAIR) | (need_kw <= 0.0)
        return np.asarray(np.logical_and.reduceat(slots, rank.edges[:-1], axis=1) & rank.is_open)

    def levels(self, table: int, gpus: float, slots: Ints) -> Ints:
        """Return the highest operating point for which there is power in each slot, at least 0, shape (S,)."""
        room_kw = self._most_kw[:, slots] - self.it_kw[:, slots] + HAIR
        fitting = (self._crowd.added_kw[table][:, :, slots] * gpus <= room_kw).all(axis=1)
        return np.asarray(np.maximum(fitting.sum(axis=0) - 1, 0))
