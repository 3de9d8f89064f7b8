"""First fit: where a gang fits beside the gangs placed before it, on the site's physics."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from planner.geography import ready_h
from planner.precedence import needed_tokens, waits
from planner.schedule import RunSchedule
from planner.slots import run_slots
from power.battery import FREE, holding_kw
from power.blocks import ramp_excess_kw
from power.gpu import at_limit
from thermal.limit import within_power_kw
from thermal.plant import cooling
from thermal.reserve import carried_it_kw

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.run import PoolOption, Run
    from planner.week import Block, Week
    from power.blocks import PowerBlock

Added: TypeAlias = "Mapping[str, npt.NDArray[np.float64]]"
"""Block -> what a gang adds to its IT power per slot, kW, shape (T,)."""

_HAIR = 1e-9
_SAME_WORK = 1e-6


@dataclass(frozen=True)
class Placement:
    """Where and how one gang runs.

    Args:
        option: The pool with the run's performance there.
        limit_w: Power limit per slot, W; 0 where it is off, shape (T,).
        end: Position at which the gang is let go for good, in slots from the horizon's start.
        tokens: Useful tokens it makes.
        complete: Whether that is all it should make.
    """

    option: PoolOption
    limit_w: npt.NDArray[np.float64]
    end: float
    tokens: float
    complete: bool


@dataclass
class BlockGround:
    """What is taken in one block so far.

    Args:
        it_kw: IT power per slot with every gang that touches the slot, kW, shape (T,).
        room_kw: IT power that cooling, capacity and a steady battery charge allow, kW, shape (T,).
        let_go: (position within a slot, power that falls away there, kW) of gangs that end inside a slot.
        power: The block, for its ramp steps.
        window: Slots over which changes are staggered.
    """

    it_kw: npt.NDArray[np.float64]
    room_kw: npt.NDArray[np.float64]
    power: PowerBlock
    window: float
    let_go: list[tuple[float, float]] = field(default_factory=list)

    def ramp_holds(self, added_kw: npt.NDArray[np.float64], end: float, falls_kw: float) -> bool:
        """Return whether the ramp limit holds once a gang adds `added_kw` per slot and is let go at `end`."""
        if self.power.rise_step_kw is None and self.power.fall_step_kw is None:
            return True
        let_go = [*self.let_go, (end, falls_kw)] if end % 1.0 else self.let_go
        total_kw = self.it_kw + added_kw
        starts = np.unique(np.concatenate([np.arange(float(len(total_kw))), [e for e, _ in let_go]]))
        slot = np.floor(starts).astype(np.int64)
        power_kw = total_kw[slot]
        for position, falls in let_go:
            power_kw[(slot == int(position)) & (starts >= position)] -= falls
        for apart in range(1, len(starts)):
            near = starts[apart:] - starts[1 : len(starts) - apart + 1] < self.window
            if not near.any():
                break
            if (ramp_excess_kw(self.power, (power_kw[apart:] - power_kw[:-apart])[near]) > _HAIR).any():
                return False
        return True


class Ground:
    """A site on which gangs are placed one after another; a gang takes whole slots, also the one it ends in."""

    def __init__(self, week: Week, room_kw: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Start with idle GPUs only.

        Args:
            week: All inputs.
            room_kw: Block -> IT power that it may take, from `room_kw`.
        """
        self.week = week
        self.slot_s = 60.0 * week.grid.slot_minutes
        self._placed: dict[str, Placement] = {}
        self.free = {pool.name: pool.gpus_in_service(week.grid).copy() for pool in week.pools}
        self.blocks = {
            block.name: BlockGround(
                it_kw=week.idle_kw(block),
                room_kw=room_kw[block.name],
                power=block.power,
                window=min(1.0, block.power.ramp_window_min / week.grid.slot_minutes),
            )
            for block in week.blocks
        }

    def first_slot(self, run: Run, option: PoolOption) -> int:
        """Return the first slot in which a run may run in a pool: after its start, its data and what it waits for."""
        grid = self.week.grid
        first = max(0, int(np.ceil(grid.position(run.earliest_start) - _HAIR)))
        first = max(first, int(np.ceil(min(ready_h(option) / grid.slot_h, grid.n_slots) - _HAIR)))
        for after in waits(self.week, run):
            ahead = decisions(self.week, self.week.run(after.run), self._placed.get(after.run))
            made = np.cumsum(run_slots(self.week, ahead).tokens)
            done = np.flatnonzero(made >= needed_tokens(self.week, after) * (1.0 - _SAME_WORK))
            reached = done[0] + 1.0 if done.size else np.inf
            first = max(first, int(np.ceil(min(reached + after.lag_h / grid.slot_h, grid.n_slots) - _HAIR)))
        return first

    def added_kw(self, run: Run, option: PoolOption, limit_w: npt.NDArray[np.float64]) -> Added:
        """Return what a gang adds to the IT power of each of its blocks at a limit per slot (0: off), shape (T,)."""
        pool = self.week.pool(option.pool)
        it_w, _ = at_limit(option.points, limit_w)
        added: dict[str, npt.NDArray[np.float64]] = {}
        for name, share in pool.shares:
            idle_w = np.where(self.week.block(name).idle_powered, pool.gpu.idle_w_per_gpu, 0.0)
            added[name] = np.where(limit_w > 0.0, share * run.gpus * (it_w - idle_w) / 1000.0, 0.0)
        return added

    def has_gpus(self, run: Run, option: PoolOption) -> npt.NDArray[np.bool_]:
        """Return the slots in which GPUs for the whole gang are free, shape (T,)."""
        enough = np.ones(self.week.grid.n_slots, dtype=bool)
        for pool, gpus in self.week.pool(option.pool).draws(run.gpus).items():
            enough &= self.free[pool] >= gpus
        return enough

    def fits(self, run: Run, option: PoolOption, added_kw: Added) -> npt.NDArray[np.bool_]:
        """Return the slots in which a gang that adds so much power fits, ramp aside, shape (T,)."""
        enough = self.has_gpus(run, option)
        enough[: self.first_slot(run, option)] = False
        for name, kw in added_kw.items():
            enough &= self.blocks[name].it_kw + kw <= self.blocks[name].room_kw + _HAIR
        return enough

    def ramp_holds(self, added_kw: Added, end: float) -> bool:
        """Return whether the ramp limit holds once a gang adds so much power and is let go at `end`."""
        return all(
            self.blocks[name].ramp_holds(kw, end, float(kw[min(int(end), len(kw) - 1)]))
            for name, kw in added_kw.items()
        )

    def place(self, run: Run, placement: Placement) -> None:
        """Take the GPUs and the power of a placement."""
        option, end = placement.option, placement.end
        self._placed[run.name] = placement
        for pool, gpus in self.week.pool(option.pool).draws(run.gpus).items():
            self.free[pool][placement.limit_w > 0.0] -= gpus
        for name, added_kw in self.added_kw(run, option, placement.limit_w).items():
            ground = self.blocks[name]
            ground.it_kw = ground.it_kw + added_kw
            if end % 1.0:
                ground.let_go.append((end, float(added_kw[int(end)])))


