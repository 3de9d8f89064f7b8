"""From a long horizon to its plan, window after window, judged and bounded as a whole."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from planner.errors import ConfigError, Infeasible
from planner.optimize.limits import block_limits
from planner.optimize.scale import ManyGangs, check_supported
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.goals import valued
from planner.optimize.scale.pressing import pressed
from planner.optimize.solver import seconds_left
from planner.stagger import longest_moves
from planner.stochastic.plan import plan
from planner.windows.course import Course
from planner.windows.cut import at_start, cut
from planner.windows.hold import held
from planner.windows.pace import pace
from planner.windows.spans import spans
from power.battery import FREE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from planner.optimize import PlanOptions
    from planner.schedule import Plan
    from planner.stochastic.hold import Hold
    from planner.week import Week
    from planner.windows.hold import Handover

PACE_SHARE, END_SHARE = 0.3, 0.1  # of the time: the aggregate program, and what comes behind the windows
LEAST_PACE_S, LEAST_S = 240.0, 10.0  # for the aggregate program, and for each window, however little time is given


def plan_by_windows(week: Week, options: PlanOptions, stage: Callable[[str], AbstractContextManager[None]]) -> Plan:
    """Return the plan of a long horizon.

    Windows that overlap are planned one after the other, every gang by itself: each finds what the one before has left,
    and its runs are due at its end as far as the aggregate program of the whole horizon has them by then. What they
    come to is one plan, whose bound is that of the whole horizon.

    Args:
        week: All inputs of the whole horizon.
        options: Gap target, time limit of all windows together, and how long they are.
        stage: Told what is being done.

    Raises:
        ConfigError: The horizon has parts that are not planned by windows; names them.
        Infeasible: Physics leaves no plan.
    """
    check_supported(week, "plan a week at a time")
    if week.objective.order:
        raise ConfigError(
            "planning by windows does not know the order of measures",
            why="each window would have an order of its own",
            fix="weigh measures by their prices, or plan a week at a time",
        )
    if week.uncertainty is not None and week.uncertainty.scenarios:
        raise ConfigError(
            "planning by windows does not know paths of the forecast",
            why="each window is planned on the forecast alone",
            fix="set scenarios = 0 in [plan.uncertainty], or plan a week at a time",
        )
    began = time.monotonic()
    deadline = began + options.time_limit_s
    moved = longest_moves(week)
    gangs = crowd(moved, [block_limits(moved, block) for block in moved.blocks])
    windows = spans(week, options.windows_h)
    with stage("pacing the whole horizon"):
        pace_s = max(LEAST_PACE_S, PACE_SHARE * options.time_limit_s)
        paced = pace(pressed(valued(gangs)), [span.after for span in windows], pace_s)
    if paced is None:
        raise ConfigError(
            f"the aggregate program of the whole horizon was not solved within {pace_s:,.0f} s",
            why="windows are paced by it",
            fix="raise time_limit_s in [plan], or take longer slots",
        )
    build_s = time.monotonic() - began
    course = Course(gangs, at_start(week))
    for i, span in enumerate(windows):
        first, last = (week.grid.starts[t].astimezone(week.tz) for t in (span.first, span.after - 1))
        left = seconds_left(deadline) - END_SHARE * options.time_limit_s
        limit = replace(options, method="gangs", time_limit_s=max(LEAST_S, left / (len(windows) - i)), windows_h=0.0)
        with stage(f"planning window {i + 1} of {len(windows)}, {first:%Y-%m-%d} to {last:%Y-%m-%d}"):
            window = cut(week, span, course.state, paced)
            found = _window(window, limit, course.handover(span) if i else None)
        course.go_on(span, found.schedule)
    with stage("joining the windows"):
        planner = ManyGangs(options.gap_target, max(LEAST_S, seconds_left(deadline)))
        return planner.finish(week, paced.prices, course.places(), paced.size, build_s)


def _window(window: Week, options: PlanOptions, handover: Handover | None) -> Plan:
    """Return a window's plan; what is handed over may not be kept to the letter, nor may the battery end as paced.

    The whole plan is mended where the windows join, and its batteries are planned as a whole.
    """
    tries: list[tuple[Week, Hold | None]] = [(window, None), (_free_ends(window), None)]
    if handover is not None:
        tries.insert(0, (window, partial(held, handover=handover)))
    for tried, hold in tries[:-1]:
        try:
            return plan(tried, options, hold=hold)
        except Infeasible:
            continue
    return plan(tries[-1][0], options)


def _free_ends(window: Week) -> Week:
    """Return a window whose batteries may end as they like."""
    blocks = tuple(
        block if block.battery is None else replace(block, battery=replace(block.battery, final_rule=FREE))
        for block in window.blocks
    )
    return replace(window, blocks=blocks)
