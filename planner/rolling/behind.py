"""How far runs are ahead of a calendar, or behind it, by what telemetry reports; and the week that allows for it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

GOES_ON = "goes_on"
"""Input of a calendar that goes on from another one: which, since when, and how far runs were ahead of it."""
AHEAD = "ahead_tokens"
HOUR_S = 3600


def ahead_tokens(
    runs: Sequence[RunCalendar], reported: Mapping[str, Mapping[int, float]], now: datetime
) -> dict[str, float]:
    """Return by how many tokens each run is ahead of its windows; below zero where it is behind.

    From a run's first hour with telemetry to its last whole one, an hour without any counts as one without tokens.
    Runs of which nothing is reported are taken to be where they were to be.

    Args:
        runs: The windows of every run.
        reported: Run -> start of an hour, s since 1970 -> useful tokens reported in it.
        now: The present instant, UTC.
    """
    found = {}
    for run in runs:
        from_s, until_s = run.valid_from.timestamp(), now.timestamp()
        hours = {
            start: tokens
            for start, tokens in reported.get(run.run, {}).items()
            if start >= from_s and start + HOUR_S <= until_s
        }
        if hours:
            first, last = (datetime.fromtimestamp(s, UTC) for s in (min(hours), max(hours) + HOUR_S))
            found[run.run] = round(sum(hours.values()) - expected_tokens(run, first, last), 6)
    return found


def expected_tokens(run: RunCalendar, start: datetime, end: datetime) -> float:
    """Return the tokens that a run's windows expect between two instants."""
    total = 0.0
    for window in run.windows:
        inside_s = (min(window.end, end) - max(window.start, start)).total_seconds()
        if inside_s > 0.0:
            total += window.tokens * inside_s / (window.end - window.start).total_seconds()
    return total


def with_ahead(week: Week, runs: Sequence[RunCalendar], ahead: Mapping[str, float], until: datetime) -> Week:
    """Return a week whose runs have made so many tokens more before it than was known; fewer, where below zero.

    No run is taken to be so far ahead that the windows up to an instant would make more than all its tokens.

    Args:
        week: The week.
        runs: The windows of every run, in force up to the instant.
        ahead: Run -> tokens.
        until: The instant, UTC.
    """
    given = {run.run: run for run in runs}
    changed = []
    for run in week.runs:
        more = ahead.get(run.name, 0.0)
        if more > 0.0:
            made = expected_tokens(given[run.name], week.grid.start, until)
            more = min(more, max(0.0, week.work_tokens(run) - made))
        changed.append(replace(run, tokens_done=run.tokens_done + more) if more else run)
    return replace(week, runs=tuple(changed))


def told_ahead(week: Week, base: Week) -> str:
    """Return, as a calendar's header has it, by how much a week's runs are ahead of those of another."""
    pairs = zip(week.runs, base.runs, strict=True)
    ahead = {a.name: a.tokens_done - b.tokens_done for a, b in pairs if a.tokens_done != b.tokens_done}
    return json.dumps(ahead, sort_keys=True, allow_nan=False)


def as_made_from(week: Week, header: Calendar) -> Week:
    """Return the week of a calendar with its runs as far ahead as the calendar says that it took them to be.

    Raises:
        ConfigError: What it says cannot be read.
    """
    text = header.inputs.get(GOES_ON, {}).get(AHEAD)
    if text is None:
        return week
    try:
        ahead = {str(run): float(tokens) for run, tokens in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(
            f"calendar {header.calendar_id} says how far its runs were ahead in a way that cannot be read",
            fix="take the calendar as it was published, or plan the week again",
        ) from None
    return replace(
        week,
        runs=tuple(
            replace(run, tokens_done=run.tokens_done + ahead[run.name]) if run.name in ahead else run
            for run in week.runs
        ),
    )
