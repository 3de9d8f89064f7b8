"""The aggregate program: the site, and classes of like runs that flow in shares. Its duals are prices to plan by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import LATENESS
from planner.optimize.limits import energy_worth
from planner.optimize.scale.classes import classes
from planner.optimize.scale.goals import capped
from planner.optimize.scale.rows import Rows
from planner.optimize.scale.site import add_site, power_unit_kw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.objective import Goal
    from planner.optimize.scale.classes import Fineness, LikeRuns
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.rows import Model, Solved
    from planner.optimize.scale.site import BlockPart, SitePart

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

HAIR = 1e-9
ABOVE_SHARE = 1e-4  # of an amount that a goal leaves free: less above it is none


@dataclass(frozen=True)
class Prices:
    """Prices of what gangs share, with what the aggregate program does at them.

    Args:
        it: Money per kW of IT power in a slot, per block, shape (blocks, T).
        gpu: Money per GPU in a slot, per pool, shape (P, T).
        it_kw: IT power that the aggregate program takes, kW, shape (blocks, T).
        gpus: GPUs that its classes take, shape (P, T).
        objective: Its objective, money.
        done: Work that each class has done by the marks asked for, GPU-h, shape (classes, marks).
        stored_kwh: What each block's battery holds at the end of each slot, kWh, shape (blocks, T); 0 without one.
        peak_kw: Highest billed peak of each register of demand, kW, shape (registers,).
        late: Price of each goal of lateness that counts what is above an amount, money per GPU-h, shape (goals,).
        caps: Price of each other goal that counts what is above an amount, money per unit of it, shape (goals,).
    """

    it: Floats
    gpu: Floats
    it_kw: Floats
    gpus: Floats
    objective: float
    done: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    stored_kwh: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    peak_kw: Floats = field(default_factory=lambda: np.zeros(0))
    late: Floats = field(default_factory=lambda: np.zeros(0))
    caps: Floats = field(default_factory=lambda: np.zeros(0))


class Fluid:
    """The aggregate program of a week, kept in HiGHS: limits of pools and blocks change, and it starts from its basis.

    Args:
        crowd: All gangs.
        fine: How alike runs of a class are.
        marks: Slots by which the work that classes have done is asked for, rising.
    """

    def __init__(self, crowd: Crowd, fine: Fineness, marks: Sequence[int] = ()) -> None:
        week = crowd.week
        self._marks = tuple(float(mark) for mark in marks)
        self._done: list[Ints] = []
        self._crowd = crowd
        self._unit_kw = power_unit_kw(week)
        self._gpu_unit = max(1.0, float(crowd.in_service.sum(axis=0).max()) / 10.0)
        width = max(1, round(fine.step_h / week.grid.slot_h))
        self._edges = np.append(np.arange(0, week.grid.n_slots, width), week.grid.n_slots)
        rows = Rows()
        self._site: SitePart = add_site(rows, week, crowd.limits, self._unit_kw, free_it=True)
        self._gpu_rows = rows.rows(crowd.in_service.shape[0] * (len(self._edges) - 1), -np.inf, self._room(crowd))
        self._late = [self._add_late(rows, goal) for goal in capped(week, (LATENESS,))]
        self.classes = classes(crowd, fine)
        for one in self.classes:
            self._add_class(rows, one)
        self._model: Model = rows.model()
        self._free: dict[int, float] = {}
        self.size = (self._model.n_columns, self._model.n_rows)

    def _room(self, crowd: Crowd) -> Floats:
        """GPUs in service per pool and step, the fewest of its slots, in units of GPUs."""
        return np.asarray(np.minimum.reduceat(crowd.in_service, self._edges[:-1], axis=1).ravel() / self._gpu_unit)

    def _add_late(self, rows: Rows, goal: Goal) -> Ints:
        """Add a goal of lateness that counts what lies above an amount: its row, which classes fill."""
        over = rows.columns(1, 0.0, np.inf, goal.money_per_unit * self._gpu_unit / self._unit_kw)
        row = rows.rows(1, -np.inf, (goal.most or 0.0) / self._gpu_unit)
        rows.put(row, over, -1.0)
        return row

    def _add_class(self, rows: Rows, one: LikeRuns) -> None:
        week, edges, h = self._crowd.week, self._edges, self._crowd.week.grid.slot_h
        steps, length = len(edges) - 1, np.diff(edges)
        share = rows.rows(steps, -np.inf, np.minimum.reduceat(one.room, edges[:-1]) / self._gpu_unit)
        asked = [(i, j) for i in np.flatnonzero(one.work > 0) for j in np.flatnonzero(np.isfinite(one.marks[i]))]
        marks = sorted({float(one.marks[i, j]) for i, j in asked} | {float(week.grid.n_slots), *self._marks})
        done = rows.columns(len(marks), -np.inf, np.inf)
        self._done.append(done[[marks.index(mark) for mark in self._marks]])
        made = rows.rows(len(marks), 0.0, 0.0)
        rows.put(made, done, -1.0)
        rows.put(made[1:], done[:-1], 1.0)
        for i, j in asked:
            short = rows.columns(1, 0.0, np.inf, one.price * self._gpu_unit / self._unit_kw)
            due = rows.rows(1, one.work[i] / self._gpu_unit, np.inf)
            rows.put(due, short, 1.0)
            for row in self._late:
                rows.put(row, short, one.weight)
            rows.put(due, done[[marks.index(float(one.marks[i, j]))]], 1.0)
        rows.put(rows.rows(1, -np.inf, one.most / self._gpu_unit), done[-1:], 1.0)
        for option in one.options:
            table = self._crowd.tables[option.table]
            usable = np.logical_and.reduceat(option.is_open, edges[:-1])
            which = np.flatnonzero(usable)
            slots = np.flatnonzero(np.repeat(usable, length))
            step_of = np.searchsorted(edges, slots, side="right") - 1
            for k, throughput in enumerate(table.throughput):
                x = rows.columns(len(which), 0.0, np.inf)
                column = np.full(steps, -1, dtype=np.int64)
                column[which] = x
                rows.put(share[which], x, 1.0)
                for pool, drawn in table.draws:
                    rows.put(self._gpu_rows[pool * steps + which], x, drawn)
                for b, part in enumerate(self._site.blocks):
                    added = self._crowd.added_kw[option.table, k, b, slots] * (self._gpu_unit / self._unit_kw)
                    rows.put(part.it_rows[slots], column[step_of], -added)
                before = 0.0
                for m, mark in enumerate(marks):
                    inside = np.minimum(edges[which + 1], mark) - np.maximum(edges[which], before)
                    rows.put(made[m], x, np.maximum(inside, 0.0) * option.rate * float(throughput) * h)
                    before = mark

    def aim_below(self, measures: Mapping[str, float]) -> bool:
        """Lower the amounts that goals of the site leave free by what whole gangs are above them; say whether any is.

        Args:
            measures: Measure -> what whole gangs come to in it.
        """
        above = False
        for i, cap in enumerate(self._site.caps):
            most, value = cap.goal.most or 0.0, measures[cap.goal.measure]
            if value > most + ABOVE_SHARE * abs(most):
                self._free[i] = self._free.get(i, most) - (value - most)
                side = np.array([self._free[i] / (cap.scale * self._unit_kw)])
                self._model.side_rows(cap.row, np.array([-np.inf]), side)
                above = True
        return above

    def solve(self, seconds: float, *, interior: bool = False) -> Prices | None:
        """Return the prices of the aggregate program, or None if it was not solved in time."""
        found = self._model.run(seconds, interior=interior)
        if found is None:
            return None
        h = np.diff(self._edges)
        pools = self._crowd.in_service.shape[0]
        # money and power are counted in the same unit; a step's price is spread over its slots
        it = np.array([found.row_dual[part.it_rows] for part in self._site.blocks])
        # where nothing runs any lower price is as right to the program: below zero it would pay gangs for nothing
        it = np.where(energy_worth(self._crowd.week) >= 0.0, np.maximum(it, 0.0), it)
        gpu = -found.row_dual[self._gpu_rows].reshape(pools, len(h)) / h * (self._unit_kw / self._gpu_unit)
        it_kw = np.array([found.values[part.it] * self._unit_kw for part in self._site.blocks])
        per_gpu_h = self._unit_kw / self._gpu_unit
        owed_kw = np.array([register.owed_kw for register in self._crowd.week.demand_registers])
        taken = found.activity[self._gpu_rows].reshape(pools, len(h)) * self._gpu_unit
        return Prices(
            it,
            np.repeat(np.maximum(gpu, 0.0), h, axis=1),
            it_kw,
            np.repeat(np.maximum(taken, 0.0), h, axis=1),
            found.objective * self._unit_kw,
            np.array([found.values[columns] for columns in self._done]) * self._gpu_unit,
            np.array([self._stored_kwh(part, found) for part in self._site.blocks]),
            owed_kw + found.values[self._site.rise] * self._unit_kw,
            np.array([-min(0.0, float(found.row_dual[row[0]])) for row in self._late]) * per_gpu_h,
            np.array([-min(0.0, float(found.row_dual[cap.row[0]])) / cap.scale for cap in self._site.caps]),
        )

    def _stored_kwh(self, part: BlockPart, found: Solved) -> Floats:
        """Return what a block's battery holds at the end of each slot, kWh, shape (T,); 0 without one."""
        if part.battery is None:
            return np.zeros(self._crowd.week.grid.n_slots)
        return np.asarray(found.values[part.battery.stored] * self._unit_kw)
