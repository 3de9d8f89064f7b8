"""What is different between two calendars, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.export import wording
from planner.timegrid import zone

if TYPE_CHECKING:
    from trainer_hooks.contract import Calendar, RunCalendar, Window

_SAME = 5e-4
"""Of a sum: smaller changes are those of the solver's tolerance."""
_VERBS = {"run": "runs", "hold": "holds", "off": "is off"}
_MOST_SPANS = 12


@dataclass(frozen=True)
class _Change:
    start: datetime
    end: datetime
    was: str
    now: str


def calendar_changes(
    before: tuple[Calendar, Sequence[RunCalendar]], after: tuple[Calendar, Sequence[RunCalendar]]
) -> tuple[str, ...]:
    """Say what a calendar changes against another one, over the time that both cover.

    Args:
        before: Header and the windows of every run of the one that is compared with.
        after: Those of the new one.

    Returns:
        Sentences: sums first, then run by run; one that says so where nothing is different.
    """
    (old, old_runs), (new, new_runs) = before, after
    start, end = max(old.valid_from, new.valid_from), min(old.valid_until, new.valid_until)
    if start >= end:
        return (f"The calendars cover different times: {_span(new, old)}.",)
    was, now = ({run.run: run for run in runs} for runs in (old_runs, new_runs))
    told = list(_sums(was, now, start, end))
    told += [f"Run {name!r} is new." for name in now if name not in was]
    told += [f"Run {name!r} is no longer in it." for name in was if name not in now]
    for name, run in now.items():
        if name in was:
            told += _run_changes(was[name], run, (start, end), new)
    short = {(s.run, s.stage) for s in old.shortfalls}
    told += [f"It does not keep: {s.sentence}" for s in new.shortfalls if (s.run, s.stage) not in short]
    still_short = {(s.run, s.stage) for s in new.shortfalls}
    told += [
        f"It keeps stage {s.stage!r} of run {s.run!r}, which was not kept before."
        for s in old.shortfalls
        if (s.run, s.stage) not in still_short
    ]
    return tuple(told) or ("Nothing that a run does is different.",)


def _span(new: Calendar, old: Calendar) -> str:
    return " and ".join(f"{one.valid_from:%Y-%m-%d} to {one.valid_until:%Y-%m-%d}" for one in (new, old))


def _sums(was: dict[str, RunCalendar], now: dict[str, RunCalendar], start: datetime, end: datetime) -> Iterator[str]:
    for name, title, show in (
        ("energy_kwh", "IT energy of all runs", wording.energy),
        ("kgco2e", "Carbon of all runs", wording.carbon),
        ("tokens", "Tokens of all runs", lambda tokens: f"{tokens:.4g}"),
    ):
        old, new = (sum(_within(run, name, start, end) for run in runs.values()) for runs in (was, now))
        if abs(new - old) > _SAME * max(abs(old), abs(new)):
            share = f" ({100 * (new / old - 1):+.1f} %)" if old else ""
            yield f"{title}: {show(new)} instead of {show(old)}{share}."


def _within(run: RunCalendar, name: str, start: datetime, end: datetime) -> float:
    total = 0.0
    for window in run.windows:
        inside = (min(window.end, end) - max(window.start, start)).total_seconds()
        if inside > 0.0:
            total += getattr(window, name) * inside / (window.end - window.start).total_seconds()
    return total


def _run_changes(was: RunCalendar, now: RunCalendar, both: tuple[datetime, datetime], header: Calendar) -> list[str]:
    start, end = both
    edges = {start, end} | {
        edge for run in (was, now) for w in run.windows for edge in (w.start, w.end) if start < edge < end
    }
    spans: list[_Change] = []
    ordered = sorted(edges)
    for first, after in pairwise(ordered):
        old, new = was.window_at(first), now.window_at(first)
        if old is None or new is None or _does(old) == _does(new):
            continue
        change = _Change(first, after, _does(old), _does(new))
        last = spans[-1] if spans else None
        if last is not None and (last.end, last.was, last.now) == (first, change.was, change.now):
            spans[-1] = _Change(last.start, after, change.was, change.now)
        else:
            spans.append(change)
    tz = zone(header.timezone)
    told = [
        f"{change.start.astimezone(tz):%a %d %b %H:%M} to {change.end.astimezone(tz):%a %d %b %H:%M}: "
        f"run {now.run!r} {change.now} ({change.was} before)."
        for change in spans[:_MOST_SPANS]
    ]
    if len(spans) > _MOST_SPANS:
        told.append(f"Run {now.run!r} changes in {len(spans) - _MOST_SPANS} more spans.")
    return told


def _does(window: Window) -> str:
    limit = "" if window.gpu_power_limit_w is None else f" at {window.gpu_power_limit_w:.0f} W per GPU"
    pool = "" if window.pool is None else f" in pool {window.pool!r}"
    return _VERBS[window.state] + (pool + limit if window.state == "run" else "")
