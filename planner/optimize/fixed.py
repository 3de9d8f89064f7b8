"""The linear program that is left of a week once all whole choices are those of a plan, and its solution."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import CARBON
from planner.optimize.choices import column_values
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.places import locate
from planner.optimize.polish import polish
from planner.stagger import longest_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.choices import Choices
    from planner.optimize.columns import Column
    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.optimize.polish import Polished
    from planner.week import Week

LONGEST_S = 120.0


@dataclass(frozen=True)
class Worth:
    """An amount as the program counts it.

    Args:
        total: Money in all: paid, lateness at its price, and carbon at its price.
        carbon_kg: kgCO2e of import and generators.
        lateness: Money of work missing at deadlines.
        carbon_price: Money per kgCO2e, by which the carbon counts in `total`.
        over_budget: Money of carbon beyond the budget, at what that costs besides.
    """

    total: float
    carbon_kg: float
    lateness: float
    carbon_price: float
    over_budget: float = 0.0

    @property
    def paid(self) -> float:
        """Money really paid or spared."""
        return self.total - self.lateness - self.carbon_kg * self.carbon_price - self.over_budget

    def less(self, other: Worth) -> Worth:
        """Return what this is more than another."""
        return Worth(
            self.total - other.total,
            self.carbon_kg - other.carbon_kg,
            self.lateness - other.lateness,
            self.carbon_price,
            self.over_budget - other.over_budget,
        )

    def times(self, factor: float) -> Worth:
        """Return a multiple."""
        amounts = (self.total * factor, self.carbon_kg * factor, self.lateness * factor)
        return Worth(*amounts, self.carbon_price, self.over_budget * factor)


@dataclass(frozen=True)
class Parts:
    """What the columns of a program cost, per unit of each, in the program's units of money, shape (N,) each."""

    total: npt.NDArray[np.float64]
    carbon_kg: npt.NDArray[np.float64]
    lateness: npt.NDArray[np.float64]
    over_budget: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fixed:
    """A week's program with all whole choices settled, and the best that is left.

    Args:
        program: The program.
        index: Place of every column.
        places: The same by noun.
        whole: The program before its choices are settled, as arrays.
        matrix: The linear program that is left: choices fixed, slots held to real curves.
        polished: Its solution.
        parts: What its columns cost.
    """

    program: Program
    index: ColumnIndex
    places: Places
    whole: Matrix
    matrix: Matrix
    polished: Polished
    parts: Parts

    @property
    def worth(self) -> Worth:
        """What the solution costs."""
        return worth_of(self.program, self.parts, self.polished.values)


def fix(week: Week, choices: Choices) -> Fixed | None:
    """Return the program of a week with choices settled, or None if they leave no solution.

    Args:
        week: All inputs.
        choices: Those of a plan of this week or of one much like it.

    Raises:
        Unfit: The choices are none of this week's.
        Infeasible: A block cannot even carry its idle power.
    """
    program = build(longest_moves(week))
    matrix, index = from_pulp(program.problem)
    places = locate(program, index)
    return fix_values(program, matrix, index, places, *column_values(program, index, places, choices))


def fix_values(
    program: Program,
    matrix: Matrix,
    index: ColumnIndex,
    places: Places,
    columns: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> Fixed | None:
    """Return a program with columns settled, or None if they leave no solution.

    Args:
        program: The program.
        matrix: The same as arrays.
        index: Place of every column.
        places: The same by noun.
        columns: Whole columns, at least `places.choices`, shape (C,).
        values: Their values, shape (C,).
    """
    polished = polish(matrix, places, columns, values, time.monotonic() + LONGEST_S)
    if polished is None:
        return None
    held = matrix.with_rows(polished.held)
    lower, upper = held.lower.copy(), held.upper.copy()
    lower[polished.columns] = upper[polished.columns] = polished.fixed
    left = replace(held, lower=lower, upper=upper, whole=np.zeros_like(held.whole))
    return Fixed(program, index, places, matrix, left, polished, parts_of(program, matrix, index))


def parts_of(program: Program, matrix: Matrix, index: ColumnIndex) -> Parts:
    """Return what the columns of a program cost, split."""

    def summed(columns: Sequence[tuple[Column, float]]) -> npt.NDArray[np.float64]:
        per_unit = np.zeros(matrix.n_columns)
        for column, amount in columns:
            per_unit[index(column)] += amount
        return per_unit

    late, beyond = (summed(program.terms.get(name, ())) for name in ("lateness", "goals"))
    return Parts(matrix.cost, summed(program.measures[CARBON]), late, beyond)


def worth_of(program: Program, parts: Parts, x: npt.NDArray[np.float64]) -> Worth:
    """Return what column values cost, shape (N,)."""
    total, carbon_kg, lateness, over_budget = (
        float(part @ x) * program.power_kw for part in (parts.total, parts.carbon_kg, parts.lateness, parts.over_budget)
    )
    return Worth(total, carbon_kg, lateness, program.week.prices.carbon_per_t / 1000.0, over_budget)
