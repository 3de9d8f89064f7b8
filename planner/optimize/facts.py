"""What solved column values mean for each run: where it is on, and the tokens that it has made by when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.extract import on_slots, pool_used

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.gangs import Gang
    from planner.optimize.model import Program
    from planner.optimize.places import OptionPlaces, Places


@dataclass(frozen=True)
class RunFacts:
    """One run of a solved program.

    Args:
        gang: Its columns.
        option: The option it uses, or None.
        on: Whether it is on, per slot, shape (T,).
        tokens: Tokens that it certainly has made by the end of each slot, shape (T,).
    """

    gang: Gang
    option: OptionPlaces | None
    on: npt.NDArray[np.bool_]
    tokens: npt.NDArray[np.float64]


def run_facts(program: Program, places: Places, x: npt.NDArray[np.float64]) -> tuple[RunFacts, ...]:
    """Return the facts of every run, in the week's order."""
    return tuple(_facts(program, gang, place, x) for gang, place in zip(program.gangs, places.gangs, strict=True))


def _facts(program: Program, gang: Gang, place: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64]) -> RunFacts:
    week, run = program.week, gang.run
    n_slots, slot_s = week.grid.n_slots, week.grid.slot_h * 3600.0
    option = pool_used(place, x)
    if option is None:
        return RunFacts(gang, None, np.zeros(n_slots, dtype=bool), np.zeros(n_slots))
    on = on_slots(option, x, n_slots)
    rate = np.zeros(n_slots)
    per_gpu_s = next(o.tokens_per_gpu_s for o in run.options if o.pool == option.pool)
    rate[option.slots] = option.shares(x) @ option.throughput * per_gpu_s * run.gpus
    useful_s = np.full(n_slots, slot_s)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    begins = np.arange(n_slots) * slot_s
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        goes_on = first == 0 and run.running_in == option.pool
        from_s = first * slot_s + (0.0 if goes_on else run.reload_s)
        to_s = after * slot_s - (0.0 if after == n_slots else run.checkpoint_s)
        spell = slice(first, after)
        useful_s[spell] = np.clip(
            np.minimum(begins[spell] + slot_s, to_s) - np.maximum(begins[spell], from_s), 0.0, None
        )
    return RunFacts(gang, option, on, np.cumsum(np.where(on, rate * useful_s, 0.0)))
