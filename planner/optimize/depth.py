"""What of a week lies beyond a gang of one size in one pool at one table of points, each run for itself.

Shortcuts that see no more than such gangs ask here first, so that their bounds stay true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.precedence import waits

if TYPE_CHECKING:
    from planner.week import Week


def plain(week: Week) -> bool:
    """Return whether every run of a week is planned as such a gang."""
    return not deep_parts(week)


def deep_parts(week: Week) -> list[str]:
    """Return what else there is in a week, in words, such as "the wait of run 'b' for stage 'x' of run 'a'"."""
    found = [f"the wait of run {run.name!r} for {after}" for run in week.runs for after in waits(week, run)]
    found += [f"the span {pool.name!r}" for pool in week.pools if pool.spans]
    return found
