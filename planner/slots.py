"""What one run's decisions mean per slot: power, tokens and seconds, by the law of spells.

A spell is an unbroken stretch of running. Its first `reload_s` seconds and its last `checkpoint_s` seconds draw power
and make no tokens, over as many slots as they take. A spell that goes on from before the horizon reloads nothing; one
that goes on past the horizon's end saves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from power.gpu import at_limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.schedule import RunSchedule
    from planner.week import Block, Run, Week


@dataclass(frozen=True)
class RunSlots:
    """One run per slot, arrays of shape (T,).

    Args:
        run: The run.
        place: Block of its pool (all of them where it spans several), or None if it does not run.
        gpu_power_limit_w: Limit, W; 0 where it is off.
        begins: Position at which each slot's running begins, in slots from the horizon's start; 0 where it is off.
        ends: Position at which it stops, likewise.
        gang_kw: IT power of the gang while it runs, kW.
        block_kw: Block -> what the gang adds to its IT power while it runs, kW: less than its share of `gang_kw` where
            its GPUs would otherwise idle under power.
        energy_kwh: IT energy of the gang, kWh.
        tokens: Useful tokens.
    """

    run: Run
    place: str | None
    gpu_power_limit_w: npt.NDArray[np.float64]
    begins: npt.NDArray[np.float64]
    ends: npt.NDArray[np.float64]
    gang_kw: npt.NDArray[np.float64]
    block_kw: Mapping[str, npt.NDArray[np.float64]]
    energy_kwh: npt.NDArray[np.float64]
    tokens: npt.NDArray[np.float64]


def spells(on: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first slot and the slot after the last of every unbroken stretch of on-slots."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def run_slots(week: Week, decided: RunSchedule) -> RunSlots:
    """Return what a run's decisions mean per slot.

    Args:
        week: All inputs.
        decided: Limits per slot, and the instant within the last on-slot at which the work is complete.
    """
    run, grid = week.run(decided.run), week.grid
    off = np.zeros(grid.n_slots)
    limit = np.round(decided.gpu_power_limit_w, 6)
    on = limit > 0.0
    if decided.pool is None or not on.any():
        return RunSlots(run, None, off, off, off, off, {}, off, off)
    pool = week.pool(decided.pool)
    option = {o.pool: o for o in run.options}[decided.pool]
    it_w, relative = at_limit(option.points, limit)
    gang_kw = np.where(on, run.gpus * it_w / 1000.0, 0.0)
    idle_kw = run.gpus * pool.gpu.idle_w_per_gpu / 1000.0
    slot_s, slot = 60.0 * grid.slot_minutes, np.arange(grid.n_slots)
    late_s, early_s = (off if moves is None else moves for moves in (decided.late_s, decided.early_s))
    begins = np.where(on, slot + late_s / slot_s, 0.0)
    ends = np.where(on, slot + 1.0 - early_s / slot_s, 0.0)
    if decided.ends is not None:
        ends[np.flatnonzero(on)[-1]] = grid.position(decided.ends)
    running_s = (ends - begins) * slot_s
    useful_s = np.zeros(grid.n_slots)
    for first, after in spells(on):
        goes_on = first == 0 and run.running_in == decided.pool
        from_s = begins[first] * slot_s + (0.0 if goes_on else run.reload_s)
        to_s = ends[after - 1] * slot_s - (0.0 if ends[after - 1] == grid.n_slots else run.checkpoint_s)
        useful_s[first:after] = np.clip(
            np.minimum(ends[first:after] * slot_s, to_s) - np.maximum(begins[first:after] * slot_s, from_s), 0.0, None
        )
    return RunSlots(
        run=run,
        place=pool.place,
        gpu_power_limit_w=np.where(on, limit, 0.0),
        begins=begins,
        ends=ends,
        gang_kw=gang_kw,
        block_kw={
            name: np.where(on, share * (gang_kw - np.where(week.block(name).idle_powered, idle_kw, 0.0)), 0.0)
            for name, share in pool.shares
        },
        energy_kwh=gang_kw * running_s / 3600.0,
        tokens=run.gpus * option.tokens_per_gpu_s * relative * useful_s,
    )


@dataclass(frozen=True)
class SlotParts:
    """The horizon cut at slot edges and at every instant within a slot at which a gang starts or is let go.

    Args:
        slot: Slot of each part, shape (P,).
        share: Length of each part as a share of its slot, shape (P,).
        start: Where each part starts, in slots from the horizon's start, shape (P,).
        end: Where it ends, likewise, shape (P,).
    """

    slot: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]

    def mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the slot means, shape (T,), of a value per part, shape (P,)."""
        return np.asarray(np.bincount(self.slot, weights=values * self.share), dtype=np.float64)


def slot_parts(n_slots: int, runs: list[RunSlots]) -> SlotParts:
    """Return the parts of the horizon's slots between which no gang's power changes."""
    cuts = [np.arange(n_slots + 1.0)] + [r.ends for r in runs] + [r.begins for r in runs]
    edges = np.unique(np.concatenate(cuts))
    slot = np.floor((edges[:-1] + edges[1:]) / 2).astype(np.int64)
    return SlotParts(slot, np.diff(edges), edges[:-1], edges[1:])


def block_it_kw(week: Week, block: Block, runs: list[RunSlots], parts: SlotParts) -> npt.NDArray[np.float64]:
    """Return the IT power of a block in every part, kW, shape (P,): idle GPUs and the gangs on it."""
    it_kw = week.idle_kw(block)[parts.slot]
    for run in runs:
        if block.name in run.block_kw:
            added_kw = run.block_kw[block.name][parts.slot]
            runs_there = (parts.start >= run.begins[parts.slot]) & (parts.end <= run.ends[parts.slot])
            it_kw = it_kw + np.where(runs_there, added_kw, 0.0)
    return it_kw
