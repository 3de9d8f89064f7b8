"""The moves of a schedule: when a run goes on in another pool or with another count of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.moves import home, ways_of

if TYPE_CHECKING:
    from planner.moves import Way
    from planner.schedule import Schedule
    from planner.week import Week


@dataclass(frozen=True)
class Moved:
    """A run that goes on in another pool or with another count of GPUs than before.

    Args:
        run: Name of the run.
        slot: Slot in which it goes on.
        origin: Pool that it was in.
        target: Pool that it goes on in.
        gpus_before: GPUs that it had, or None where nothing says so.
        gpus: GPUs that it goes on with.
        way: What lies between the pools, or None in one pool.
    """

    run: str
    slot: int
    origin: str
    target: str
    gpus_before: int | None
    gpus: int
    way: Way | None


def moves_of(week: Week, schedule: Schedule) -> tuple[Moved, ...]:
    """Return every move of a schedule, in the week's order of runs."""
    found: list[Moved] = []
    for decided in schedule.runs:
        run = week.run(decided.run)
        if not decided.stays:
            continue
        before = [home(run), *(stay.pool for stay in decided.stays[:-1])]
        sizes = [run.running_gpus or run.gpus if run.running_in else None, *(s.gpus for s in decided.stays[:-1])]
        for stay, origin, gpus, way in zip(decided.stays, before, sizes, ways_of(run, decided.stays), strict=True):
            if origin is not None and (origin, gpus or stay.gpus) != (stay.pool, stay.gpus):
                found.append(Moved(run.name, stay.first, origin, stay.pool, gpus, stay.gpus, way))
    return tuple(found)
