"""Shadow prices of the linear program of a plan: what its value changes by as its data do, in money and kgCO2e.

The basis of the optimum gives the whole worth and, by its linear system solved for other costs, what of it is carbon
and what is lateness. The split is that of this basis; where the optimum has several, the whole is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from planner.optimize.fixed import LONGEST_S, Worth
from planner.optimize.solver import Highs, SolverFault

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.fixed import Fixed
    from planner.optimize.matrix import ColumnIndex, Matrix

HAIR = 1e-9


@dataclass(frozen=True)
class Duals:
    """Duals of one cost: what it changes by per unit of each row's and each column's active side.

    Args:
        row: Shape (M,).
        column: Shape (N,).
    """

    row: npt.NDArray[np.float64]
    column: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Priced:
    """The shadow prices of a plan's linear program.

    Args:
        fixed: The program.
        values: Its optimum, shape (N,).
        total: Duals of all that the program counts.
        carbon_kg: Of the carbon.
        lateness: Of the lateness.
        over_budget: Of the carbon beyond the budget.
    """

    fixed: Fixed
    values: npt.NDArray[np.float64]
    total: Duals
    carbon_kg: Duals
    lateness: Duals
    over_budget: Duals


def price(fixed: Fixed) -> Priced:
    """Return the shadow prices of a plan's linear program.

    Raises:
        SolverFault: HiGHS does not solve again what it has solved.
    """
    highs = Highs(fixed.matrix, whole=False, solver="simplex")
    answer = highs.run(LONGEST_S)
    if answer.status != "optimal" or answer.values is None:
        raise SolverFault("the linear program of a plan has no optimum")
    basis, a = highs.basis(), sparse.csc_array(fixed.matrix.a)
    tight = np.flatnonzero(~basis.row_basic)
    basic = np.flatnonzero(basis.column_basic)
    square = splu(sparse.csc_matrix(a[:, basic][tight, :].T)) if len(basic) else None

    def duals(cost: npt.NDArray[np.float64]) -> Duals:
        row = np.zeros(fixed.matrix.n_rows)
        if square is not None:
            row[tight] = square.solve(cost[basic])
        column = cost - a.T @ row
        column[basic] = 0.0
        return Duals(row, column)

    parts = fixed.parts
    total = Duals(basis.row_dual, basis.column_dual)
    carbon_kg, late, beyond = (duals(part) for part in (parts.carbon_kg, parts.lateness, parts.over_budget))
    return Priced(fixed, answer.values, total, carbon_kg, late, beyond)


@dataclass(frozen=True)
class Effects:
    """What the value of a program changes by, to first order, where its data change, per slot, shape (T,).

    Args:
        total: Money in all.
        carbon_kg: kgCO2e.
        lateness: Money of lateness.
        over_budget: Money of carbon beyond the budget.
    """

    total: npt.NDArray[np.float64]
    carbon_kg: npt.NDArray[np.float64]
    lateness: npt.NDArray[np.float64]
    over_budget: npt.NDArray[np.float64]

    def spared(self, slot: int, per: float, carbon_price: float) -> Worth:
        """Return what a slot's change spares, over `per`."""
        parts = (self.total, self.carbon_kg, self.lateness, self.over_budget)
        total, carbon_kg, lateness, over_budget = (-float(part[slot]) / per for part in parts)
        return Worth(total, carbon_kg, lateness, carbon_price, over_budget)


def effects(priced: Priced, changed: Matrix, index: ColumnIndex) -> Effects:
    """Return what other data do to the value of a program, slot by slot.

    Rows that one of the programs lacks are left out: of a convex curve, those are not the highest where the plan is.

    Args:
        priced: The program with its prices.
        changed: The program of a changed week, as arrays before its choices are settled.
        index: Place of every column in it.
    """
    fixed, power_kw = priced.fixed, priced.fixed.program.power_kw
    data = Aligned(fixed, changed, index)
    slot_of_column, slot_of_row = data.slot_of_column, data.slot_of_row
    n_slots = fixed.program.week.grid.n_slots
    use = data.matrix.a @ priced.values - fixed.matrix.a @ priced.values
    # a tight row's side follows from the sign of its dual in the whole; the parts have the same side
    side = np.where(
        priced.total.row > 0.0,
        _moved(data.matrix.row_lower, fixed.matrix.row_lower),
        _moved(data.matrix.row_upper, fixed.matrix.row_upper),
    )
    bound = np.where(
        priced.total.column > 0.0,
        _moved(data.matrix.lower, fixed.matrix.lower),
        _moved(data.matrix.upper, fixed.matrix.upper),
    )
    tight_row, tight_column = np.abs(priced.total.row) > HAIR, np.abs(priced.total.column) > HAIR

    def per_slot(duals: Duals) -> npt.NDArray[np.float64]:
        rows, columns = duals.row * (side - use) * tight_row, duals.column * bound * tight_column
        found = np.zeros(n_slots)
        for slot, amount in ((slot_of_row, rows), (slot_of_column, columns)):
            np.add.at(found, slot[slot >= 0], amount[slot >= 0])
        return found * power_kw

    return Effects(*(per_slot(d) for d in (priced.total, priced.carbon_kg, priced.lateness, priced.over_budget)))


