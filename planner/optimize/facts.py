"""What solved column values mean for each run: where it is on, and the tokens that it has made by when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.moves import goes_on, ways_of
from planner.optimize.course import course
from planner.optimize.extract import on_slots, options_used, stays_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.course import TokenCourse
    from planner.optimize.gangs import Gang
    from planner.optimize.model import Program
    from planner.optimize.places import OptionPlaces, Places


@dataclass(frozen=True)
class RunFacts:
    """One run of a solved program.

    Args:
        gang: Its columns.
        option: The option it uses, the first where it moves, or None.
        on: Whether it is on, per slot, shape (T,).
        course: When it certainly makes tokens.
        held: (pool, GPUs, whether it is on there per slot) of every option that it uses.
    """

    gang: Gang
    option: OptionPlaces | None
    on: npt.NDArray[np.bool_]
    course: TokenCourse
    held: tuple[tuple[str, int, npt.NDArray[np.bool_]], ...] = ()

    @property
    def tokens(self) -> npt.NDArray[np.float64]:
        """Tokens that it certainly has made by the end of each slot, shape (T,)."""
        return self.course.tokens


def run_facts(program: Program, places: Places, x: npt.NDArray[np.float64]) -> tuple[RunFacts, ...]:
    """Return the facts of every run, in the week's order."""
    return tuple(_facts(program, gang, place, x) for gang, place in zip(program.gangs, places.gangs, strict=True))


def _facts(program: Program, gang: Gang, place: tuple[OptionPlaces, ...], x: npt.NDArray[np.float64]) -> RunFacts:
    week, run = program.week, gang.run
    n_slots, slot_s = week.grid.n_slots, week.grid.slot_h * 3600.0
    used = options_used(place, x)
    if not used:
        return RunFacts(gang, None, np.zeros(n_slots, dtype=bool), course(np.zeros(n_slots), [], slot_s))
    held = tuple((option.pool, option.gpus, on_slots(option, x, n_slots)) for option in used)
    rate = np.zeros(n_slots)
    for option, (pool, gpus, on) in zip(used, held, strict=True):
        planned = run.option(pool, gpus)
        assert planned is not None
        here = on[option.slots]
        made = option.shares(x) @ option.throughput * planned.tokens_per_gpu_s * gpus
        rate[option.slots[here]] = made[here]
    spells = []
    stays = stays_of(used, x, n_slots)
    for stay, way in zip(stays, ways_of(run, stays), strict=True):
        lost_s = 0.0 if goes_on(run, stay) else run.reload_s + (0.0 if way is None else way.time_s)
        saved_s = 0.0 if stay.after == n_slots else run.checkpoint_s
        spells.append((stay.first, stay.after, lost_s, saved_s))
    on = np.logical_or.reduce([on for _, _, on in held])
    return RunFacts(gang, used[0], on, course(np.where(on, rate, 0.0), spells, slot_s), held)
