"""On/off cells: the grid on which a run may start and stop, and which of its cells are open to it in a pool."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError
from planner.geography import ready_h
from planner.precedence import first_h

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.run import PoolOption, Run
    from planner.week import Week

ROUNDING = 1e-9  # of a cell or slot: hours such as 0.1 are no binary fractions


@dataclass(frozen=True)
class Cells:
    """The cells of one run, counted from the start of the horizon; the last may be shorter.

    Args:
        edges: First slot of each cell and, last, the count of slots, shape (B + 1,).
        slot_h: Length of a slot, h.
        cell_h: Length of a whole cell, h.
        min_run: Shortest spell in cells.
        min_pause: Shortest pause in cells.
    """

    edges: npt.NDArray[np.int64]
    slot_h: float
    cell_h: float
    min_run: int
    min_pause: int

    @property
    def count(self) -> int:
        """Count of cells, B."""
        return len(self.edges) - 1

    @cached_property
    def of_slot(self) -> npt.NDArray[np.int64]:
        """Cell of each slot, shape (T,)."""
        return np.repeat(np.arange(self.count), np.diff(self.edges))

    def slots(self, cell: int) -> range:
        """Slots of a cell."""
        return range(int(self.edges[cell]), int(self.edges[cell + 1]))


def run_cells(week: Week, run: Run) -> Cells:
    """Return the cells of a run.

    A run whose remaining work fills fewer cells than its shortest spell may stop when that work is done: its shortest
    spell is no longer than its work.

    Raises:
        ConfigError: The run's on/off grid is not a whole number of slots.
    """
    slot_h, n_slots = week.grid.slot_h, week.grid.n_slots
    width = round(run.on_off_grid_h / slot_h)
    if width < 1 or abs(width * slot_h - run.on_off_grid_h) > ROUNDING:
        raise ConfigError(
            f"run {run.name!r}: on_off_grid_h is {run.on_off_grid_h:g} h; it must be a whole number of slots of "
            f"{week.grid.slot_minutes} min",
            fix=f"set on_off_grid_h to a multiple of {slot_h:g} h",
        )
    cell_h = width * slot_h
    min_run = max(1, math.ceil(run.min_run_h / cell_h - ROUNDING))
    work_h = max(full_speed_h(week, run, option) for option in run.options) + run.reload_s / 3600.0
    return Cells(
        edges=np.append(np.arange(0, n_slots, width), n_slots),
        slot_h=slot_h,
        cell_h=cell_h,
        min_run=max(1, min(min_run, math.ceil(work_h / cell_h - ROUNDING))),
        min_pause=max(1, math.ceil(run.min_pause_h / cell_h - ROUNDING)),
    )


def full_speed_h(week: Week, run: Run, option: PoolOption) -> float:
    """Return the hours in which the whole gang does all its work of the horizon at its highest point."""
    top = max(p.relative_throughput for p in option.points)
    return week.work_tokens(run) / (run.size(option) * option.tokens_per_gpu_s * top * 3600.0)


def open_cells(
    week: Week, run: Run, option: PoolOption, cells: Cells, limits: Mapping[str, BlockLimits]
) -> npt.NDArray[np.bool_]:
    """Return which cells a run may be on in a pool: after its earliest start, with GPUs and power for it in every slot.

    A run that waits for others starts no earlier than these can be done at their fastest; one whose data lies at
    another site, when it is there.

    Returns:
        One value per cell, shape (B,).
    """
    pool, gpus = week.pool(option.pool), run.size(option)
    first = math.ceil(max(first_h(week, run), ready_h(option)) / week.grid.slot_h - ROUNDING)
    lowest_w = min(p.it_w_per_gpu for p in option.points)
    fits = week.holds(pool, gpus) & (np.arange(week.grid.n_slots) >= first)
    for name, share in pool.shares:
        block = limits[name]
        fits &= block.idle_kw + block.added_kw(gpus * share, lowest_w, pool.gpu.idle_w_per_gpu) <= block.it_max_kw
    return np.logical_and.reduceat(fits, cells.edges[:-1])
