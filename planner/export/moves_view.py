"""Where a run that moves is, and for how long, for people and machines."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from planner.export import wording
from planner.moves import moving_runs

if TYPE_CHECKING:
    from planner.evaluate import RunResult
    from planner.outcome import Outcome
    from trainer_hooks.calendar import RunCalendar

HOUR = timedelta(hours=1)
MOST_LINES = 20


def places(run: RunCalendar) -> list[dict[str, Any]]:
    """Return each pool with each count of GPUs that a run holds, in the order of its first stay, with the hours."""
    found: dict[tuple[str, int], float] = {}
    for window in run.windows:
        if window.pool is not None:
            place = window.pool, window.gpus
            found[place] = found.get(place, 0.0) + (window.end - window.start) / HOUR
    return [{"pool": pool, "gpus": gpus, "hours": hours} for (pool, gpus), hours in found.items()]


def figures(outcome: Outcome, result: RunResult) -> dict[str, Any]:
    """Return how often a run moves and where it is, as JSON values; nothing for one that keeps its place."""
    if not outcome.week.run(result.run).moves:
        return {}
    return {"moves": result.moves, "places": places(_calendar(outcome, result))}


def place(outcome: Outcome, result: RunResult) -> str:
    """Return in words where a run is: its pool with its block, and every further one with its GPUs and hours."""
    week = outcome.week
    if result.pool is None:
        return "does not run"
    if not week.run(result.run).moves:
        return f"{result.pool} in {week.pool(result.pool).place}"
    told = [
        f"{wording.count(one['gpus'])} GPUs of {one['pool']} in {week.pool(one['pool']).place} "
        f"for {wording.duration(one['hours'])}"
        for one in places(_calendar(outcome, result))
    ]
    count = "no move" if result.moves == 0 else "1 move" if result.moves == 1 else f"{result.moves} moves"
    return f"{'; '.join(told)}; {count}"


def totals(outcome: Outcome) -> dict[str, float]:
    """Return what bringing the state of runs took, as JSON values, for one site; `geography_view` tells of several."""
    found = outcome.evaluation
    if found.sites or not moving_runs(outcome.week):
        return {}
    return {"transfer_kwh": found.transfer_kwh, "transfer_kg": found.transfer_kg}


def closing_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return where each run that may move is, for the end of a planning."""
    names = moving_runs(outcome.week)
    told = [
        f"moves      {result.run}: {place(outcome, result)}"
        for result in outcome.evaluation.runs
        if result.run in names
    ]
    more = [f"           and {len(told) - MOST_LINES} more in plan.json"] if len(told) > MOST_LINES else []
    return (*told[:MOST_LINES], *more)


def _calendar(outcome: Outcome, result: RunResult) -> RunCalendar:
    return next(run for run in outcome.runs if run.run == result.run)
