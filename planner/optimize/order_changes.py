"""Changes of what runs wait for that mend a promise that is missed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from planner.precedence import waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.optimize.changes import Change
    from planner.run import Run
    from planner.week import Week


@dataclass(frozen=True)
class ShorterLag:
    """A run may start sooner after a stage that it waits for."""

    run: str
    first: str
    hours: float

    def apply(self, week: Week) -> Week:
        """Return the week with the lag shorter by these hours."""
        run = week.run(self.run)
        after = tuple(replace(a, lag_h=max(0.0, a.lag_h - self.hours)) if a.run == self.first else a for a in run.after)
        changed = replace(run, after=after)
        return replace(week, runs=tuple(changed if r.name == self.run else r for r in week.runs))

    def told(self, week: Week) -> str:
        """Return it in words."""
        after = next(a for a in week.run(self.run).after if a.run == self.first)
        left_h = max(0.0, after.lag_h - self.hours)
        return f"a lag of {left_h:.3g} h (now {after.lag_h:g} h) between {after} and run {self.run!r}"


def lag_kinds(week: Week, run: Run) -> Iterator[tuple[Callable[[float], Change], float]]:
    """Yield what makes each lag of a run shorter, and by how many hours at most.

    Args:
        week: All inputs.
        run: The run.
    """
    for after in waits(week, run):
        if after.lag_h > 0.0:
            yield partial(ShorterLag, run.name, after.run), after.lag_h
