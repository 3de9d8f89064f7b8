"""The way from a week to its plan: program, bound, incumbent, schedule."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.optimize.choices import column_values
from planner.optimize.conflicts import infeasible
from planner.optimize.incumbent import Search
from planner.optimize.lexicographic import in_order
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.result import Found, plan_of, size_of, term_money
from planner.optimize.scale import check_supported, plan_many, unsupported
from planner.optimize.size import check_size
from planner.stagger import longest_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.choices import Choices
    from planner.schedule import Plan
    from planner.week import Week

LONGEST_S = 86_400.0
MANY = 40  # runs; beyond them classes of like runs give the better plan in the same time
METHODS = ("auto", "gangs", "scale")


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of the search.

    Args:
        gap_target: Certified gap at which the search stops, share of the objective.
        time_limit_s: Seconds after which the best plan so far is taken, from the call on; at most a day.
        method: "gangs" for the whole program, "scale" for classes of like runs (`planner.optimize.scale`), "auto" for
            "scale" where there are more than `MANY` runs and the week has no part that only the whole program plans.
        windows_h: Hours that are kept of each window where a long horizon is planned by windows (`planner.windows`); 0
            for windows of its own choice, where it is too long to be planned at once.
    """

    gap_target: float = 0.01
    time_limit_s: float = 45.0
    method: str = "auto"
    windows_h: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.gap_target < 1.0:
            raise ConfigError(f"gap target is {self.gap_target:g}; it must be from 0 up to, not with, 1")
        if not 0.0 < self.time_limit_s <= LONGEST_S:
            raise ConfigError(f"time limit is {self.time_limit_s:g} s; it must be above 0 s, at most {LONGEST_S:g} s")
        if self.method not in METHODS:
            raise ConfigError(f"method is {self.method!r}; it must be one of {', '.join(METHODS)}")


def plan(week: Week, options: PlanOptions, starts: Sequence[Choices] = ()) -> Plan:
    """Return the best plan found for a week, with its certified gap.

    The same week and options give the same schedule as long as the gap target is reached more than a second before the
    time limit.

    Args:
        week: All inputs.
        options: Gap target and time limit.
        starts: Plans of this week, or of one much like it, that the search begins with.

    Raises:
        Infeasible: Physics leaves no plan even with every gang off; names the rows that clash.
        ConfigError: A run's on/off grid is no whole number of slots, or the week is larger than can be planned.
        Unfit: A start is no plan of this week.
    """
    if options.method == "scale":
        check_supported(week)
    if week.objective.order:
        return in_order(week, options, plan)
    if _by_classes(week, options):
        return plan_many(week, options.gap_target, options.time_limit_s, starts[0] if starts else None)
    check_size(week)
    began = time.monotonic()
    deadline = began + options.time_limit_s
    program = build(longest_moves(week))
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    build_s = time.monotonic() - began
    known = [column_values(program, index, places, choices) for choices in starts]
    found = Search(program, matrix, places, options.gap_target, deadline, known, index, options.time_limit_s).run()
    if found is None:
        raise infeasible(program, matrix)
    terms = term_money(program, index, found.values)
    return plan_of(
        week,
        program,
        index,
        places,
        Found(found.values, terms, found.bound * program.power_kw, size_of(found)),
        gap_target=options.gap_target,
        seconds=(build_s, time.monotonic() - began - build_s),
    )


def _by_classes(week: Week, options: PlanOptions) -> bool:
    if options.method == "auto":
        return len(week.runs) > MANY and not unsupported(week)
    return options.method == "scale"
