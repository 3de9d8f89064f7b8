"""What of a week lies beyond gangs on one island each, every run for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.precedence import waits

if TYPE_CHECKING:
    from planner.week import Week


def deep_parts(week: Week) -> list[str]:
    """Return what else there is in a week, in words, such as "the wait of run 'b' for stage 'x' of run 'a'"."""
    found = [f"the wait of run {run.name!r} for {after}" for run in week.runs for after in waits(week, run)]
    found += [f"the span {pool.name!r}" for pool in week.pools if pool.spans]
    return found
