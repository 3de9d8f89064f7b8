"""First plans in milliseconds: gangs one after the other, each where there is still room for it, at several paces.

Together they amount to what one would do without a plan, on the runs' on/off grids, and to what cheap hours suggest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.gangs import landing_h
from planner.optimize.limits import energy_worth
from planner.precedence import in_order, needed_tokens, waits
from power.blocks import ramp_excess_kw

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.gangs import Gang, GangOption
    from planner.optimize.model import Program
    from planner.optimize.places import Places

SAME_WORK = 1e-9


class Pace(Enum):
    """How fast the gangs work, and which hours they like."""

    FAST_WHEN_CHEAP = "full power in the cheapest hours"
    FAST = "full power from the first hours on"
    EVEN = "the power that fills the time up to the last due date"
    SLOW = "the lowest power from the first hours on"


@dataclass(frozen=True)
class _Spell:
    """Cells `first` up to, not with, `after`; work done in them, also at the lowest power; a rank, lower is better.

    The work is done at `rate` after `lost_h` hours.
    """

    first: int
    after: int
    work_h: float
    least_h: float
    rank: float
    rate: float
    lost_h: float


class Greedy:
    """Room left in pools and blocks while gangs are placed, counted at their lowest power: it leaves a solution."""

    def __init__(self, program: Program, pace: Pace) -> None:
        week = program.week
        self._program, self._pace = program, pace
        self._worth = {p.name: energy_worth(week.here(week.block(p.block))) for p in week.pools}
        self._gpus = {p.name: p.gpus_in_service(week.grid).astype(np.float64) for p in week.pools}
        self._limits = {b.limits.block.name: b.limits for b in program.blocks}
        self._it_kw = {name: limits.idle_kw.copy() for name, limits in self._limits.items()}

    def choices(self, places: Places) -> npt.NDArray[np.float64]:
        """Return values of the columns `places.choices`, shape (C,)."""
        x = np.zeros(int(places.choices.max()) + 1) if len(places.choices) else np.zeros(0)
        runs = self._program.week.runs
        done: dict[str, list[_Spell]] = {}
        place = {run.name: r for r, run in enumerate(runs)}
        urgent = sorted(range(len(runs)), key=self._urgency)
        for run in in_order([runs[r] for r in urgent]):
            r = place[run.name]
            gang = self._program.gangs[r]
            since = self._first_cell(gang, done)
            placed = [(self._place(gang, option, since), k) for k, option in enumerate(gang.options)]
            placed = [(spells, k) for spells, k in placed if spells]
            if not placed:
                continue
            spells, k = max(placed, key=lambda one: (sum(s.work_h for s in one[0]), -one[0][0].rank, -one[1]))
            done[run.name] = spells
            columns = places.gangs[r][k]
            if columns.chosen >= 0:
                x[columns.chosen] = 1.0
            for spell in spells:
                x[columns.on[spell.first : spell.after]] = 1.0
                self._take(gang, gang.options[k], spell)
        return x[places.choices]

    def _urgency(self, r: int) -> tuple[int, float, int]:
        gang = self._program.gangs[r]
        first = min((due.short[0][0] for due in gang.due if due.short), default=np.inf)
        return (gang.run.priority, first, r)

    def _first_cell(self, gang: Gang, done: Mapping[str, list[_Spell]]) -> int:
        """Return the first cell in which all that a gang waits for is done, at the pace of the gangs placed so far."""
        week, since_h = self._program.week, 0.0
        for after in waits(week, gang.run):
            first = next(g for g in self._program.gangs if g.run.name == after.run)
            left = needed_tokens(week, after) / first.tokens_per_work_h
            reached_h = np.inf
            for spell in done.get(after.run, []):
                if left <= spell.work_h * (1.0 + SAME_WORK):
                    reached_h = float(first.cells.edges[spell.first]) * week.grid.slot_h
                    reached_h += spell.lost_h + left / spell.rate
                    break
                left -= spell.work_h
            since_h = max(since_h, reached_h + after.lag_h)
        cells = np.flatnonzero(gang.cells.edges[:-1] * week.grid.slot_h >= since_h - SAME_WORK)
        return int(cells[0]) if cells.size else gang.cells.count

    def _place(self, gang: Gang, option: GangOption, since: int) -> list[_Spell]:
        """Return spells from a cell on, one after the other, until the work is done or no more may start."""
        spells: list[_Spell] = []
        left, most = gang.work_h, gang.work_h + landing_h(gang)
        while left > 0 and len(spells) <= gang.run.max_pauses:
            spell = self._best(gang, option, since, left, most)
            if spell is None:
                break
            spells.append(spell)
            since = spell.after + gang.cells.min_pause
            left, most = left - spell.work_h, most - spell.least_h
        return spells

    def _best(self, gang: Gang, option: GangOption, since: int, left: float, most: float) -> _Spell | None:
        cells, slot_h = gang.cells, self._program.week.grid.slot_h
        free = self._free(gang, option)
        found = []
        for first in range(since, cells.count):
            if not free[first] or first not in option.on:
                continue
            reload_h = 0.0 if option.running and first == 0 else gang.run.reload_s / 3600.0
            lost_h = reload_h + gang.run.checkpoint_s / 3600.0
            rate = self._rate(gang, option, float(cells.edges[first]) * slot_h + lost_h, left)
            need_h = left / rate + lost_h
            after = first
            while after < cells.count and free[after] and (cells.edges[after] - cells.edges[first]) * slot_h < need_h:
                after += 1
            while after > first and self._least_h(gang, option, first, after) > most:
                after -= 1
            if after == first or (after - first < cells.min_run and after < cells.count):
                continue
            hours = float(cells.edges[after] - cells.edges[first]) * slot_h
            work = min(left, max(0.0, hours - lost_h) * rate)
            worth = float(self._worth[option.pool.name][cells.edges[first] : cells.edges[after]].mean())
            rank = worth if self._pace is Pace.FAST_WHEN_CHEAP else float(first)
            late = sum(max(0.0, float(cells.edges[after]) - due.short[0][0]) for due in gang.due if due.short)
            least_h = self._least_h(gang, option, first, after)
            # power can still be raised up to the highest: what counts against a spell is work that no power could do
            could = min(left, max(0.0, hours - lost_h) * option.rate * option.points[-1].relative_throughput)
            rank += late * 1e3 - could / gang.work_h * 1e6
            found.append(_Spell(first, after, work, least_h, rank, rate, lost_h))
        for spell in sorted(found, key=lambda s: (s.rank, s.first)):
            if self._gentle(gang, option, spell):
                return spell
        return None

    def _rate(self, gang: Gang, option: GangOption, from_h: float, left: float) -> float:
        """Return the work per hour that the pace asks of a spell that starts to work at `from_h`."""
        least, most = (option.rate * p.relative_throughput for p in (option.points[0], option.points[-1]))
        if self._pace is Pace.SLOW:
            return least
        marks = [due.short[0][0] for due in gang.due if due.short]
        until_h = max(marks, default=0.0) * self._program.week.grid.slot_h
        if self._pace is not Pace.EVEN or until_h <= from_h:
            return most
        return float(np.clip(left / (until_h - from_h), least, most))

    def _least_h(self, gang: Gang, option: GangOption, first: int, after: int) -> float:
        """Return the work of a spell at the lowest power: no plan may make more than there is."""
        hours = float(gang.cells.edges[after] - gang.cells.edges[first]) * self._program.week.grid.slot_h
        least, most = (option.rate * p.relative_throughput for p in (option.points[0], option.points[-1]))
        lost_s = 0.0 if option.running and first == 0 else gang.run.reload_s
        lost_s += 0.0 if after == gang.cells.count else gang.run.checkpoint_s
        return least * hours - most * lost_s / 3600.0

    def _free(self, gang: Gang, option: GangOption) -> npt.NDArray[np.bool_]:
        fits = np.ones(self._program.week.grid.n_slots, dtype=bool)
        for pool, gpus in option.pool.draws(option.gpus).items():
            fits &= self._gpus[pool] >= gpus
        for block, added_kw in self._added(option):
            limits = self._limits[block]
            # what a tank would add takes a tank that is drawn on: the first plans do without
            sure_kw = limits.it_max_kw if limits.cold is None else limits.cold.sure_kw
            fits &= self._it_kw[block] + added_kw <= sure_kw
        free = np.logical_and.reduceat(fits, gang.cells.edges[:-1])
        free &= np.isin(np.arange(gang.cells.count), list(option.on))
        return np.asarray(free)

    def _gentle(self, gang: Gang, option: GangOption, spell: _Spell) -> bool:
        """Whether every block keeps its ramp with the gang on in the spell."""
        slots = slice(int(gang.cells.edges[spell.first]), int(gang.cells.edges[spell.after]))
        for block, added_kw in self._added(option):
            it_kw = self._it_kw[block].copy()
            it_kw[slots] += added_kw[slots]
            if (ramp_excess_kw(self._limits[block].block.power, np.diff(it_kw), 1.0 - 1e-5) > 0.0).any():
                return False
        return True

    def _take(self, gang: Gang, option: GangOption, spell: _Spell) -> None:
        slots = slice(int(gang.cells.edges[spell.first]), int(gang.cells.edges[spell.after]))
        for pool, gpus in option.pool.draws(option.gpus).items():
            self._gpus[pool][slots] -= gpus
        for block, added_kw in self._added(option):
            self._it_kw[block][slots] += added_kw[slots]

    def _added(self, option: GangOption) -> list[tuple[str, npt.NDArray[np.float64]]]:
        least_w, idle_w = option.points[0].it_w_per_gpu, option.pool.gpu.idle_w_per_gpu
        return [
            (block, self._limits[block].added_kw(option.gpus * share, least_w, idle_w))
            for block, share in option.pool.shares
        ]
