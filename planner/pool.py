"""A pool of like GPUs, on one island or spanning several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner.islands import allotted
from power.later import LATER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import numpy.typing as npt

    from planner.timegrid import TimeGrid
    from power.gpu import GpuType


@dataclass(frozen=True)
class Pool:
    """GPUs of one type in one block on one fabric island: where a whole gang can run.

    A pool that spans others has no GPUs of its own: its gangs sit on several islands, in fixed shares, and are slower.

    Args:
        name: Such as "a1".
        block: Name of its block; the first one where the pool spans several.
        gpu: Type with idle power.
        island: Fabric island; a gang never spans two.
        commissioning: (first instant, UTC, count in service from then on), by rising time.
        block_share: (block, share of the pool's GPUs in it) where the pool spans several blocks, such as two halls or
            two sites on one fabric; a gang is spread over them by these shares. Empty: all of it is in `block`.
        spans: (pool, share of a gang's GPUs in it) where it spans other pools; empty where it has GPUs of its own.
        spanning_share: Measured throughput of a gang that spans them over that of the same gang on one island.
    """

    name: str
    block: str
    gpu: GpuType
    island: str
    commissioning: tuple[tuple[datetime, int], ...]
    block_share: tuple[tuple[str, float], ...] = ()
    spans: tuple[tuple[str, float], ...] = field(default=(), metadata=LATER)
    spanning_share: float = field(default=1.0, metadata=LATER)

    @property
    def shares(self) -> tuple[tuple[str, float], ...]:
        """Every block that the pool draws from, with the share of its GPUs there."""
        return self.block_share or ((self.block, 1.0),)

    def share_in(self, block: str) -> float:
        """Return the share of the pool's GPUs in a block; 0 where it has none."""
        return dict(self.shares).get(block, 0.0)

    @property
    def place(self) -> str:
        """Its blocks for people and for the calendar, such as "hall-a" or "hall-a+hall-b"."""
        return "+".join(name for name, _ in self.shares)

    def draws(self, gpus: int) -> dict[str, int]:
        """Return how many GPUs a gang takes from which pool: whole ones, by the shares as far as these go."""
        return allotted(self.name, self.spans, gpus)

    def gpus_in_service(self, grid: TimeGrid) -> npt.NDArray[np.int64]:
        """Return the count of GPUs in service throughout each slot, shape (T,)."""
        count = np.zeros(grid.n_slots, dtype=np.int64)
        for since, gpus in self.commissioning:
            position = grid.position(since)
            leaves = gpus < count[-1]
            count[max(0, int(np.floor(position) if leaves else np.ceil(position))) :] = gpus
        return count


def idle_it_kw(pools: Iterable[Pool], block: str, grid: TimeGrid) -> npt.NDArray[np.float64]:
    """Return the IT power of a block with all its GPUs in service and none at work, kW per slot, shape (T,).

    Args:
        pools: Pools of all blocks.
        block: Name of the block.
        grid: The slots.
    """
    idle_kw = np.zeros(grid.n_slots)
    for pool in pools:
        idle_kw += pool.share_in(block) * pool.gpus_in_service(grid) * pool.gpu.idle_w_per_gpu / 1000.0
    return idle_kw
