"""The deterministic equivalent of a two-stage program: what is decided now once, all else once for every path.

Minimise, over starts, stops, pools, units of generators and offers bought (first stage), and over power, storage,
import and what is missing at deadlines of every path (second stage)

    sum_s p_s (cost_s - w (carbon_s + lateness_s)) + w sum_r CVaR_alpha(r),   r in {carbon, lateness},

with CVaR_alpha(r) = min_eta eta + sum_s p_s max(0, r_s - eta) / (1 - alpha) (Rockafellar and Uryasev 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import ColumnIndex
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.uncertainty import Uncertainty

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

RISKS = ("carbon", "lateness")
"""Terms of the objective of which the worst paths count beside the mean."""


@dataclass(frozen=True)
class Path:
    """One path's program.

    Args:
        weight: Its chance.
        program: The program on its signals.
        index: Place of every column.
        matrix: The program as arrays.
    """

    weight: float
    program: Program
    index: ColumnIndex
    matrix: Matrix


@dataclass(frozen=True)
class Equivalent:
    """All paths in one program.

    Args:
        matrix: The program: first stage, then each path's columns, then those of the risks.
        first: Places in the week's own program of the first stage's columns, shape (F,).
        of_path: For each path, the place here of each of its columns, -1 where the week's own program has closed it.
    """

    matrix: Matrix
    first: Places1
    of_path: tuple[Places1, ...]

    def path_values(self, x: Floats, s: int) -> Floats:
        """Return the values of a path's own columns from those of this program, shape (N_s,)."""
        places = self.of_path[s]
        return np.where(places >= 0, x[places], 0.0)


def places_of(joined: Equivalent, places: Places) -> Places:
    """Return the gangs' on-columns and all choices of the week's own program as they stand in the equivalent.

    Args:
        joined: The equivalent.
        places: Where the columns of the week's own program stand.
    """
    most = int(max([*joined.first.tolist(), *places.choices.tolist()], default=-1))
    here = np.full(most + 2, -1, dtype=np.int64)  # the last one is that of a cell that is closed: -1 stays -1
    here[joined.first] = np.arange(len(joined.first))
    gangs = tuple(tuple(replace(option, on=here[option.on]) for option in gang) for gang in places.gangs)
    return replace(places, gangs=gangs, choices=here[places.choices])


def first_stage(program: Program, index: ColumnIndex) -> Places1:
    """Return the places of the columns that are decided before the path is known, rising, shape (F,).

    They are on, off, starts, stops and pools of runs, units of generators and their starts, and offers bought.
    """
    columns = []
    for gang in program.gangs:
        for option in gang.options:
            columns += [*option.on.values(), *option.start.values(), *option.stop.values()]
            columns += [] if option.chosen is None else [option.chosen]
    for block in program.blocks:
        for group in block.own.generators:
            columns += [*group.on, *group.start]
    columns += [c.bought for c in program.site.contracts if c.bought is not None]
    return np.unique(index.many(columns))


def equivalent(base: Path, paths: Sequence[Path], asked: Uncertainty) -> Equivalent:
    """Return the deterministic equivalent.

    Args:
        base: The week's own program: its first stage and the rows that hold first-stage columns alone are taken.
        paths: The program of each path; of their first stages only columns that the week's own has are kept.
        asked: Level and weight of the risks.
    """
    first = first_stage(base.program, base.index)
    names, first_of = base.index.names, {}
    for here, place in enumerate(first.tolist()):
        first_of[names[place]] = here
    of_path, own_columns, n_columns = [], [], len(first)
    for path in paths:
        mine, theirs = first_stage(path.program, path.index), path.index.names
        own = np.setdiff1d(np.arange(path.matrix.n_columns), mine)
        place = np.full(path.matrix.n_columns, -1, dtype=np.int64)
        place[own] = n_columns + np.arange(len(own))
        place[mine] = [first_of.get(theirs[j], -1) for j in mine.tolist()]
        of_path.append(place)
        own_columns.append(own)
        n_columns += len(own)
    risks = _Risks(paths, of_path, asked, n_columns)
    parts = [_first_rows(base.matrix, first, risks.n_columns)]
    parts += [
        _path_rows(path.matrix, place, own, risks.n_columns)
        for path, place, own in zip(paths, of_path, own_columns, strict=True)
    ]
    parts.append(risks.rows())
    cost = np.concatenate([base.matrix.cost[first], np.zeros(risks.n_columns - len(first))])
    lower, upper = np.zeros(risks.n_columns), np.full(risks.n_columns, np.inf)
    whole = np.zeros(risks.n_columns, dtype=bool)
    lower[: len(first)], upper[: len(first)] = base.matrix.lower[first], base.matrix.upper[first]
    whole[: len(first)] = base.matrix.whole[first]
    for path, place, own in zip(paths, of_path, own_columns, strict=True):
        at = place[own]
        cost[at] = path.weight * path.matrix.cost[own]
        lower[at], upper[at] = path.matrix.lower[own], path.matrix.upper[own]
        whole[at] = path.matrix.whole[own]
    cost += risks.cost()
    matrix = Matrix(
        cost=cost,
        lower=lower,
        upper=upper,
        whole=whole,
        a=sparse.csr_array(sparse.vstack([rows.a for rows in parts], format="csr")),
        row_lower=np.concatenate([rows.lower for rows in parts]),
        row_upper=np.concatenate([rows.upper for rows in parts]),
        row_names=tuple(name for rows in parts for name in rows.names),
    )
    return Equivalent(matrix, first, tuple(of_path))


