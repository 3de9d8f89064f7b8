"""What a cell costs a GPU for a worth of its work: the cheapest operating point of every slot, read from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.scale.crowd import Table

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

PARTS = 256


class Menu:
    """Costs of the cells of a grid at given prices.

    The cost of a cell is concave in the worth of its work, and a chord of it lies below: none is read too high.

    Args:
        tables: Operating points, I of them.
        price: Money per GPU in a slot at each point, shape (I, K, T).
        edges: First slot of each cell and, last, the count of slots, shape (B + 1,).
        parts: Parts of the table between the worths at which every slot takes its lowest and its highest point.
        each_slot: Whether each slot of a cell takes its own point; otherwise one point serves the whole cell, which is
            quicker and costs a little more than need be.
    """

    def __init__(
        self, tables: Sequence[Table], price: Floats, edges: Ints, parts: int = PARTS, *, each_slot: bool = True
    ) -> None:
        count, points, _ = price.shape
        throughput = np.array([[t.throughput[min(k, len(t.throughput) - 1)] for k in range(points)] for t in tables])
        length = np.diff(edges).astype(np.float64)
        weight = np.ones(price.shape[2])
        if not each_slot:
            price, weight = np.add.reduceat(price, edges[:-1], axis=2), length
        self._parts, self._cells = parts, len(length)
        slowest, fastest = throughput.min(axis=1), throughput.max(axis=1)
        low, high = _turns(price / weight, throughput)
        self._low, self._step = low, np.maximum(high - low, 1.0 if points == 1 else 1e-12) / parts
        values = np.empty((count, parts + 1, len(length)))
        for i in range(count):
            at = low[i] + self._step[i] * np.arange(parts + 1)
            least = np.full((parts + 1, price.shape[2]), np.inf)
            for k in range(points):
                np.minimum(least, price[i, k] - at[:, None] * throughput[i, k] * weight, out=least)
            values[i] = np.add.reduceat(least, edges[:-1], axis=1) if each_slot else least
        self._values, self._length = values.ravel(), length
        self._slowest, self._fastest = slowest, fastest

    def costs(self, table: Ints, worth: Floats) -> Floats:
        """Return the cost of cells, money per GPU, shape (B, R).

        Args:
            table: Operating points of each row, shape (R,).
            worth: Worth of a slot at full throughput, money per GPU, shape (B, R).
        """
        place = (worth - self._low[table]) / self._step[table]
        part = np.clip(place.astype(np.int64), 0, self._parts - 1)
        inside = np.clip(place, 0.0, self._parts)
        at = (table * (self._parts + 1) + part) * self._cells + np.arange(self._cells)[:, None]
        here = self._values[at]
        cost = here + (inside - part) * (self._values[at + self._cells] - here)
        # beyond the table every slot keeps its point
        beyond = (place - inside) * self._step[table]
        return np.asarray(
            cost - beyond * np.where(beyond > 0.0, self._fastest[table], self._slowest[table]) * self._length[:, None]
        )


def _turns(price: Floats, throughput: Floats) -> tuple[Floats, Floats]:
    """Return the worths per table below and above which no slot changes its point, shape (I,)."""
    low, high = np.zeros(len(price)), np.zeros(len(price))
    for i, rate in enumerate(throughput):
        slow, fast = rate == rate.min(), rate == rate.max()
        least, most = price[i, slow].min(axis=0), price[i, fast].min(axis=0)
        turns_up = [(price[i, k] - least) / (rate[k] - rate.min()) for k in np.flatnonzero(~slow)]
        turns_top = [(most - price[i, k]) / (rate.max() - rate[k]) for k in np.flatnonzero(~fast)]
        if turns_up:
            low[i], high[i] = float(np.min(turns_up)), float(np.max(turns_top))
    return low, high
