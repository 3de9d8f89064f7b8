"""What a run's work costs in a stretch of time at given prices: convex and piecewise linear, on a grid of work.

A stretch is a cell, or a part of one between two marks at which work is due. Where the true ends and kinks do not lie
on the grid, the function told is below the true one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cells import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.cells import Cells
    from planner.optimize.gangs import GangOption
    from planner.optimize.matrix import ColumnIndex

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

PER_SLOT = 20  # grid points per slot at full work, or whole multiples: throughputs are rarely told closer


@dataclass(frozen=True)
class Fineness:
    """How finely work is counted: the finer, the closer is the least cost found, and the longer it takes.

    Args:
        levels: Most levels of work in a cell.
        states: Most steps in all work.
    """

    levels: int
    states: int


@dataclass(frozen=True)
class Stretches:
    """The stretches of one option, and the columns that decide on the work in each.

    Args:
        unit_h: Step of the grid of work, h at the pool's highest rate.
        cell: Cell of each stretch, shape (P,).
        first: First stretch of each cell and, last, their count, shape (B + 1,).
        end: Where each ends, slots after the start, shape (P,).
        lowest: Least work in each, in steps, shape (P,).
        count_of: Count of levels of work from the lowest on in each, shape (P,).
        share_on: Share of the cell's time in each, shape (P,).
        on: On-column of each cell, -1 where it is closed, shape (P,).
        lower: Columns of the shares of all points but the highest, -1 for none, shape (P, S, K - 1).
        part: Part of the slot that lies in the stretch, shape (P, S).
        work_h: Work of a whole slot at each point, h, shape (K,).
    """

    unit_h: float
    cell: Places1
    first: Places1
    end: Floats
    lowest: Places1
    count_of: Places1
    share_on: Floats
    on: Places1
    lower: Places1
    part: Floats
    work_h: Floats

    @property
    def count(self) -> int:
        """Count of stretches, P."""
        return len(self.cell)

    @property
    def levels(self) -> int:
        """Most levels in any stretch, L."""
        return int(self.count_of.max())

    def costs(self, reduced: Floats) -> Floats:
        """Return a cost below that of any work in each stretch, per level, shape (P, L); infinite above the highest.

        Args:
            reduced: Reduced cost of every column of the program, shape (N,).
        """
        base, slope, width = self._segments(reduced)
        levels = np.arange(self.levels)
        least = self.part.sum(axis=1) * self.work_h[0]
        above = (self.lowest[:, None] + levels) * self.unit_h - least[:, None]
        cost = np.repeat(base[:, None], len(levels), axis=1)
        if slope.shape[1]:
            kink = np.cumsum(width, axis=1)
            # beyond its ends the function goes on as it ends, as far as the next grid point
            low, high = np.zeros_like(width), width.copy()
            low[:, 0], high[:, -1] = -np.inf, np.inf
            done = np.clip(above[:, :, None] - (kink - width)[:, None, :], low[:, None, :], high[:, None, :])
            cost += np.einsum("plm,pm->pl", done, slope)
            if len(levels) > 1:
                cost -= self._chord_above(cost, above, kink, base[:, None] + np.cumsum(slope * width, axis=1))
        return np.where(levels < self.count_of[:, None], cost, np.inf)

    def _chord_above(self, cost: Floats, above: Floats, kink: Floats, at_kink: Floats) -> Floats:
        """Return by how much chords between levels lie above the function at most, shape (P, 1)."""
        at = (kink - above[:, :1]) / self.unit_h
        left = np.clip(np.floor(at), 0, cost.shape[1] - 2).astype(np.int64)
        share = at - left
        chord = np.take_along_axis(cost, left, 1) * (1.0 - share) + np.take_along_axis(cost, left + 1, 1) * share
        above_most: Floats = np.maximum((chord - at_kink).max(axis=1, initial=0.0), 0.0)
        return above_most[:, None]

    def _segments(self, reduced: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the cost of the least work, and slope and width of the segments above it, by rising slope."""
        n_points = len(self.work_h)
        cost = np.zeros((*self.part.shape, n_points))
        if n_points > 1:
            cost[:, :, :-1] = np.where(self.lower >= 0, reduced[self.lower], 0.0)
        cost = _hull(cost, self.work_h) * self.part[:, :, None]
        on = np.where(self.on >= 0, reduced[self.on], 0.0) * self.share_on
        base = cost[:, :, 0].sum(axis=1) + on
        width = (np.diff(self.work_h) * self.part[:, :, None]).reshape(self.count, -1)
        rise = np.diff(cost, axis=2).reshape(self.count, -1)
        # parts of no length come last and add nothing
        slope = np.divide(rise, width, out=np.full_like(rise, np.inf), where=width > 0.0)
        order = np.argsort(slope, axis=1, kind="stable")
        slope, width = np.take_along_axis(slope, order, 1), np.take_along_axis(width, order, 1)
        last = np.where(width > 0.0, slope, -np.inf).max(axis=1, initial=-np.inf)
        slope = np.where(width > 0.0, slope, np.where(np.isfinite(last), last, 0.0)[:, None])
        return base, slope, width


