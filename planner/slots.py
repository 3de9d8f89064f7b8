"""What one run's decisions mean per slot: power, tokens and seconds, by the law of spells.

A spell is an unbroken stretch of running in one pool with one count of GPUs. Its first `reload_s` seconds and its last
`checkpoint_s` seconds draw power and make no tokens, over as many slots as they take. A spell that goes on from before
the horizon reloads nothing; one that goes on past the horizon's end saves nothing. One in another pool than the one
before waits for the run's state besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.moves import Stay, goes_on, ways_of
from power.gpu import at_limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.run import Run
    from planner.schedule import RunSchedule
    from planner.week import Block, Week


@dataclass(frozen=True)
class RunSlots:
    """One run per slot, arrays of shape (T,).

    Args:
        run: The run.
        stays: Where it is on, in order: unbroken stretches in one pool with one count of GPUs; none if it does not run.
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
    stays: tuple[Stay, ...]
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


def stays_of(run: Run, decided: RunSchedule) -> tuple[Stay, ...]:
    """Return where a run is on, in order: those that its schedule names, or its spells in its pool."""
    if decided.stays or decided.pool is None:
        return decided.stays
    return tuple(Stay(a, b, decided.pool, run.gpus) for a, b in spells(np.round(decided.gpu_power_limit_w, 6) > 0.0))


def places(run: Run, decided: RunSchedule) -> tuple[tuple[str, int] | None, ...]:
    """Return the pool and the GPUs that a run holds in each slot, None where it is off."""
    found: list[tuple[str, int] | None] = [None] * len(decided.gpu_power_limit_w)
    for stay in stays_of(run, decided):
        found[stay.first : stay.after] = [(stay.pool, stay.gpus)] * (stay.after - stay.first)
    return tuple(found)


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
    stays = stays_of(run, decided)
    if not stays:
        return RunSlots(run, (), off, off, off, off, {}, off, off)
    slot_s, slot = 60.0 * grid.slot_minutes, np.arange(grid.n_slots)
    late_s, early_s = (off if moves is None else moves for moves in (decided.late_s, decided.early_s))
    begins = np.where(on, slot + late_s / slot_s, 0.0)
    ends = np.where(on, slot + 1.0 - early_s / slot_s, 0.0)
    if decided.ends is not None:
        ends[np.flatnonzero(on)[-1]] = grid.position(decided.ends)
    running_s = (ends - begins) * slot_s
    useful_s = np.zeros(grid.n_slots)
    for stay, way in zip(stays, ways_of(run, stays), strict=True):
        first, after = stay.first, stay.after
        moving_s = 0.0 if way is None else way.time_s
        from_s = begins[first] * slot_s + (0.0 if goes_on(run, stay) else run.reload_s + moving_s)
        to_s = ends[after - 1] * slot_s - (0.0 if ends[after - 1] == grid.n_slots else run.checkpoint_s)
        useful_s[first:after] = np.clip(
            np.minimum(ends[first:after] * slot_s, to_s) - np.maximum(begins[first:after] * slot_s, from_s), 0.0, None
        )
    gang_kw, tokens = off, off
    block_kw: dict[str, npt.NDArray[np.float64]] = {}
    for name, gpus in dict.fromkeys((stay.pool, stay.gpus) for stay in stays):
        here = np.zeros(grid.n_slots, dtype=bool)
        for stay in stays:
            here[stay.first : stay.after] |= (stay.pool, stay.gpus) == (name, gpus)
        pool, option = week.pool(name), run.option(name, gpus)
        assert option is not None
        it_w, relative = at_limit(option.points, limit)
        held_kw = np.where(here, gpus * it_w / 1000.0, 0.0)
        idle_kw = gpus * pool.gpu.idle_w_per_gpu / 1000.0
        gang_kw = np.where(here, held_kw, gang_kw)
        tokens = np.where(here, gpus * option.tokens_per_gpu_s * relative * useful_s, tokens)
        for block, share in pool.shares:
            spared_kw = np.where(week.block(block).idle_powered, idle_kw, 0.0)
            block_kw[block] = np.where(here, share * (held_kw - spared_kw), block_kw.get(block, off))
    return RunSlots(
        run=run,
        stays=stays,
        gpu_power_limit_w=np.where(on, limit, 0.0),
        begins=begins,
        ends=ends,
        gang_kw=gang_kw,
        block_kw=block_kw,
        energy_kwh=gang_kw * running_s / 3600.0,
        tokens=tokens,
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
