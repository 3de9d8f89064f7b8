"""From the column values that a search found to the plan with its certified gap and its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.causes import Solved
from planner.optimize.extract import cooling_fits, schedule
from planner.optimize.facts import run_facts
from planner.optimize.objectives import measured
from planner.optimize.promises import shortfalls, why_lines
from planner.schedule import Plan
from planner.stagger import staggered

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.incumbent import Incumbent
    from planner.optimize.matrix import ColumnIndex
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.week import Week

GAP_NOISE = 1e-7  # a program solved to its end leaves this much between its two numbers

Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Found:
    """What a search found.

    Args:
        values: Column values of the week's program, shape (N,).
        terms: Name -> money of the objective that was searched; they add up to it.
        bound: No plan can cost less, money.
        size: Name -> count.
    """

    values: npt.NDArray[np.float64]
    terms: Terms
    bound: float
    size: Terms


def plan_of(
    week: Week,
    program: Program,
    index: ColumnIndex,
    places: Places,
    found: Found,
    *,
    gap_target: float,
    seconds: tuple[float, float],
) -> Plan:
    """Return the plan that column values stand for.

    Args:
        week: All inputs.
        program: Its program.
        index: Place of every column.
        places: The same by noun.
        found: What the search found.
        gap_target: Certified gap that was asked for, share of the objective.
        seconds: Seconds to build the program, and to solve it.
    """
    x = found.values
    facts = run_facts(program, places, x)
    objective = sum(value for _, value in found.terms)
    bound = min(found.bound, objective)
    gap = gap_of(objective, bound)
    in_time = gap <= max(gap_target, GAP_NOISE)
    return Plan(
        schedule=staggered(week, schedule(program, places, x, why_lines(program, facts))),
        status="optimal" if in_time else "time-limit",
        objective=objective,
        bound=bound,
        mip_gap=gap,
        terms=found.terms,
        shortfalls=shortfalls(Solved(program, places, x, facts, objective - bound, gap, in_time)),
        build_s=seconds[0],
        solve_s=seconds[1],
        size=tuple((name, int(count)) for name, count in found.size),
        cooling=cooling_fits(program, places, x),
        measures=measured(program, index, x),
    )


def gap_of(objective: float, bound: float) -> float:
    """Return the share of an objective by which a bound lies below it, 0 where only rounding is between them."""
    if objective - bound <= GAP_NOISE * max(1.0, abs(objective)):
        return 0.0
    return (objective - bound) / abs(objective) if objective else 1.0


def term_money(program: Program, index: ColumnIndex, x: npt.NDArray[np.float64]) -> Terms:
    """Return what each term of a program's objective comes to, money.

    Args:
        program: The program.
        index: Place of every column.
        x: Column values, shape (N,).
    """
    money = []
    for name, columns in program.terms.items():
        places = index.many([c for c, _ in columns])
        coefficients = np.array([c for _, c in columns])
        money.append((name, float(coefficients @ x[places]) * program.power_kw if columns else 0.0))
    return tuple(money)


def size_of(found: Incumbent) -> Terms:
    """Return the size of the program that a search ended with."""
    return (("columns", found.columns), ("rows", found.rows), ("binaries", found.binaries), ("cuts", found.cuts))
