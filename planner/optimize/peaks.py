"""How high the billed peak gets: a tree over its height, with cuts that say which gangs fit together below it.

The relaxation spreads fractions of gangs evenly under a low peak, where whole gangs stand on each other's shoulders.
Below a height of the peak, some sets of gangs are ruled out in every slot (`Skyline`); above it, the height is paid
for. Branching on the height raises the bound where branching on any on/off column would not.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cuts import HullCuts, separate
from planner.optimize.relaxation import first_solver
from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import Matrix, Row
    from planner.optimize.skyline import Skyline

    Floats = npt.NDArray[np.float64]

ROUNDS = 3  # of cuts in a node
MOST_SOLVED = 48  # bands
WORTH_A_SPLIT = 1e-4  # share of the bound that both sides of a split should bring
BETWEEN = 8  # heights tried besides those at which a set fits
HAIR = 1e-6  # power units, between a height at which one more set fits and the band below it


@dataclass(frozen=True)
class Band:
    """All plans whose rise of the billed peak lies between two heights in every register.

    Args:
        lower: Lowest rise per register, power units, shape (M,).
        upper: Largest rise per register, power units, shape (M,).
        bound: No plan in the band costs less; infinite where there is none.
        rise: Rise per register in the relaxation, shape (M,).
        cuts: Which gangs may be on together, as far as it was found out.
        throttles: What each gang may take while it is on.
    """

    lower: Floats
    upper: Floats
    bound: float
    rise: Floats
    cuts: tuple[Row, ...] = ()
    throttles: tuple[Row, ...] = ()

    def within(self, matrix: Matrix, columns: npt.NDArray[np.int64]) -> Matrix:
        """Return a program held to the band.

        Args:
            matrix: The whole program.
            columns: Place of the rise of each register, shape (M,).
        """
        lower, upper = matrix.lower.copy(), matrix.upper.copy()
        lower[columns], upper[columns] = self.lower, self.upper
        return replace(matrix, lower=lower, upper=upper).with_rows(self.cuts + self.throttles)


class PeakTree:
    """Bands that together hold all plans; the best is split first.

    Args:
        matrix: The program, with the cuts that hold everywhere.
        skylines: One per register.
    """

    def __init__(self, matrix: Matrix, skylines: Sequence[Skyline]) -> None:
        self._skylines = skylines
        self._columns = np.array([s.column for s in skylines], dtype=np.int64)
        self._least = matrix.lower[self._columns]
        self._highs = Highs(matrix, whole=False, solver=first_solver(matrix))
        self._left = MOST_SOLVED

    def split(self, enough: float, deadline: float) -> list[Band]:
        """Return bands by rising bound, the first with the bound of all plans; none if there was no time for one.

        Args:
            enough: Bound at which to stop.
            deadline: Reading of the monotonic clock at which to stop.
        """
        root = self._highs.run(seconds_left(deadline))
        if root.status != "optimal" or root.values is None or root.objective is None:
            return []
        self._highs.set(solver="simplex")
        self._highs.mark()
        ends = self._least, np.full(len(self._columns), np.inf)
        order = itertools.count()
        heap = [(root.objective, next(order), Band(*ends, root.objective, root.values[self._columns]))]
        while heap[0][0] < enough:
            sides = self._sides(heap[0][2], deadline)
            if sides is None:
                break
            heapq.heappop(heap)
            for side in sides:
                heapq.heappush(heap, (side.bound, next(order), side))
        return [band for _, _, band in sorted(heap, key=lambda one: one[:2])]

    def _sides(self, band: Band, deadline: float) -> tuple[Band, Band] | None:
        """Return the two sides of a height at which both cost more than the band, or None if none is found in time.

        The lower the height, the more does the side below it cost, and the less the side above it.
        """
        heights = [
            _heights(skyline.levels, max(float(lower), float(rise)) + 2.0 * HAIR, float(upper) - HAIR)
            for skyline, lower, upper, rise in zip(self._skylines, band.lower, band.upper, band.rise, strict=True)
        ]
        one = max(range(len(heights)), key=lambda m: len(heights[m]))
        worth = band.bound + WORTH_A_SPLIT * abs(band.bound)
        first, after = 0, len(heights[one])
        while first < after:
            middle = (first + after) // 2
            upper, lower = band.upper.copy(), band.lower.copy()
            upper[one] = lower[one] = heights[one][middle] - HAIR
            below = self._solved(replace(band, upper=upper), deadline)
            if below is None:
                return None
            if below.bound < worth:
                after = middle
                continue
            above = self._solved(replace(band, lower=lower), deadline)
            if above is None:
                return None
            if above.bound >= worth:
                return below, above
            first = middle + 1
        return None

    def _solved(self, band: Band, deadline: float) -> Band | None:
        """Return a band with its bound and rows, or None if the count of bands or the time is used up."""
        if self._left == 0:
            return None
        self._left -= 1
        below = [(s, float(rise)) for s, rise in zip(self._skylines, band.upper, strict=True) if np.isfinite(rise)]
        hulls = [HullCuts(packing) for skyline, rise in below for packing in skyline.packings(rise)]
        throttles = tuple(row for skyline, rise in below for row in skyline.throttles(rise))
        # cuts of a band hold in every band within it
        cuts = list(band.cuts)
        self._highs.back_to_mark()
        self._highs.bound_columns(self._columns, band.lower, band.upper)
        self._highs.add_rows(cuts + list(throttles))
        answer = self._highs.run(seconds_left(deadline))
        for _ in range(ROUNDS):
            found = [] if answer.values is None else separate(hulls, answer.values)
            if answer.status != "optimal" or not found:
                break
            self._highs.add_rows(found)
            cuts += found
            answer = self._highs.run(seconds_left(deadline))
        if answer.status == "infeasible":
            return replace(band, bound=np.inf, cuts=(), throttles=())
        if answer.status != "optimal" or answer.values is None or answer.objective is None:
            return None
        return Band(
            lower=band.lower,
            upper=band.upper,
            bound=max(band.bound, answer.objective),
            rise=answer.values[self._columns],
            cuts=tuple(cuts),
            throttles=throttles,
        )


def _heights(levels: Floats, lowest: float, highest: float) -> Floats:
    """Return heights at which to split: where one more set of gangs fits, and some between, which throttle gangs."""
    top = min(highest, float(levels[-1]))
    between = np.linspace(lowest, max(lowest, top), BETWEEN + 2)[1:-1]
    heights = np.unique(np.concatenate([levels, between]))
    return np.asarray(heights[(heights > lowest) & (heights < highest)])


def hull_of(bands: Sequence[Band], objective: float) -> Band:
    """Return the band around all that may hold a plan better than `objective`.

    Args:
        bands: By rising bound.
        objective: Objective of a plan that is known.
    """
    open_bands = [band for band in bands if band.bound < objective] or list(bands[:1])
    upper = np.max([band.upper for band in open_bands], axis=0)
    lower = np.min([band.lower for band in open_bands], axis=0)
    return open_bands[0] if len(open_bands) == 1 else Band(lower, upper, bands[0].bound, bands[0].rise)
