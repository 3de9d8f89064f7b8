"""What windows have decided so far, on the slots of the whole horizon, and the state that they leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.extract import LIMIT_STEPS_PER_W
from planner.optimize.scale.ground import Ground, Placed
from planner.optimize.scale.powers import between
from planner.precedence import tokens_up_to
from planner.schedule import RunSchedule
from planner.slots import run_slots, spells
from planner.windows.cut import RunState, State
from planner.windows.hold import Handover
from power.battery import states_kwh

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd
    from planner.run import Run
    from planner.schedule import Schedule
    from planner.windows.spans import Span

    Floats = npt.NDArray[np.float64]

DONE_SHARE = 1e-6  # of the tokens up to a stage: less is rounding


class Course:
    """The plan so far.

    Attributes:
        state: What the next window finds.
    """

    def __init__(self, crowd: Crowd, state: State) -> None:
        self._crowd, self.state = crowd, state
        n_slots = crowd.week.grid.n_slots
        self._limit_w = {run.name: np.zeros(n_slots) for run in crowd.week.runs}
        self._pool: dict[str, str | None] = {run.name: None for run in crowd.week.runs}
        self._beside_kw = np.zeros((len(crowd.limits), n_slots))

    def go_on(self, span: Span, schedule: Schedule) -> None:
        """Take on a window's plan: its kept slots for good, those behind them until the next window."""
        week = self._crowd.week
        for decided in schedule.runs:
            self._limit_w[decided.run][span.first :] = 0.0
            self._limit_w[decided.run][span.first : span.after] = decided.gpu_power_limit_w
            self._pool[decided.run] = self.state.runs[decided.run].pool or decided.pool
        stored = dict(self.state.stored_share)
        for b, (block, done) in enumerate(zip(week.blocks, schedule.blocks, strict=True)):
            own_kw = done.solar_used_kw + (0.0 if done.wind_used_kw is None else done.wind_used_kw)
            self._beside_kw[b, span.first : span.after] = done.charge_kw - done.discharge_kw - own_kw
            if block.battery is not None:
                battery = replace(block.battery, initial_share=stored[block.name])
                kwh = states_kwh(battery, done.charge_kw, done.discharge_kw, week.grid.slot_h)
                share = float(kwh[span.kept - span.first - 1]) / battery.energy_kwh
                stored[block.name] = min(max(share, battery.min_share), battery.max_share)
        known = dict(self.state.done)
        runs = {run.name: self._state(run, span.kept, known) for run in week.runs}
        self.state = State(runs, stored, self._peak_kw(span.kept), known)

    def _peak_kw(self, kept: int) -> tuple[float, ...]:
        """Return the highest billed peak of each register up to a slot, kW."""
        it_kw = self._it_kw()
        load_kw = [one.curves.cooling_kw(kw) + kw for one, kw in zip(self._crowd.limits, it_kw, strict=True)]
        import_kw = np.maximum(np.array(load_kw) + self._beside_kw, 0.0).sum(axis=0)
        import_kw[kept:] = 0.0
        return tuple(max(r.owed_kw, r.peak_kw(import_kw)) for r in self._crowd.week.demand_registers)

    def _it_kw(self) -> Floats:
        ground = Ground(self._crowd)
        for placed in self.places():
            if placed is not None:
                ground.take(placed)
        return ground.it_kw

    def _state(self, run: Run, kept: int, done: dict[tuple[str, str], int]) -> RunState:
        """Return a run's state at a slot, with stages done by then added."""
        limit_w, pool = self._limit_w[run.name], self._pool[run.name]
        begun = [pair for pair in spells(limit_w > 0.0) if pair[0] < kept]
        if not begun:
            return RunState(pool=None, running=False, since=0, spells=0, tokens=0.0)
        made = np.cumsum(run_slots(self._crowd.week, RunSchedule(run.name, pool, limit_w)).tokens)
        for stage in run.stages:
            needed = tokens_up_to(run, stage.name)
            if made[kept - 1] >= needed * (1.0 - DONE_SHARE):
                done.setdefault((run.name, stage.name), int(np.argmax(made >= needed * (1.0 - DONE_SHARE))) + 1)
        first, after = begun[-1]
        running = after > kept
        return RunState(pool, running, first if running else after, len(begun), float(made[kept - 1]))

    def handover(self, span: Span) -> Handover:
        """Return what a window may not change, and what was planned for it before."""
        week, slot_h = self._crowd.week, self._crowd.week.grid.slot_h
        on = {name: limit_w[span.first : span.after] > 0.0 for name, limit_w in self._limit_w.items()}
        kept = {}
        for run in week.runs:
            now = self.state.runs[run.name]
            # a spell goes on for its shortest length, and for a slot so that its end is the new window's
            least = max(1, now.since + round(run.min_run_h / slot_h) - span.first)
            off = np.flatnonzero(~on[run.name])
            kept[run.name] = min(least, int(off[0]) if off.size else least) if now.running else 0
        it_kw = self._it_kw()[:, span.first - 1]
        before_kw = {block.name: float(kw) for block, kw in zip(week.blocks, it_kw, strict=True)}
        return Handover(on, dict(self._pool), kept, before_kw)

    def places(self) -> list[Placed | None]:
        """Return the place of every run by what was decided so far."""
        found: list[Placed | None] = [None] * len(self._crowd.week.runs)
        for rank in self._crowd.ranks:
            for row, run in enumerate(rank.run.tolist()):
                one, option = self._crowd.week.runs[run], int(rank.option[row])
                if self._pool[one.name] == one.options[option].pool:
                    found[run] = self._placed(run, int(rank.table[row]), option)
        return found

    def _placed(self, run: int, table: int, option: int) -> Placed | None:
        one, points = self._crowd.week.runs[run], self._crowd.tables[table]
        limit_w = self._limit_w[one.name]
        slots = np.flatnonzero(limit_w > 0.0)
        if not slots.size:
            return None
        speed = np.interp(limit_w[slots], points.limit_w, points.throughput)
        # limits were rounded up by less than a step, which no limit of power counts
        lower = np.interp(limit_w[slots] - 1.0 / LIMIT_STEPS_PER_W, points.limit_w, points.throughput)
        added = self._crowd.added_kw[table][: len(points.throughput)]
        kw = np.array([between(points.throughput, lower, added[:, b, slots]) for b in range(added.shape[1])])
        return Placed(table, option, float(one.gpus), slots, speed, kw * one.gpus)
