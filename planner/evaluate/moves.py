"""Runs that change their pool or their count of GPUs: what each change is, what it takes, and whether it may be."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import instant
from planner.evaluate.record import Violation
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from planner.evaluate.trace import RunTrace
    from planner.moves import Way
    from planner.week import Signals, Week


@dataclass(frozen=True)
class Migrated:
    """A run's state that was brought to another pool.

    Args:
        run: Name of the run.
        at: When the run goes on there, UTC.
        way: What lies between the two pools.
        carbon_kg: Carbon of bringing it, kgCO2e.
    """

    run: str
    at: datetime
    way: Way
    carbon_kg: float


def migrated(week: Week, signals: Signals | None, traces: Sequence[RunTrace]) -> tuple[Migrated, ...]:
    """Return every move of a run's state; carbon by half at either end, as the grid is where the run goes on.

    Args:
        week: All inputs.
        signals: Grid and weather as they were at the site that the week is named after, or None for the week's own.
        traces: The replay of every run.
    """
    found = []
    for seen in traces:
        for spell, way in zip(seen.spells, seen.ways, strict=True):
            if way is None:
                continue
            slot = min(int(spell.start_s / 3600.0 / week.grid.slot_h), week.grid.n_slots - 1)
            kg = 0.0
            for name in (way.origin, way.target):
                block = week.block(week.pool(name).block)
                there = week.here(block).signals if block.site or signals is None else signals
                kg += 0.5 * way.energy_kwh * float(there.ci_gco2_per_kwh[slot]) / 1000.0
            found.append(Migrated(seen.run.name, instant(week, spell.start_s), way, kg))
    return tuple(found)


def changes(seen: RunTrace) -> int:
    """Return how often a run goes on in another pool or with another count of GPUs than in the spell before."""
    held = [(seen.pools[spell.first], int(seen.gpus[spell.first])) for spell in seen.spells]
    return sum(before != after for before, after in pairwise(held))


def check_moves(week: Week, seen: RunTrace) -> Iterator[Violation]:
    """Yield every change of pool that no way leads to, of a run that may migrate."""
    run = seen.run
    if run.migration is None:
        return
    pools = [run.running_in or run.migration.lies_in, *(seen.pools[spell.first] for spell in seen.spells)]
    for before, spell in zip(pools, seen.spells, strict=False):
        here = seen.pools[spell.first]
        if before in {None, here} or run.migration.way(before, str(here)) is not None:
            continue
        at = instant(week, spell.start_s)
        sentence = f"run {run.name} goes from pool {before} to pool {here} at {iso(at)}, and no way leads there"
        yield Violation("move", run.name, at, str(before), str(here), "", sentence)


def where(seen: RunTrace, n_slots: int, slot_s: float) -> list[tuple[str, np.ndarray]]:
    """Return each pool that a run uses with the slots in which it is there, bool of shape (T,).

    Args:
        seen: The run as its windows tell it.
        n_slots: Count of slots, T.
        slot_s: Length of a slot, s.
    """
    found: dict[str, np.ndarray] = {}
    for pool, start_s, end_s in zip(seen.pools, seen.start_s, seen.end_s, strict=True):
        if pool is not None:
            slots = found.setdefault(pool, np.zeros(n_slots, dtype=np.bool_))
            slots[max(0, int(start_s // slot_s)) : int(np.ceil(end_s / slot_s))] = True
    return list(found.items())