class Aligned:
    """The data of a changed week's program in the order of a plan's linear program, its choices settled alike.

    Args:
        fixed: The plan's linear program.
        changed: The program of the changed week as arrays.
        index: Place of every column in it.
    """

    def __init__(self, fixed: Fixed, changed: Matrix, index: ColumnIndex) -> None:
        own, base = fixed.matrix, fixed.whole
        there = {name: place for place, name in enumerate(index.names)}
        column = np.array([there.get(name, -1) for name in fixed.index.names])
        rows_there = {name: place for place, name in enumerate(changed.row_names)}
        row = np.array([rows_there.get(name, -1) for name in base.row_names])
        known_columns, known_rows = np.flatnonzero(column >= 0), np.flatnonzero(row >= 0)
        lower, upper = own.lower.copy(), own.upper.copy()
        lower[known_columns], upper[known_columns] = (
            changed.lower[column[known_columns]],
            changed.upper[column[known_columns]],
        )
        lower[fixed.polished.columns] = upper[fixed.polished.columns] = fixed.polished.fixed
        row_lower, row_upper = own.row_lower.copy(), own.row_upper.copy()
        row_lower[known_rows], row_upper[known_rows] = (
            changed.row_lower[row[known_rows]],
            changed.row_upper[row[known_rows]],
        )
        # the other program's rows and columns, moved to where ours stand
        pick_rows = sparse.csr_array(
            (np.ones(len(known_rows)), (known_rows, row[known_rows])), shape=(own.n_rows, changed.n_rows)
        )
        pick_columns = sparse.csr_array(
            (np.ones(len(known_columns)), (column[known_columns], known_columns)),
            shape=(changed.n_columns, own.n_columns),
        )
        keep = np.ones(own.n_rows)
        keep[known_rows] = 0.0
        a = sparse.csr_array(pick_rows @ changed.a @ pick_columns + sparse.diags_array(keep) @ own.a)
        self.matrix = replace(own, lower=lower, upper=upper, a=a, row_lower=row_lower, row_upper=row_upper)
        self.slot_of_column = _column_slots(fixed)
        largest = sparse.csr_array(own.a.copy())
        largest.data = self.slot_of_column[largest.indices].astype(np.float64) + 1.0
        self.slot_of_row = np.asarray(largest.max(axis=1).toarray()).ravel().astype(np.int64) - 1
        self._own = own

    def at(self, slot: int) -> Matrix:
        """Return the plan's linear program with the other data in one slot only."""
        own, new = self._own, self.matrix
        rows, columns = self.slot_of_row == slot, self.slot_of_column == slot
        chosen, kept = (sparse.diags_array(one.astype(np.float64)) for one in (rows, ~rows))
        return replace(
            own,
            lower=np.where(columns, new.lower, own.lower),
            upper=np.where(columns, new.upper, own.upper),
            a=sparse.csr_array(kept @ own.a + chosen @ new.a),
            row_lower=np.where(rows, new.row_lower, own.row_lower),
            row_upper=np.where(rows, new.row_upper, own.row_upper),
        )


def _moved(new: npt.NDArray[np.float64], old: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return by how much sides move; one that is nowhere does not."""
    known, moved = np.isfinite(new) & np.isfinite(old), np.zeros_like(new)
    moved[known] = new[known] - old[known]
    return moved


def _column_slots(fixed: Fixed) -> npt.NDArray[np.int64]:
    """Return the slot of every column of the blocks' power, -1 for others, shape (N,)."""
    slot = np.full(fixed.matrix.n_columns, -1, dtype=np.int64)
    for block in fixed.program.blocks:
        series = [block.it, block.cooling, block.grid, block.solar, block.own.wind, block.own.export]
        series += [group.power for group in block.own.generators]
        if block.battery is not None:
            series += [block.battery.charge, block.battery.discharge]
        for columns in series:
            if columns is not None:
                slot[fixed.index.many(columns)] = np.arange(len(columns))
    return slot
