"""The best power for a given on/off: a linear program, restricted until it is what machines can do.

The program's relaxation allows four things that only pay where energy is worth nothing or less: a mix of operating
points that are no neighbours, cooling above its curve, a battery that charges and discharges at once, and a tank that
is filled and drawn on at once. Where a solution uses one, that slot is held to the real curve and the program is solved
again. So is every slot that mixes the two pieces of a cooling curve that is not convex: the load then stays on the
piece on which it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.matrix import Row
from planner.optimize.settle import settle
from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.places import Places

TOLERANCE = 1e-7
SETTLES = 3  # of the units of generators, each with the rows that held back the last
ROUNDS = 20  # each round holds at least one more slot; a plan needs one or two


@dataclass(frozen=True)
class Polished:
    """Column values that machines can do, their objective, and the linear program that they solve.

    Args:
        values: Column values, shape (N,).
        objective: Their objective.
        columns: The whole columns that were fixed, shape (C,).
        fixed: Their values, shape (C,).
        held: Rows that held slots to real curves.
    """

    values: npt.NDArray[np.float64]
    objective: float
    columns: npt.NDArray[np.int64]
    fixed: npt.NDArray[np.float64]
    held: tuple[Row, ...]


def polish(
    matrix: Matrix,
    places: Places,
    columns: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    deadline: float,
) -> Polished | None:
    """Return the best values with some choices fixed, or None if they leave no solution or no time.

    Choices outside the bounds of their columns, such as those of hours that have passed, leave no solution.

    Args:
        matrix: The program.
        places: Where its columns stand.
        columns: The columns to fix: at least `places.choices`, shape (C,).
        values: Their values, rounded to whole ones, shape (C,).
        deadline: Reading of the monotonic clock at which to give up.
    """
    held: list[Row] = []
    if not matrix.within(columns, np.round(values)):
        return None
    for _ in range(SETTLES):
        settled = settle(matrix.with_rows(held), places.side, columns, np.round(values), deadline)
        if settled is None:
            return None
        polished, rows = _powered(matrix, places, *settled, deadline)
        if polished is not None or not rows or not places.side.size:
            return polished
        # units were settled for a load that machines do not have: settle them with what held it back
        held += rows
        given = ~np.isin(columns, places.side)
        columns, values = columns[given], values[given]
    return None


def _powered(
    matrix: Matrix,
    places: Places,
    columns: npt.NDArray[np.int64],
    fixed: npt.NDArray[np.float64],
    deadline: float,
) -> tuple[Polished | None, list[Row]]:
    """Return the best power with all whole choices fixed, or None, and the rows that held slots to real curves."""
    highs = Highs(matrix, whole=False)
    highs.bound_columns(columns, fixed, fixed)
    answer = highs.run(seconds_left(deadline))
    held: list[Row] = []
    for _ in range(ROUNDS):
        if answer.values is None or answer.status != "optimal":
            return None, held
        rows = _piece_rows(places, answer.values)
        if not rows:
            rows = _battery_rows(places, answer.values) + _tank_rows(places, answer.values)
            rows += _point_rows(places, answer.values)
            rows += _cooling_rows(places, answer.values)
        if not rows:
            break
        held += rows
        highs.add_rows(rows)
        answer = highs.run(seconds_left(deadline))
    if answer.values is None or answer.objective is None or answer.status != "optimal":
        return None, held
    return Polished(answer.values, answer.objective, columns, fixed, tuple(held)), held


def _piece_rows(places: Places, x: npt.NDArray[np.float64]) -> list[Row]:
    """Settle the pieces of all cooling curves, if any is mixed."""
    rows = []
    for block in places.blocks:
        slots = np.flatnonzero(block.upper >= 0)
        used = x[block.upper[slots]]
        if ((used > TOLERANCE) & (used < 1.0 - TOLERANCE)).any():
            over = block.like_it(x)[slots] > block.split[slots]
            above = np.where(np.abs(used - 0.5) > 0.5 - TOLERANCE, used > 0.5, over)
            for column, on in zip(block.upper[slots], above, strict=True):
                rows.append(Row("hold", np.array([column]), np.array([-1.0 if on else 1.0]), -1.0 if on else 0.0))
    return rows


def _hold(column: int, upper: float = 0.0) -> Row:
    return Row("hold", np.array([column]), np.array([1.0]), upper)


def _battery_rows(places: Places, x: npt.NDArray[np.float64]) -> list[Row]:
    rows = []
    for block in places.blocks:
        if block.charge is None or block.discharge is None:
            continue
        both = np.flatnonzero((x[block.charge] > TOLERANCE) & (x[block.discharge] > TOLERANCE))
        for t in both:
            charge, discharge = block.charge[t], block.discharge[t]
            net = x[charge] * block.efficiency - x[discharge]
            rows.append(_hold(int(discharge if net > 0 else charge)))
    return rows


def _tank_rows(places: Places, x: npt.NDArray[np.float64]) -> list[Row]:
    """A tank that is filled and drawn on at once does only what is more of the two."""
    rows = []
    for block in places.blocks:
        cold = block.cold
        if cold is None or cold.filled is None or cold.drawn is None:
            continue
        filled, drawn = x[cold.filled], x[cold.drawn]
        less = np.where(filled > drawn, cold.drawn, cold.filled)
        rows += [_hold(int(column)) for column in less[(filled > TOLERANCE) & (drawn > TOLERANCE)]]
    return rows


def _point_rows(places: Places, x: npt.NDArray[np.float64]) -> list[Row]:
    """Shares of points that are no neighbours become zero outside the pair that gives the same power."""
    rows = []
    for gang in places.gangs:
        for option in gang:
            if option.lower.shape[1] < 1:
                continue
            shares = option.shares(x)
            used = shares > TOLERANCE
            first = used.argmax(axis=1)
            last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
            for i in np.flatnonzero(used.any(axis=1) & (last - first > 1)):
                watts = float(shares[i] @ option.it_w / shares[i].sum())
                pair = int(np.clip(np.searchsorted(option.it_w, watts, side="right") - 1, 0, len(option.it_w) - 2))
                rows += [
                    _hold(int(option.lower[i, k])) for k in range(option.lower.shape[1]) if k not in {pair, pair + 1}
                ]
                if pair + 1 < option.lower.shape[1]:
                    # the highest point is what the others leave: it is zero where they fill the on-time
                    columns = np.array([option.on_of_row[i], option.lower[i, pair], option.lower[i, pair + 1]])
                    rows.append(Row("hold", columns, np.array([1.0, -1.0, -1.0]), 0.0))
    return rows


def _cooling_rows(places: Places, x: npt.NDArray[np.float64]) -> list[Row]:
    rows = []
    for block in places.blocks:
        slope, intercept = block.segments(x)
        curves = slope * block.like_it(x)[:, None] + intercept
        for t in np.flatnonzero((x[block.cooling] > block.curve(x) + TOLERANCE) & block.paid):
            s = int(curves[t].argmax())
            rows.append(Row("hold", *block.line(int(t), float(slope[t, s])), float(intercept[t, s])))
    return rows
