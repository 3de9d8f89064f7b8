"""Cuts that say what the packing of whole gangs into a pool means: facets of the hull of all gang sets that fit.

For on-values `y*` in one slot, the most violated inequality `pi @ y <= 1` valid for every set that fits maximises
`pi @ y*`; the sets are found one by one by a 0/1 knapsack and kept for all slots with as many GPUs (Boyd 1994).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from planner.optimize.matrix import Matrix, Row
from planner.optimize.solver import Highs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.places import Places
    from planner.week import Week

VIOLATION = 1e-3  # a shallower cut moves the bound by less than it slows the solver down
TIE_BREAK = 1e-6  # on every coefficient: of equally violated cuts the strongest
SEPARATION_S = 5.0
MOST_SETS = 200  # found per separation; a dozen is usual


@dataclass(frozen=True)
class Packing:
    """What room there is for gangs, and where their on-columns stand at the distinct moments with as much.

    Args:
        name: For rows, such as the pool's.
        sizes: What each gang takes, such as its GPUs, shape (G,).
        room: What they may take together, such as the GPUs in service.
        columns: On-columns of the gangs at each moment, -1 where a gang cannot be on, shape (M, G).
    """

    name: str
    sizes: npt.NDArray[np.int64]
    room: int
    columns: npt.NDArray[np.int64]


def packings(week: Week, places: Places) -> tuple[Packing, ...]:
    """Return every pool's packings: moments that have the same gangs on offer and the same GPUs are one."""
    found = []
    for pool in week.pools:
        options = [option for gang in places.gangs for option in gang]
        users = [(o, n) for o in options if (n := week.pool(o.pool).draws(o.gpus).get(pool.name, 0))]
        if not users:
            continue
        in_service = pool.gpus_in_service(week.grid)
        columns = np.full((week.grid.n_slots, len(users)), -1, dtype=np.int64)
        for i, (option, _) in enumerate(users):
            columns[option.slots, i] = option.on_of_row
        gpus = np.array([count for _, count in users], dtype=np.int64)
        for count in np.unique(in_service):
            moments = np.unique(columns[in_service == count], axis=0)
            crowded = ((moments >= 0) * gpus).sum(axis=1) > count
            if crowded.any():
                found.append(Packing(pool.name, gpus, int(count), moments[crowded]))
    return tuple(found)


class HullCuts:
    """Finds violated facets of one packing and remembers the gang sets found on the way."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._unit = math.gcd(*(int(g) for g in packing.sizes))
        self._sets: list[npt.NDArray[np.bool_]] = []
        size = len(packing.sizes)
        # a gang that fits on its own bounds its own coefficient
        self._facets = Highs(
            Matrix(
                cost=np.zeros(size),
                lower=np.zeros(size),
                upper=np.ones(size),
                whole=np.zeros(size, dtype=bool),
                a=sparse.csr_array((0, size)),
                row_lower=np.zeros(0),
                row_upper=np.zeros(0),
                row_names=(),
            ),
            whole=False,
        )

    def separate(self, x: npt.NDArray[np.float64]) -> list[Row]:
        """Return the violated cuts at column values `x`, one for every moment that each violates."""
        columns = self._packing.columns
        on = np.where(columns >= 0, x[columns], 0.0)
        facets: list[npt.NDArray[np.float64]] = []
        for values in np.unique(np.round(on, 6), axis=0):
            facet = self._facet(values)
            if facet is not None and not any(np.allclose(facet, other, atol=1e-9) for other in facets):
                facets.append(facet)
        rows = []
        for facet in facets:
            for moment in np.flatnonzero(on @ facet > 1.0 + VIOLATION):
                used = (columns[moment] >= 0) & (facet > TIE_BREAK)
                rows.append(Row(f"hull_{self._packing.name}", columns[moment][used], facet[used], 1.0))
        return rows

    def _facet(self, on: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        if np.all((on < VIOLATION) | (on > 1.0 - VIOLATION)):
            return None
        self._facets.price_columns(-(on + TIE_BREAK))
        for _ in range(MOST_SETS):
            answer = self._facets.run(SEPARATION_S)
            if answer.values is None:
                return None
            facet = np.maximum(answer.values, 0.0)
            if facet @ on <= 1.0 + VIOLATION:
                return None
            best = heaviest_set(facet, self._packing.sizes // self._unit, self._packing.room // self._unit)
            worth = float(facet[best].sum())
            if worth <= 1.0 + 1e-9:
                return facet
            members = np.flatnonzero(best)
            self._facets.add_rows([Row("fits", members, np.ones(len(members)), 1.0)])
        return None


def heaviest_set(worth: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64], room: int) -> npt.NDArray[np.bool_]:
    """Return the set of most worth that fits: a 0/1 knapsack, solved exactly.

    Args:
        worth: Worth of each item, 0 or more, shape (G,).
        sizes: Size of each item, shape (G,).
        room: Most size.

    Returns:
        Which items are in the set, shape (G,).
    """
    best = np.zeros(room + 1)
    taken = np.zeros((len(sizes), room + 1), dtype=bool)
    for i, size in enumerate(sizes):
        if size > room:
            continue
        with_item = best[: room + 1 - size] + worth[i]
        taken[i, size:] = with_item > best[size:]
        best[size:] = np.where(taken[i, size:], with_item, best[size:])
    chosen = np.zeros(len(sizes), dtype=bool)
    left = room
    for i in range(len(sizes) - 1, -1, -1):
        if taken[i, left]:
            chosen[i] = True
            left -= int(sizes[i])
    return chosen


def separate(hulls: Sequence[HullCuts], x: npt.NDArray[np.float64]) -> list[Row]:
    """Return the violated cuts of all packings."""
    return [row for hull in hulls for row in hull.separate(x)]
