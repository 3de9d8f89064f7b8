"""Whole gangs, batch after batch: each where it costs least, at prices that rise where more is placed than aimed at.

The aim is the IT power of the aggregate program. A batch answers to its prices and to what a distance from the aim
costs (augmented Lagrangian); gangs then take their places one by one as far as there is room; those left answer again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.ground import Ground, Placed
from planner.optimize.scale.lateness import late_money
from planner.optimize.scale.powers import powered
from planner.optimize.scale.responses import respond, slot_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.fluid import Prices

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

FIRST_TRIES, NEXT_TRIES = 12, 5  # answers of a gang that finds no room
LEAST_AWAY, MOST_AWAY = 0.25, 1.0  # of the mean aim: farther from it the price does not move on
TINY = 1e-9
STEPS = 9  # of the search for a gang's multiplier
STIFFNESS = 2.0  # a tenth of the mean aim above it raises the price by a fifth


class Assignment:
    """Gangs and their places."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self.ground = Ground(crowd)
        self.places: list[Placed | None] = [None] * len(crowd.week.runs)
        self._rows: list[list[tuple[int, int]]] = [[] for _ in crowd.week.runs]
        for g, rank in enumerate(crowd.ranks):
            for row, run in enumerate(rank.run.tolist()):
                self._rows[run].append((g, row))
        self._weight = np.array([run.gpus for run in crowd.week.runs]) * crowd.dues.most_h

    def keep(self, places: Sequence[Placed | None]) -> None:
        """Take on places of a former plan, as far as there is room for them still."""
        for run, placed in enumerate(places):
            if placed is not None and self._is_open(run, placed) and self.ground.fits(placed):
                self._take(run, placed)

    def _is_open(self, run: int, placed: Placed) -> bool:
        for g, row in self._rows[run]:
            rank = self._crowd.ranks[g]
            if int(rank.option[row]) == placed.option:
                return bool(np.repeat(rank.is_open[row], np.diff(rank.edges))[placed.slots].all())
        return False

    def order(self) -> Ints:
        """Return runs with work and open cells, those with the least room in time first, of the larger gangs."""
        crowd, slot_h = self._crowd, self._crowd.week.grid.slot_h
        slack = np.full(len(self.places), np.inf)
        for rank in crowd.ranks:
            open_h = (rank.is_open * np.diff(rank.edges)).sum(axis=1) * slot_h * rank.rate * rank.top
            np.minimum.at(slack, rank.run, crowd.dues.most_h[rank.run] / open_h)
        able = np.flatnonzero(np.isfinite(slack) & (crowd.dues.most_h > 0.0))
        gpus = np.array([run.gpus for run in crowd.week.runs], dtype=np.float64)
        return np.asarray(able[np.lexsort((able, -gpus[able] * slack[able]))])

    def fill(self, prices: Prices, batches: Sequence[Ints]) -> None:
        """Place gangs that have no place yet, batch after batch; the aim grows with what is placed."""
        whole, done = max(float(self._weight.sum()), TINY), 0.0
        for batch in batches:
            done += float(self._weight[batch].sum())
            self._aim(prices, min(1.0, done / whole))
            self._place_all(batch, FIRST_TRIES)

    def improve(self, prices: Prices, batches: Sequence[Ints]) -> int:
        """Take batches out and place them anew where that is better; return how many of them were."""
        better = 0
        self._aim(prices, 1.0)
        for batch in batches:
            before = {run: self.places[run] for run in batch.tolist()}
            cost = self._cost(batch)
            for run, placed in before.items():
                if placed is not None:
                    self._leave(run, placed)
            late = [late_money(self._crowd, run, placed) for run, placed in before.items()]
            self._place_all(batch[np.argsort(-np.array(late), kind="stable")], NEXT_TRIES)
            if self._cost(batch) < cost - TINY * abs(cost) and self.ground.gentle():
                better += 1
                continue
            for run in batch.tolist():
                placed, old = self.places[run], before[run]
                if placed is not None:
                    self._leave(run, placed)
                if old is not None:
                    self._take(run, old)
        return better

    def _aim(self, prices: Prices, share: float) -> None:
        idle_kw = np.array([one.idle_kw for one in self._crowd.limits])
        self._aim_kw = idle_kw + share * (prices.it_kw - idle_kw)
        self._mean_kw = np.maximum((self._aim_kw - idle_kw).mean(axis=1, keepdims=True), TINY)
        self._prices, self._mean_price = prices, np.maximum(prices.it.mean(axis=1, keepdims=True), 0.0)

    def _price(self) -> Floats:
        away = np.clip((self.ground.it_kw - self._aim_kw) / self._mean_kw, -LEAST_AWAY, MOST_AWAY)
        it_price = self._prices.it + STIFFNESS * away * self._mean_price
        return slot_prices(self._crowd, it_price, self._prices.gpu)

    def _cost(self, batch: Ints) -> float:
        """Return what a batch costs at the prices, with its lateness and what the distance from the aim costs."""
        price, money = self._prices, 0.0
        for run in batch.tolist():
            placed = self.places[run]
            money += late_money(self._crowd, run, placed)
            if placed is not None:
                pool = self._crowd.tables[placed.table].pool
                money += float((price.it[:, placed.slots] * placed.kw).sum())
                money += float(price.gpu[pool, placed.slots].sum()) * placed.gpus
        away = self.ground.it_kw - self._aim_kw
        return money + float((away**2 / self._mean_kw * self._mean_price).sum()) * STIFFNESS / 2.0

    def _place_all(self, batch: Ints, tries: int) -> None:
        left, price = batch, self._price()
        for _ in range(tries):
            count = left.size
            left = self._place(left, price)
            if not left.size or left.size == count:
                break

    def _leave(self, run: int, placed: Placed) -> None:
        self.places[run] = None
        self.ground.take(placed, -1.0)

    def _place(self, batch: Ints, price: Floats) -> Ints:
        """Let gangs answer and take their places; return those that found none."""
        crowd = self._crowd
        best: dict[int, tuple[float, int, int, npt.NDArray[np.bool_]]] = {}
        wanted = np.zeros(len(self.places), dtype=bool)
        wanted[batch] = True
        for g, rank in enumerate(crowd.ranks):
            rows = np.flatnonzero(wanted[rank.run])
            if not rows.size:
                continue
            part = rank.only(rows)
            answer = respond(crowd, part, price, self.ground.open_cells(part), steps=STEPS)
            for i, row in enumerate(rows.tolist()):
                run, least = int(rank.run[row]), float(answer.least[i])
                if answer.on[i].any() and (run not in best or least < best[run][0]):
                    best[run] = (least, g, row, answer.on[i])
        left = []
        for run in batch.tolist():
            if run not in best:
                left.append(run)
                continue
            _, g, row, on = best[run]
            one = crowd.ranks[g].only(np.array([row]))
            placed = powered(crowd, self.ground, one, on, price[int(one.table[0])])
            if placed is not None and self.ground.fits(placed):
                self._take(run, placed)
            else:
                left.append(run)
        return np.array(left, dtype=np.int64)

    def _take(self, run: int, placed: Placed) -> None:
        self.places[run] = placed
        self.ground.take(placed)
