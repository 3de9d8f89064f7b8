"""Work beyond what is due, so that failures leave the chance that a deadline asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from power.failure_budget import margin_tokens

if TYPE_CHECKING:
    from planner.run import Run
    from planner.timegrid import TimeGrid


def with_margins(run: Run, grid: TimeGrid) -> Run:
    """Return a run with the margin of each stage that is due in a horizon and asks for a chance.

    Args:
        run: The run as the horizon finds it.
        grid: The slots.
    """
    if run.goodput is None:
        return run
    rate = run.fastest_tokens_per_s / run.goodput.factor_share
    due = -run.tokens_done
    stages = []
    for stage in run.stages:
        due += stage.tokens
        margin = 0.0
        if stage.deadline_confidence is not None and stage.deadline <= grid.end:
            margin = margin_tokens(run.goodput, due, rate, stage.deadline_confidence)
        stages.append(replace(stage, margin_tokens=margin))
    return replace(run, stages=tuple(stages))
