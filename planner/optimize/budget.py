"""Rows and columns of goals: what of a measure lies above what is free of it, at its price.

A goal never makes a program infeasible, and no row says "objective <= optimum": what is above has a price, so that
rounding of a price or of an optimum leaves a plan (PyPSA and Calliope lose theirs to noise of 1e-11 there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.objective import Goal
    from planner.optimize.columns import Column, Terms

TINY = 1e-9  # of a row's largest coefficient: noise to the solver


def goal_terms(
    prob: pulp.LpProblem, goals: Sequence[Goal], measures: Mapping[str, Sequence[tuple[Column, float]]], power_kw: float
) -> Terms:
    """Add the rows of goals to a program, and return the objective's coefficients.

    Args:
        prob: The program.
        goals: The goals.
        measures: What each column adds to each measure (`planner.optimize.objectives.measure_terms`).
        power_kw: Unit of power, kW.
    """
    terms: Terms = []
    for i, goal in enumerate(goals):
        columns = _gathered(measures[goal.measure])
        if goal.most is None:
            terms += [(v, c * goal.money_per_unit) for v, c in columns]
            continue
        scale = max((abs(c) for _, c in columns), default=0.0)
        if scale == 0.0:
            continue
        over = prob.add_variable(f"over_{goal.measure}_{i}", 0)
        row = [(v, c / scale) for v, c in columns if abs(c) > TINY * scale]
        prob += (
            pulp.LpAffineExpression([*row, (over, -1.0)]) <= goal.most / (scale * power_kw),
            (f"most_{goal.measure}_{i}"),
        )
        terms.append((over, goal.money_per_unit * scale))
    return terms


def _gathered(columns: Sequence[tuple[Column, float]]) -> Terms:
    """Return each column once."""
    sums: dict[Column, float] = {}
    for v, c in columns:
        sums[v] = sums.get(v, 0.0) + c
    return list(sums.items())
