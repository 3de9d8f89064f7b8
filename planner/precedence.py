"""Runs that wait for a stage of another run, such as a prototype before it is promoted to full scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from planner.run import Run
    from planner.week import Week


@dataclass(frozen=True)
class After:
    """What a run waits for.

    Args:
        run: Name of the run that goes first.
        stage: Name of its stage that must be done.
        lag_h: Hours from then on in which the waiting run may not start yet.
    """

    run: str
    stage: str
    lag_h: float = 0.0

    def __str__(self) -> str:
        return f"stage {self.stage!r} of run {self.run!r}"


def needed_tokens(week: Week, after: After) -> float:
    """Return the tokens that the first run must make in the horizon before the stage is done; 0 or less if it is."""
    return tokens_up_to(week.run(after.run), after.stage)


def tokens_up_to(run: Run, stage: str) -> float:
    """Return the tokens that are left up to the end of a run's stage; 0 or less if there are none."""
    total = -run.tokens_done
    for one in run.stages:
        total += one.tokens
        if one.name == stage:
            return total
    raise KeyError(stage)


def waits(week: Week, run: Run) -> tuple[After, ...]:
    """Return what of a run's precedence is still to be waited for as the horizon starts."""
    return tuple(after for after in run.after if needed_tokens(week, after) > 0.0)


def promised_start(week: Week, run: Run) -> datetime:
    """Return the instant from which a run may start if all that it waits for is done by its deadline, UTC."""
    starts = [run.earliest_start]
    for after in waits(week, run):
        stage = next(one for one in week.run(after.run).stages if one.name == after.stage)
        starts.append(stage.deadline + timedelta(hours=after.lag_h))
    return max(starts)


def first_h(week: Week, run: Run) -> float:
    """Return how long after the start of the horizon a run can start at the earliest, whatever other runs do, h."""
    found = max(0.0, week.grid.position(run.earliest_start) * week.grid.slot_h)
    for after in waits(week, run):
        first = week.run(after.run)
        reload_s = 0.0 if first.running_in is not None else first.reload_s
        work_s = needed_tokens(week, after) / first.fastest_tokens_per_s
        found = max(found, first_h(week, first) + (reload_s + work_s) / 3600.0 + after.lag_h)
    return found


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Return runs in the order given, but each behind those that it waits for."""
    left = list(runs)
    here, found = {run.name for run in left}, []
    while left:
        # a run that waits for itself in the end goes where it stands
        free = (run for run in left if not any(after.run in here for after in run.after))
        run = next(free, left[0])
        left.remove(run)
        here.discard(run.name)
        found.append(run)
    return found


def circle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return names that wait for each other in a circle, or none.

    Args:
        waits_for: Name -> names that it waits for.
    """
    for start in waits_for:
        paths: list[tuple[str, ...]] = [(start,)]
        seen: set[str] = set()
        while paths:
            path = paths.pop()
            for name in waits_for.get(path[-1], ()):
                if name == start:
                    return (*path, start)
                if name not in seen:
                    seen.add(name)
                    paths.append((*path, name))
    return ()


def of_week(runs: Sequence[Run], given: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Return the runs of a week with what they still wait for, without those that wait for a run that is left out.

    Args:
        runs: The runs of the week, without stages that are made.
        given: All runs of the site, with all their stages.

    Returns:
        The runs, and sentences about those left out.
    """
    whole = {run.name: run for run in given}
    kept, told = {run.name: run for run in runs}, []
    for run in in_order(runs):
        still: list[After] = []
        for after in run.after:
            if tokens_up_to(whole[after.run], after.stage) <= 0.0:
                continue
            if after.run not in kept:
                told.append(f"Run {run.name!r} waits for {after}, which is left out, and is left out too.")
                del kept[run.name]
                break
            still.append(after)
        else:
            if tuple(still) != run.after:
                kept[run.name] = replace(run, after=tuple(still))
    return tuple(kept[run.name] for run in runs if run.name in kept), tuple(told)