@dataclass(frozen=True)
class _Rows:
    a: sparse.csr_array
    lower: Floats
    upper: Floats
    names: tuple[str, ...]


class _Risks:
    """The level and the excesses of every risk, and what they change in the costs of the paths."""

    def __init__(self, paths: Sequence[Path], of_path: Sequence[Places1], asked: Uncertainty, first: int) -> None:
        self._asked, self._weights = asked, [path.weight for path in paths]
        self._terms = [
            [_term(path, place, risk) for path, place in zip(paths, of_path, strict=True)]
            for risk in (RISKS if asked.cvar_weight > 0.0 else ())
        ]
        self._first, self._step = first, 1 + len(paths)
        self.n_columns = first + self._step * len(self._terms)

    def cost(self) -> Floats:
        cost = np.zeros(self.n_columns)
        weight, tail = self._asked.cvar_weight, 1.0 - self._asked.cvar_alpha
        for r, terms in enumerate(self._terms):
            level = self._first + r * self._step
            cost[level] = weight
            for s, (places, coefficients) in enumerate(terms):
                cost[level + 1 + s] = weight * self._weights[s] / tail
                np.add.at(cost, places, -weight * self._weights[s] * coefficients)
        return cost

    def rows(self) -> _Rows:
        starts, columns, values, names = [0], [], [], []
        for r, terms in enumerate(self._terms):
            level = self._first + r * self._step
            for s, (places, coefficients) in enumerate(terms):
                columns.append(np.concatenate([np.array([level, level + 1 + s]), places]))
                values.append(np.concatenate([np.ones(2), -coefficients]))
                starts.append(starts[-1] + len(columns[-1]))
                names.append(f"worst_{RISKS[r]}_{s}")
        ahead = (np.concatenate([*values, np.zeros(0)]), np.concatenate([*columns, np.zeros(0, dtype=np.int64)]))
        a = sparse.csr_array((*ahead, starts), shape=(len(names), self.n_columns))
        return _Rows(a, np.zeros(len(names)), np.full(len(names), np.inf), tuple(names))


def _term(path: Path, place: Places1, name: str) -> tuple[Places1, Floats]:
    columns = path.program.terms.get(name, ())
    places = place[path.index.many([c for c, _ in columns])]
    coefficients = np.array([c for _, c in columns], dtype=np.float64)
    return places[places >= 0], coefficients[places >= 0]


def _first_rows(matrix: Matrix, first: Places1, n_columns: int) -> _Rows:
    """Return the rows in which nothing but first-stage columns stand."""
    inside = np.zeros(matrix.n_columns, dtype=bool)
    inside[first] = True
    # entries of a row may cancel: their sizes do not
    rows = np.flatnonzero(abs(matrix.a) @ (~inside).astype(np.float64) == 0.0)
    place = np.full(matrix.n_columns, -1, dtype=np.int64)
    place[first] = np.arange(len(first))
    return _moved(matrix, rows, place, n_columns)


def _path_rows(matrix: Matrix, place: Places1, own: Places1, n_columns: int) -> _Rows:
    """Return the rows in which a path's own columns stand."""
    is_own = np.zeros(matrix.n_columns)
    is_own[own] = 1.0
    return _moved(matrix, np.flatnonzero(abs(matrix.a) @ is_own > 0.0), place, n_columns)


def _moved(matrix: Matrix, rows: Places1, place: Places1, n_columns: int) -> _Rows:
    part = matrix.a[rows].tocoo()
    row, column = part.coords
    kept = place[column] >= 0
    a = sparse.csr_array((part.data[kept], (row[kept], place[column[kept]])), shape=(len(rows), n_columns))
    names = tuple(matrix.row_names[i] for i in rows)
    return _Rows(a, matrix.row_lower[rows], matrix.row_upper[rows], names)
