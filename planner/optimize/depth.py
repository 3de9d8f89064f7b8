"""What of a week lies beyond gangs that keep their pool and their count of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.moves import moving_runs

if TYPE_CHECKING:
    from planner.week import Week


def deep_parts(week: Week) -> list[str]:
    """Return what else there is in a week, in words, such as "the moves of run 'a'"."""
    return [f"the moves of run {name!r}" for name in moving_runs(week)]
