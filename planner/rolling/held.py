"""The program of a week whose first hours have passed: their columns are held, and changes to what was announced cost.

What a run has done, how long it has been on or off, its pauses, what is in the batteries and the peak so far need no
columns of their own: all of them follow from the held slots by the program's own rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.slots import places as places_of
from planner.stochastic.hold import Held

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import BlockPlaces, OptionPlaces, Places
    from planner.rolling.in_force import InForce
    from planner.schedule import BlockSchedule

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

SHARE_SLACK = 5e-5
"""Share of a passed slot by which the program may count a gang at its lower of two operating points: a published power
limit is rounded up by a thousandth of a watt, which a full block would not carry. It never counts more work than was
done."""
FLOW_SLACK = 1e-6
"""Power units by which a passed flow may differ: published figures are rounded."""


def held(program: Program, places: Places, matrix: Matrix, in_force: InForce) -> Held:
    """Return the program that goes on from a plan in force.

    Args:
        program: The program of the week as it is known now.
        places: Where its columns stand.
        matrix: The program as arrays.
        in_force: The plan in force.
    """
    bounds = _Bounds(matrix)
    cost, offset = matrix.cost.copy(), 0.0
    start = np.zeros(matrix.n_columns)
    announced = {run.run: run for run in in_force.schedule.runs}
    for gang, options in zip(program.gangs, places.gangs, strict=True):
        run = announced[gang.run.name]
        cells = gang.cells
        announced_at = places_of(gang.run, run)
        is_on = np.logical_or.reduceat(run.gpu_power_limit_w > 0.0, cells.edges[:-1])
        ordered = cells.edges[:-1] < in_force.frozen_slot
        for option in options:
            per_cell = option.gpus * np.diff(cells.edges) * cells.slot_h / program.power_kw
            per_cell = per_cell * in_force.change_cost_per_gpu_h
            mine = np.array([place == (option.pool, option.gpus) for place in announced_at], dtype=bool)
            here = np.logical_or.reduceat(mine, cells.edges[:-1])
            there = option.on >= 0
            start[option.on[there & here]] = 1.0
            bounds.fix(option.on[there & ordered], here[there & ordered].astype(np.float64))
            free = there & ~ordered
            cost[option.on[free]] += np.where(here[free], -per_cell[free], per_cell[free])
            offset += float(per_cell[free & here].sum())
            if option.chosen >= 0:
                used = [place is not None and place[0] == option.pool for place in announced_at]
                start[option.chosen] = float(any(used))
                # a run that may migrate may still choose a pool that it was not in so far
                settled = any(used[: in_force.frozen_slot]) if gang.run.migration else (is_on & ordered).any()
                if settled:
                    bounds.fix(np.array([option.chosen]), np.array([start[option.chosen]]))
            if mine.any():
                _hold_points(bounds, option, np.where(mine, run.gpu_power_limit_w, 0.0), in_force.slot)
    for block, decided in zip(places.blocks, in_force.schedule.blocks, strict=True):
        _hold_block(bounds, block, decided, in_force.slot, program.power_kw)
    for offer, share in in_force.schedule.bought_share:
        if offer in places.bought:
            bounds.fix(np.array([places.bought[offer]]), np.array([share]), FLOW_SLACK)
    return Held(replace(matrix, cost=cost, lower=bounds.lower, upper=bounds.upper), offset, start[places.choices])


class _Bounds:
    """Bounds of all columns, narrowed one by one but never beyond what the program allows."""

    def __init__(self, matrix: Matrix) -> None:
        self.lower, self.upper = matrix.lower.copy(), matrix.upper.copy()

    def fix(self, columns: Places1, values: Floats, slack: float = 0.0) -> None:
        self.narrow(columns, values - slack, values + slack)

    def narrow(self, columns: Places1, low: Floats, high: Floats) -> None:
        least, most = self.lower[columns], self.upper[columns]
        self.lower[columns], self.upper[columns] = np.clip(low, least, most), np.clip(high, least, most)


def _hold_points(bounds: _Bounds, option: OptionPlaces, announced_w: Floats, slot: int) -> None:
    """Hold the operating points of passed slots: the mix of two neighbours that a power limit stands for."""
    rows = np.flatnonzero(option.slots < slot)
    count = option.lower.shape[1]
    if not rows.size or not count:
        return
    limit_w = announced_w[option.slots[rows]]
    throughput = np.interp(limit_w, option.limit_w, option.throughput)
    # the pair's upper point may be the one that is used alone: the one below it then takes the slack
    upper = np.clip(np.searchsorted(option.throughput, throughput, side="left"), 1, count)
    reach = option.throughput[upper] - option.throughput[upper - 1]
    lower_share = (option.throughput[upper] - throughput) / reach
    low, high = np.zeros((len(rows), count)), np.zeros((len(rows), count))
    on, at = limit_w > 0.0, np.arange(len(rows))
    low[at, upper - 1] = lower_share
    high[at, upper - 1] = np.minimum(1.0, lower_share + SHARE_SLACK)
    below_top = upper < count
    rest = 1.0 - lower_share
    low[at[below_top], upper[below_top]] = np.maximum(0.0, rest - SHARE_SLACK)[below_top]
    high[at[below_top], upper[below_top]] = rest[below_top]
    low[~on], high[~on] = 0.0, 0.0
    bounds.narrow(option.lower[rows].ravel(), low.ravel(), high.ravel())


def _hold_block(bounds: _Bounds, block: BlockPlaces, decided: BlockSchedule, slot: int, power_kw: float) -> None:
    """Hold what a battery, a tank, a buyer of heat and generators did in passed slots."""
    for columns, kw in _flows(block, decided):
        bounds.fix(columns[:slot], kw[:slot] / power_kw, FLOW_SLACK)
    for (power, on), group in zip(block.own.generators, decided.generators, strict=True):
        bounds.fix(power[:slot], group.power_kw[:slot] / power_kw, FLOW_SLACK)
        bounds.fix(on[:slot], group.units_on[:slot].astype(np.float64))


def _flows(block: BlockPlaces, decided: BlockSchedule) -> Iterator[tuple[Places1, Floats]]:
    pairs = [(block.charge, decided.charge_kw), (block.discharge, decided.discharge_kw)]
    if block.cold is not None:
        cold = block.cold
        pairs += [
            (columns, np.zeros(len(block.it)) if kw is None else kw)
            for columns, kw in (
                (cold.filled, decided.fill_kw_th),
                (cold.drawn, decided.draw_kw_th),
                (cold.sold, decided.heat_sold_kw_th),
            )
        ]
    for columns, kw in pairs:
        if columns is not None:
            yield columns, kw