def _hull(cost: Floats, work_h: Floats) -> Floats:
    """Return costs lowered to the convex hull over the work of the points: a slot may mix them."""
    hull = cost.copy()
    n_points = len(work_h)
    for low, high in itertools.combinations(range(n_points), 2):
        for k in range(low + 1, high):
            share = (work_h[k] - work_h[low]) / (work_h[high] - work_h[low])
            hull[..., k] = np.minimum(hull[..., k], (1.0 - share) * cost[..., low] + share * cost[..., high])
    return hull


def stretches(
    cells: Cells,
    option: GangOption,
    marks: Sequence[float],
    index: ColumnIndex,
    work_h: float,
    lost_h: Sequence[float],
    fine: Fineness,
) -> Stretches:
    """Return the stretches of an option.

    Args:
        cells: The run's cells.
        option: The option.
        marks: Where work is due, slots after the start.
        index: Place of every column.
        work_h: Work in the horizon, h at the pool's highest rate.
        lost_h: Work lost at a start and at a stop, likewise.
        fine: How finely work is counted.
    """
    ends, cell = [], []
    for c in range(cells.count):
        low, high = float(cells.edges[c]), float(cells.edges[c + 1])
        inside = [mark for mark in marks if low + ROUNDING < mark < high - ROUNDING]
        ends += [*inside, high]
        cell += [c] * (len(inside) + 1)
    end, of_cell = np.array(ends), np.array(cell, dtype=np.int64)
    begin = np.concatenate([[0.0], end[:-1]])
    throughput = np.array([p.relative_throughput for p in option.points])
    slot_work_h = throughput * cells.slot_h
    widest = max(math.ceil(e) - math.floor(b) for b, e in zip(begin, end, strict=True))
    lower = np.full((len(end), widest, len(throughput) - 1), -1, dtype=np.int64)
    part = np.zeros((len(end), widest))
    for p, (b, e) in enumerate(zip(begin, end, strict=True)):
        if int(of_cell[p]) not in option.on:
            continue
        for i, t in enumerate(range(math.floor(b + ROUNDING), math.ceil(e - ROUNDING))):
            part[p, i] = min(t + 1.0, e) - max(float(t), b)
            lower[p, i] = [index(option.lower[t, k]) for k in range(len(throughput) - 1)]
    unit_h = _unit_h(cells, throughput, work_h, lost_h, fine)
    time = part.sum(axis=1)
    lowest = np.floor(time * slot_work_h[0] / unit_h + ROUNDING).astype(np.int64)
    highest = np.ceil(time * slot_work_h[-1] / unit_h - ROUNDING).astype(np.int64)
    length = np.diff(cells.edges)[of_cell]
    return Stretches(
        unit_h=unit_h,
        cell=of_cell,
        first=np.searchsorted(of_cell, np.arange(cells.count + 1)),
        end=end,
        lowest=lowest,
        count_of=highest - lowest + 1,
        share_on=time / length,
        on=np.array([index(option.on[c]) if c in option.on else -1 for c in cell], dtype=np.int64),
        lower=lower,
        part=part,
        work_h=slot_work_h,
    )


def _unit_h(cells: Cells, throughput: Floats, work_h: float, lost_h: Sequence[float], fine: Fineness) -> float:
    """Return a step of which there are neither too many in a cell nor in all work.

    Of the finer half of the steps that measured throughputs are whole multiples of, it is the one with which rounding
    spares the least of what a start and a stop lose.
    """
    step = cells.slot_h / PER_SLOT
    span = float(throughput[-1] - throughput[0]) * cells.cell_h
    most = min(fine.levels * step / max(span, step), fine.states * step / max(work_h, step))
    if most < 1.0:
        return step * math.ceil(1.0 / most)
    finest = math.floor(most)
    units = [step / k for k in range(finest // 2 + 1, finest + 1)]
    return min(units, key=lambda unit: sum(hours - math.floor(hours / unit + ROUNDING) * unit for hours in lost_h))
