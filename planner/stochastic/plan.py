"""The plan of a week, on its forecast or on its paths, from the start or from a plan in force."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import Infeasible
from planner.idle_power import idle_powered
from planner.optimize import plan as plan_on_forecast
from planner.optimize.conflicts import infeasible
from planner.optimize.incumbent import Search
from planner.optimize.lexicographic import in_order
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.polish import polish
from planner.optimize.result import Found, plan_of, size_of, term_money
from planner.optimize.shifts import Shifts
from planner.optimize.size import check_by_gangs
from planner.optimize.solver import Highs, seconds_left
from planner.stagger import longest_moves
from planner.stochastic.equivalent import Equivalent, Path, equivalent, places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize import PlanOptions
    from planner.optimize.choices import Choices
    from planner.optimize.incumbent import Incumbent
    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.optimize.result import Terms
    from planner.schedule import Plan
    from planner.stochastic.hold import Hold
    from planner.uncertainty import Uncertainty
    from planner.week import Signals, Week

    Floats = npt.NDArray[np.float64]

FORECAST_SHARE = 0.4
"""Of the time limit, for the plan on the forecast alone, with which the search on the paths begins."""
NODES = 50
"""Of the tree over all paths; a count, so that a plan does not depend on the machine."""
KEEP_S = 1.0
FIRST_S = 10.0
EASY = 300
"""Whole columns up to which spells are moved."""
TRIES = 60
"""Moves that are tried: each is a linear program over all paths."""


@dataclass(frozen=True)
class _Built:
    """One program with where its columns stand; `free` is the program before anything was held."""

    program: Program
    index: ColumnIndex
    places: Places
    free: Matrix
    matrix: Matrix
    offset: float
    start: Floats | None

    def changes(self, x: Floats) -> float:
        """Return what changes to what was announced cost, money."""
        return float((self.matrix.cost - self.free.cost) @ x + self.offset) * self.program.power_kw


def plan(week: Week, options: PlanOptions, starts: Sequence[Choices] = (), *, hold: Hold | None = None) -> Plan:
    """Return the best plan found for a week, with its certified gap.

    Where the week knows weighted paths (`Week.uncertainty`), starts, stops and pools are the best for all of them
    together, with power and what stands behind the meter free in each; the power limits that are published are then
    the best ones on the forecast. Objective, terms and gap are those over all paths.

    Args:
        week: All inputs.
        options: Gap target and time limit.
        starts: Plans to begin with, where nothing is held.
        hold: Holds what may not change any more, or None at the start of a week.

    Raises:
        Infeasible: Physics leaves no plan, or none that keeps what is held.
        ConfigError: Classes of like runs are asked for, or there are more decisions than can be planned at once.
    """
    paths = () if week.uncertainty is None else week.uncertainty.scenarios
    if hold is None and not paths:
        return plan_on_forecast(week, options, starts)
    check_by_gangs(week, options, 1 + len(paths))
    if week.objective.order:
        return in_order(week, options, partial(_step, hold=hold))
    began = time.monotonic()
    deadline = began + options.time_limit_s
    base = _built(week, hold)
    scenarios = [_built(_on_path(week, one.signals), hold) for one in paths]
    build_s = time.monotonic() - began
    until = deadline if not paths else began + FORECAST_SHARE * options.time_limit_s
    known = [] if base.start is None else [(base.places.choices, base.start)]
    incumbent = Search(base.program, base.matrix, base.places, options.gap_target, until, known).run()
    if incumbent is None:
        raise infeasible(base.program, base.matrix)
    if paths:
        assert week.uncertainty is not None
        found = _on_paths(base, scenarios, week.uncertainty, incumbent, options.gap_target, deadline)
    else:
        found = _on_forecast(base, incumbent)
    seconds = (build_s, time.monotonic() - began - build_s)
    return plan_of(week, base.program, base.index, base.places, found, gap_target=options.gap_target, seconds=seconds)


def _step(week: Week, options: PlanOptions, starts: Sequence[Choices], *, hold: Hold | None) -> Plan:
    return plan(week, options, starts, hold=hold)


def _on_path(week: Week, signals: Signals) -> Week:
    """Return the week on one path: hotter weather also decides where idle GPUs stay powered.

    Further sites have no paths: they are as they are forecast.
    """
    assert week.uncertainty is not None
    blocks = tuple(
        b if b.site else replace(b, idle_powered=b.idle_powered & idle_powered(week.pools, b, week.grid, signals))
        for b in week.blocks
    )
    return replace(week, signals=signals, blocks=blocks, uncertainty=replace(week.uncertainty, scenarios=()))


def _built(week: Week, hold: Hold | None) -> _Built:
    program = build(longest_moves(week))
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    if hold is None:
        return _Built(program, index, places, matrix, matrix, 0.0, None)
    held = hold(program, places, matrix)
    return _Built(program, index, places, matrix, held.matrix, held.offset, held.start)


def _on_forecast(base: _Built, incumbent: Incumbent) -> Found:
    terms = term_money(base.program, base.index, incumbent.values)
    bound = (incumbent.bound + base.offset) * base.program.power_kw
    if base.start is not None:
        terms = (*terms, ("changes", base.changes(incumbent.values)))
    return Found(incumbent.values, terms, bound, size_of(incumbent))


def _on_paths(
    base: _Built,
    scenarios: Sequence[_Built],
    asked: Uncertainty,
    incumbent: Incumbent,
    gap_target: float,
    deadline: float,
) -> Found:
    """Return the best first stage found for all paths, and its power on the forecast."""
    weights = [one.weight for one in asked.scenarios]
    paths = [Path(weight, one.program, one.index, one.matrix) for weight, one in zip(weights, scenarios, strict=True)]
    joined = equivalent(Path(1.0, base.program, base.index, base.matrix), paths, asked)
    # what the plan on the forecast comes to on the paths is worth more than a short time limit
    plain = _with_first(joined, incumbent.values[joined.first], max(deadline, time.monotonic() + FIRST_S))
    start = _moved(joined, base, plain, deadline)
    bound, searched = _bound_and_search(joined.matrix, start, gap_target, deadline)
    best, values = plain, incumbent.values
    for x in (searched, start):
        polished = None if x is None else _polished(joined, base, x, deadline)
        if polished is not None:
            best, values = x, polished
            break
    if best is None:
        raise Infeasible(
            f"no plan was found in the time given that all {len(paths)} paths of the forecast carry",
            why="a path does not carry the starts and stops that are best on the forecast",
            fix="raise time_limit_s, or set scenarios = 0 in [plan.uncertainty]",
        )
    size = (
        ("columns", joined.matrix.n_columns),
        ("rows", joined.matrix.n_rows),
        ("binaries", int(joined.matrix.whole.sum())),
        ("paths", len(paths)),
    )
    return Found(
        values,
        _terms(base, scenarios, weights, joined, best),
        (bound + base.offset) * base.program.power_kw,
        size,
    )


def _bound_and_search(
    matrix: Matrix, start: Floats | None, gap_target: float, deadline: float
) -> tuple[float, Floats | None]:
    """Return a bound over all paths, and a plan from the tree; None where the start is near enough, or none is found.

    The relaxation takes a fraction of the tree's time, and is bound enough where it certifies the start.
    """
    bound = _box(matrix)
    relaxed = Highs(matrix, whole=False).run(seconds_left(deadline) - KEEP_S)
    if relaxed.status == "optimal":
        bound = max(bound, relaxed.bound)
    if start is not None:
        value = float(matrix.cost @ start)
        if value - bound <= gap_target * abs(value):
            return bound, None
    highs = Highs(matrix, whole=True, mip_rel_gap=gap_target, mip_max_nodes=NODES)
    if start is not None:
        highs.start_from(start)
    answer = highs.run(seconds_left(deadline) - KEEP_S)
    return max(bound, answer.bound), answer.values


def _polished(joined: Equivalent, base: _Built, x: Floats, deadline: float) -> Floats | None:
    """Return the best values on the forecast with the first stage of a plan on the paths; None where it has none."""
    chosen = np.isin(joined.first, base.places.choices) | base.matrix.whole[joined.first]
    first = np.round(x[: len(joined.first)][chosen])
    found = polish(base.matrix, base.places, joined.first[chosen], first, max(deadline, time.monotonic() + FIRST_S))
    return None if found is None else found.values


def _moved(joined: Equivalent, base: _Built, start: Floats | None, deadline: float) -> Floats | None:
    """Return a plan whose spells were moved as long as that helped all paths together; where there is one to move."""
    if start is None or joined.matrix.whole.sum() > EASY:
        return start
    moves = Shifts(joined.matrix, places_of(joined, base.places))
    value = float(joined.matrix.cost @ start)
    choices = moves.better(start, value, deadline - KEEP_S, most_tries=TRIES)
    first = start[: len(joined.first)].copy()
    first[np.searchsorted(joined.first, base.places.choices)] = choices
    found = _with_first(joined, first, deadline)
    return start if found is None or joined.matrix.cost @ found >= value else found


def _with_first(joined: Equivalent, first: Floats, deadline: float) -> Floats | None:
    """Return the best values of all paths with the first stage given, or None where a path does not carry it."""
    highs = Highs(joined.matrix, whole=bool(joined.matrix.whole[len(first) :].any()), mip_max_nodes=NODES)
    columns = np.flatnonzero(joined.matrix.whole[: len(first)])
    fixed = np.round(first[columns])
    highs.bound_columns(columns, fixed, fixed)
    return highs.run(seconds_left(deadline)).values


def _terms(base: _Built, scenarios: Sequence[_Built], weights: Sequence[float], joined: Equivalent, x: Floats) -> Terms:
    """Return the mean of every term over the paths, and what the worst paths count beside it."""
    mean: dict[str, float] = {}
    for s, (weight, one) in enumerate(zip(weights, scenarios, strict=True)):
        for name, money in term_money(one.program, one.index, joined.path_values(x, s)):
            mean[name] = mean.get(name, 0.0) + weight * money
    whole = float(joined.matrix.cost @ x) * base.program.power_kw
    changes = 0.0
    if base.start is not None:
        differ = base.matrix.cost[joined.first] - base.free.cost[joined.first]
        changes = float(differ @ x[: len(joined.first)]) * base.program.power_kw
        mean["changes"] = changes + base.offset * base.program.power_kw
    risk = whole - changes - sum(money for name, money in mean.items() if name != "changes")
    return (*mean.items(), ("risk", risk))


def _box(matrix: Matrix) -> float:
    """Return what the bounds of the columns alone say of the objective."""
    used = matrix.cost != 0.0
    ends = np.minimum(matrix.cost[used] * matrix.lower[used], matrix.cost[used] * matrix.upper[used])
    return float(ends.sum())
