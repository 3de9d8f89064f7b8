"""What is asked of the calendar in force: where it may change, what must hold, and from when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.respond.course import course_of, cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.respond.course import Course, Pieces
    from planner.week import Week
    from power.events import ImportLimit
    from power.flexibility import DemandResponse, Flexibility
    from trainer_hooks.contract import BlockPlan, Calendar, RunCalendar

STEP_S = 900.0
"""Grid of waits where throttling alone does not do, s."""
MOST_STEPS = 16
"""The same for long events: no more waits to choose from than this."""


@dataclass(frozen=True)
class Span:
    """When runs may change.

    Args:
        begin_s: First instant, seconds from the horizon's start.
        ready_s: From here on what the first limit asks for is set, seconds from the horizon's start.
        met_s: From here on the limits are promised, seconds from the horizon's start.
        until_s: The event's last instant, seconds from the horizon's start.
        end_s: Runs are back where they were, seconds from the horizon's start.
        edges_s: Instants between begin and end at which limits may change so that ramps hold.
    """

    begin_s: float
    ready_s: float
    met_s: float
    until_s: float
    end_s: float
    edges_s: tuple[float, ...]


@dataclass(frozen=True)
class Question:
    """One event put to one calendar.

    Args:
        week: All inputs, with the event's prices and carbon where it names any.
        plans: Block -> what the calendar in force says.
        courses: What it says about every run, in the week's order.
        pieces: The horizon cut where anything may change.
        now_s: The instant of decision, seconds from the horizon's start.
        span: When runs may change.
        limits: Most import over stretches of time.
        priced: Per slot, whether the event changes price or carbon, shape (T,) of bool.
        flexibility: Run -> how far it gives way.
        agreed: What the site has agreed to do.
        waits: Whether runs may wait with their GPUs held.
    """

    week: Week
    plans: Mapping[str, BlockPlan]
    courses: tuple[Course, ...]
    pieces: Pieces
    now_s: float
    span: Span
    limits: tuple[ImportLimit, ...]
    priced: npt.NDArray[np.bool_]
    flexibility: Mapping[str, Flexibility]
    agreed: DemandResponse
    waits: bool

    def seconds(self, limit: ImportLimit) -> tuple[float, float]:
        """Return from when to when a limit is promised, seconds from the horizon's start."""
        start = self.week.grid.start
        return max(self.span.met_s, (limit.start - start).total_seconds()), (limit.end - start).total_seconds()

    def ahead(self) -> tuple[tuple[int, int], ...]:
        """Return (piece just before a limit, first piece of the limit): what is set in the second is set in the first.

        A GPU takes its new power limit a little after it is told; told ahead, it has it when the event begins.
        """
        found: set[tuple[int, int]] = set()
        for limit in self.limits:
            from_s, _ = self.seconds(limit)
            first = int(np.searchsorted(self.pieces.start_s, from_s))
            set_s = max(self.span.ready_s, from_s - self.agreed.lead_s)
            if first < len(self.pieces.start_s):
                found |= {(int(p), first) for p in np.flatnonzero(self.pieces.inside(set_s, from_s))}
        return tuple(sorted(found))


def span_of(
    week: Week, plans: Mapping[str, BlockPlan], now_s: float, asked: Sequence[tuple[float, float]], lead_s: float
) -> Span:
    """Return when runs may change for an event.

    New limits are set `lead_s` before the start, so that every GPU follows them when the event begins, and earlier by
    one staggering window for every further step that a block's ramp allows. Decided too late for that, the limit holds
    as soon as the ramps let it.

    Args:
        week: All inputs.
        plans: Block -> what the calendar in force says.
        now_s: The instant of decision, seconds from the horizon's start.
        asked: (start, end) of what is asked for, seconds from the horizon's start; at least one.
        lead_s: Time before the event at which limits are set, s.
    """
    start_s, until_s = min(a for a, _ in asked), min(max(b for _, b in asked), 3600.0 * week.grid.hours)
    touched = _touched(week, start_s, until_s)
    fall_s, falls = _steps(week, plans, touched, rise=False)
    rise_s, rises = _steps(week, plans, touched, rise=True)
    begin_s = max(now_s, start_s - lead_s - falls * fall_s)
    down = [begin_s + n * fall_s for n in range(falls + 1)]
    up = [until_s + n * rise_s for n in range(rises + 1)]
    met_s = max(start_s, down[-1])
    return Span(float(begin_s), float(down[-1]), float(met_s), until_s, float(up[-1]), (*down, met_s, *up))


def _touched(week: Week, start_s: float, until_s: float) -> slice:
    slot_s = 60.0 * week.grid.slot_minutes
    return slice(max(0, int(start_s // slot_s)), min(week.grid.n_slots, int(np.ceil(until_s / slot_s))))


def _steps(week: Week, plans: Mapping[str, BlockPlan], touched: slice, *, rise: bool) -> tuple[float, int]:
    """Return the longest staggering window, s, and how many further steps any block's ramp may need to idle or back."""
    window_s, most = 0.0, 0
    for block in week.blocks:
        step_kw = block.power.rise_step_kw if rise else block.power.fall_step_kw
        if step_kw is None:
            continue
        way_kw = (np.array(plans[block.name].it_kw) - week.idle_kw(block))[touched]
        further = int(np.ceil(max(0.0, float(way_kw.max(initial=0.0))) / step_kw)) - 1
        if further > 0:
            window_s = max(window_s, min(60.0 * block.power.ramp_window_min, 60.0 * week.grid.slot_minutes))
            most = max(most, further)
    return window_s, most


def pose(
    week: Week,
    header: Calendar,
    runs: Sequence[RunCalendar],
    *,
    now_s: float,
    span: Span,
    limits: tuple[ImportLimit, ...],
    priced: npt.NDArray[np.bool_],
    flexibility: Mapping[str, Flexibility],
    agreed: DemandResponse,
    waits: bool,
) -> Question:
    """Return an event put to a calendar; arguments as in `Question`.

    Args:
        week: All inputs.
        header: The calendar in force.
        runs: The windows of every run.
        now_s: The instant of decision.
        span: When runs may change.
        limits: Most import.
        priced: Slots with another price or carbon.
        flexibility: How far runs give way.
        agreed: What the site has agreed to do.
        waits: Whether runs may wait.
    """
    edges = [now_s, *span.edges_s]
    for limit in limits:
        start_s = (limit.start - week.grid.start).total_seconds()
        edges += [start_s - agreed.lead_s, start_s, (limit.end - week.grid.start).total_seconds()]
    if waits:
        step_s = max(STEP_S, STEP_S * np.ceil((span.until_s - span.met_s) / MOST_STEPS / STEP_S))
        edges += np.arange(span.met_s, span.until_s, step_s).tolist()
    pieces = cut(week.grid, runs, edges)
    given = {run.run: run for run in runs}
    return Question(
        week=week,
        plans={plan.block: plan for plan in header.blocks},
        courses=tuple(course_of(week, run, given[run.name], pieces) for run in week.runs),
        pieces=pieces,
        now_s=now_s,
        span=span,
        limits=limits,
        priced=priced,
        flexibility=flexibility,
        agreed=agreed,
        waits=waits,
    )