def decisions(week: Week, run: Run, placement: Placement | None, why: str = "") -> RunSchedule:
    """Return a placement as decisions per slot; a run without one is off.

    Args:
        week: All inputs.
        run: The run.
        placement: Where and how it runs, or None.
        why: One line for people.
    """
    grid = week.grid
    if placement is None:
        return RunSchedule(run.name, None, np.zeros(grid.n_slots), None, why)
    inside = timedelta(seconds=round(placement.end * 60.0 * grid.slot_minutes, 6))
    ends = grid.start + inside if placement.end % 1.0 else None
    return RunSchedule(run.name, placement.option.pool, placement.limit_w, ends, why)


def resting_charge_kw(week: Week, block: Block) -> npt.NDArray[np.float64]:
    """Return the charging of a resting battery: what it loses by itself, and what it must end with more, kW, (T,)."""
    battery = block.battery
    if battery is None or battery.final_rule == FREE:
        return np.zeros(week.grid.n_slots)
    held_kw = np.full(week.grid.n_slots, holding_kw(battery, week.grid.slot_h))
    if battery.final_share <= battery.initial_share:
        return held_kw
    idle_kw = week.idle_kw(block)
    idle_kw = idle_kw + cooling(block.plant, idle_kw, week.signals.dry_bulb_c, week.signals.wet_bulb_c).cooling_kw
    spare_kw = np.clip(week.import_limit_kw(block) - idle_kw, 0.0, None)
    needed_kwh = (battery.final_share - battery.initial_share) * battery.energy_kwh / battery.charge_efficiency
    share = needed_kwh / max(float(spare_kw.sum()) * week.grid.slot_h, needed_kwh)
    return np.minimum(held_kw + spare_kw * share, battery.charge_kw)


def room_kw(week: Week) -> dict[str, npt.NDArray[np.float64]]:
    """Return the IT power that each block's cooling, capacity and steady battery charge allow, kW, shape (T,) each."""
    return {block.name: _room_kw(week.here(block), block) for block in week.blocks}


def _room_kw(week: Week, block: Block) -> npt.NDArray[np.float64]:
    dry_c, wet_c = week.signals.dry_bulb_c, week.signals.wet_bulb_c
    allowed_kw = week.firm_kw(block) - resting_charge_kw(week, block)
    carried_kw = carried_it_kw(block.plant, block.reserve, dry_c, wet_c)
    return within_power_kw(block.plant, carried_kw, allowed_kw, dry_c, wet_c)
