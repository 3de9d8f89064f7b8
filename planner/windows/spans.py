"""Which horizons are planned by windows, and where these begin and end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.optimize.scale import unsupported
from planner.optimize.search import MANY
from planner.optimize.size import MOST_DECISIONS, decisions

if TYPE_CHECKING:
    from planner.optimize import PlanOptions
    from planner.week import Week

AT_ONCE_H = 336.0  # a horizon up to so long is planned at once where its program is not too large
WINDOW_H = 72.0  # kept of each window where nothing else is asked for
OVERLAP_SHARE = 1 / 3  # of what is kept: how much farther a window looks


@dataclass(frozen=True)
class Span:
    """A window, in slots of the whole horizon.

    Args:
        first: Its first slot.
        kept: First slot that the next window plans anew.
        after: Slot after its last.
    """

    first: int
    kept: int
    after: int


def by_windows(week: Week, options: PlanOptions) -> bool:
    """Return whether a horizon is planned by windows.

    It is where their length is asked for and shorter than the horizon; else where it is longer than two weeks or its
    program too large, unless classes of like runs plan it at once or paths of the forecast are looked at.
    """
    hours = week.grid.hours
    if options.windows_h:
        return options.windows_h < hours
    paths = week.uncertainty is not None and bool(week.uncertainty.scenarios)
    known = not unsupported(week)
    if paths or options.method == "scale" or not known or (options.method == "auto" and len(week.runs) > MANY):
        return False
    return hours > AT_ONCE_H or (hours > WINDOW_H and decisions(week) > MOST_DECISIONS)


def spans(week: Week, windows_h: float) -> tuple[Span, ...]:
    """Return the windows of a horizon.

    They begin on every run's grid of starts and stops. A last one that would be shorter than half a window joins the
    one before.

    Args:
        week: All inputs.
        windows_h: Hours kept of each window; 0 for `WINDOW_H`.
    """
    n_slots, slot_h = week.grid.n_slots, week.grid.slot_h
    step = math.lcm(*(max(1, round(run.on_off_grid_h / slot_h)) for run in week.runs))
    kept = max(step, round((windows_h or WINDOW_H) / slot_h / step) * step)
    overlap = max(step, round(kept * OVERLAP_SHARE / step) * step)
    found, first = [], 0
    while first < n_slots:
        last = first + kept + overlap >= n_slots or first + kept + kept // 2 >= n_slots
        found.append(Span(first, n_slots if last else first + kept, n_slots if last else first + kept + overlap))
        first = found[-1].kept
    return tuple(found)
