"""What runs must be to those that they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.config.faults import did_you_mean
from planner.precedence import circle

if TYPE_CHECKING:
    from planner.config import model
    from planner.config.draft import Draft, Placed


def check_precedence(draft: Draft) -> None:
    """Note every wait for a run or a stage that is not there, for itself, in a circle, or of a run that has begun."""
    runs = {placed.table.name: placed for placed in draft.runs}
    for placed in draft.runs:
        for i, after in enumerate(placed.table.after):
            first = runs.get(after.run)
            if first is None:
                placed.fault(("after", i, "run"), f"there is no run {after.run!r}", did_you_mean(after.run, runs))
            elif first is placed:
                placed.fault(("after", i, "run"), f"{after.run!r} waits for itself", "name the run that goes first")
            else:
                _check_stage(placed, i, first.table)
    _check_circles(draft)


def _check_stage(placed: Placed[model.RunTable], i: int, first: model.RunTable) -> None:
    after, run = placed.table.after[i], placed.table
    names = [stage.name for stage in first.stages]
    stage = after.stage or names[-1]
    if stage not in names:
        placed.fault(("after", i, "stage"), f"run {after.run!r} has no stage {stage!r}", did_you_mean(stage, names))
        return
    if after.run in [one.run for one in run.after[:i]]:
        placed.fault(("after", i, "run"), f"{after.run!r} is waited for twice", "keep its later stage")
    due = sum(one.tokens for one in first.stages[: names.index(stage) + 1])
    begun = "running_in is set" if run.running_in is not None else f"{run.tokens_done:g} tokens are done"
    if first.tokens_done < due and (run.running_in is not None or run.tokens_done > 0):
        placed.fault(
            ("after", i),
            f"{begun}, but {first.tokens_done:g} of the {due:g} tokens up to stage {stage!r} of run {after.run!r}, "
            "which it waits for, are done",
            f"set tokens_done of {after.run!r} to what it has made, or leave this wait out",
        )


def _check_circles(draft: Draft) -> None:
    waits_for = {placed.table.name: [after.run for after in placed.table.after] for placed in draft.runs}
    waits_for = {name: [other for other in others if other != name] for name, others in waits_for.items()}
    names = circle(waits_for)
    if names:
        placed = next(one for one in draft.runs if one.table.name == names[0])
        placed.fault(
            ("after",), f"runs wait for each other in a circle: {' -> '.join(names)}", "leave one of these waits out"
        )
