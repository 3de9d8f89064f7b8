"""What a plan came to on the series as they were: the same calendar, replayed on the grid and weather that came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.evaluate import evaluate
from planner.outcome import Hindsight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.evaluate import Evaluation
    from planner.outlook import Gathered
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

SAME_SERIES = "The plan was made on these same series, so nothing can differ."
"""What is told where the plan already knew what would happen, as with the demo."""


def replay_actual(
    week: Week, calendar: Calendar, runs: Sequence[RunCalendar], planned: Evaluation, actual: Gathered
) -> Hindsight:
    """Replay a calendar on the series as they were.

    Runs and battery keep to the calendar; cooling, solar power, import, carbon and money follow what came.

    Args:
        week: The inputs that the calendar was made from.
        calendar: The header.
        runs: The windows of every run.
        planned: The judge's figures on the series that the calendar was made from.
        actual: The series as they were, from `planner.outlook.actual_signals`.
    """
    found = evaluate(calendar, runs, week, actual.signals)
    known = {(broken.kind, broken.subject) for broken in planned.violations}
    digests = {entry.signal: entry.sha256 for entry in week.provenance}
    same = all(digests.get(entry.signal) == entry.sha256 for entry in actual.provenance)
    return Hindsight(
        evaluation=found,
        broken=tuple(broken for broken in found.violations if (broken.kind, broken.subject) not in known),
        provenance=actual.provenance,
        labels=(*actual.labels, SAME_SERIES) if same else actual.labels,
    )
