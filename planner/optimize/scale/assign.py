"""Whole gangs, batch after batch: each where it costs least, at prices that rise where more is placed than aimed at.

The aim is the IT power of the aggregate program. A batch answers to its prices and to what a distance from the aim
costs (augmented Lagrangian); gangs then take their places one by one as far as there is room; those left answer again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.ground import Ground, Placed
from planner.optimize.scale.lateness import late_money
from planner.optimize.scale.order import Order
from planner.optimize.scale.pauses import paused, whole_spells
from planner.optimize.scale.powers import powered
from planner.optimize.scale.responses import slot_prices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank
    from planner.optimize.scale.fluid import Prices

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

FIRST_TRIES, NEXT_TRIES = 12, 5  # answers of a gang that finds no room
LEAST_AWAY, MOST_AWAY = 0.25, 1.0  # of the mean aim: farther from it the price does not move on
TINY = 1e-9
STIFF, SOFT = 2.0, 0.5  # a tenth of the mean aim above it raises the price by a fifth, and by a twentieth
GPU_SHARE = 0.15  # of it for GPUs


class Assignment:
    """Gangs and their places.

    Attributes:
        crowd: The gangs, with what is due of them while they are placed.
        places: Place of every run.
        ground: What is left beside them.
        crowding: What a cell without room costs, of a mean cell's price; None where a gang takes none without room.
        rows: Per run, its (rank, row) pairs.
        tight: Share of its open hours up to its last deadline that each run works, shape (N,); 0 without any.
    """

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.ground = Ground(crowd)
        self.places: list[Placed | None] = [None] * len(crowd.week.runs)
        self.rows: list[list[tuple[int, int]]] = [[] for _ in crowd.week.runs]
        for g, rank in enumerate(crowd.ranks):
            for row, run in enumerate(rank.run.tolist()):
                self.rows[run].append((g, row))
        self.crowding: float | None = None
        self.tight = self._tightness()
        self._waits = Order(crowd)
        self._weight = np.array([run.gpus for run in crowd.week.runs]) * crowd.dues.most_h

    def keep(self, places: Sequence[Placed | None]) -> None:
        """Take on all places of a former plan that are open still, with room or without."""
        for run, placed in enumerate(places):
            if placed is not None and self._is_open(run, placed):
                self.take(run, placed)

    def _is_open(self, run: int, placed: Placed) -> bool:
        for g, row in self.rows[run]:
            rank = self.crowd.ranks[g]
            if int(rank.option[row]) == placed.option:
                is_open = bool(np.repeat(rank.is_open[row], np.diff(rank.edges))[placed.slots].all())
                return is_open and whole_spells(rank, row, placed.slots)
        return False

    def order(self) -> Ints:
        """Return runs with work and open cells, those with the least room in time first, of the larger gangs.

        Runs that wait for others come behind them.
        """
        crowd, tight = self.crowd, self.tight
        able = np.flatnonzero((tight > 0.0) & (crowd.dues.most_h > 0.0))
        gpus = np.array([run.gpus for run in crowd.week.runs], dtype=np.float64)
        return np.asarray(able[np.lexsort((able, -gpus[able] * tight[able] ** 2, self._waits.level[able]))])

    def _tightness(self) -> Floats:
        crowd, slot_h = self.crowd, self.crowd.week.grid.slot_h
        dues, open_h = crowd.dues, np.zeros(len(self.places))
        last = np.where(dues.work_h > 0.0, dues.marks[:, :, 0], 0.0).max(axis=1, initial=0.0)
        for rank in crowd.ranks:
            before = np.clip(last[rank.run][:, None] - rank.edges[:-1], 0.0, np.diff(rank.edges))
            most_h = (rank.is_open * before).sum(axis=1) * slot_h * rank.rate * rank.top
            np.maximum.at(open_h, rank.run, np.maximum(most_h, slot_h * rank.is_open.any(axis=1)))
        return np.divide(dues.most_h, open_h, out=np.zeros(len(open_h)), where=open_h > 0.0)

    def fill(self, prices: Prices, batches: Sequence[Ints], crowding: float | None = None) -> None:
        """Place gangs that have no place yet, batch after batch; the aim grows with what is placed."""
        self.crowding = crowding
        whole, done = max(float(self._weight.sum()), TINY), 0.0
        for batch in batches:
            done += float(self._weight[batch].sum())
            self.aim(prices, min(1.0, done / whole))
            self.place_all(batch, FIRST_TRIES if crowding is None else 1)
        self.crowding = None

    def crowded(self) -> Flags:
        """Return which runs are on where more is taken than there is, shape (N,)."""
        without, found = self.ground.free < 0.0, np.zeros(len(self.places), dtype=bool)
        short = np.array([
            self.ground.short_of_kw(table.pool) | without[[pool for pool, _ in table.draws]].any(axis=0)
            for table in self.crowd.tables
        ])  # fmt: skip
        for run, placed in enumerate(self.places):
            found[run] = placed is None or short[placed.table, placed.slots].any()
        return found

    def settle(self, batches: Sequence[Ints], crowding: float) -> None:
        """Let gangs answer again, batch after batch, each taking what it likes best though there may be no room."""
        self.crowding = crowding
        for batch in batches:
            for run in batch.tolist():
                placed = self.places[run]
                if placed is not None:
                    self.leave(run, placed)
            self.place_all(batch, 1)
        self.crowding = None

    def improve(self, batch: Ints) -> bool:
        """Take a batch out and place it anew where that is better; return whether it was."""
        before = {run: self.places[run] for run in batch.tolist()}
        cost = self.cost(batch)
        for run, placed in before.items():
            if placed is not None:
                self.leave(run, placed)
        late = [late_money(self.crowd, run, placed) for run, placed in before.items()]
        self.place_all(batch[np.argsort(-np.array(late), kind="stable")], NEXT_TRIES)
        if self.cost(batch) < cost - TINY * abs(cost) and self.sound(before):
            return True
        self.restore(before)
        return False

    def sound(self, moved: Iterable[int]) -> bool:
        """Return whether ramps hold, and the order of runs that moved and of those that wait for them."""
        return self.ground.gentle() and all(self._waits.holds(run, self.places) for run in moved)

    def in_order(self) -> None:
        """Move runs that start before what they wait for is done, or have no place, behind it; away without room."""
        waiting = self._waits.waiting
        for run in waiting:
            placed = self.places[run]
            if placed is not None and placed.slots[0] < self._waits.first_slot(run, self.places):
                self.leave(run, placed)
        for run in waiting:
            if self.places[run] is None and self.tight[run] > 0.0:
                self.place_all(np.array([run]), 1)

    def open(self, rank: Rank) -> Flags:
        """Return the cells in which rows may be on: open ones, for runs that wait behind what they wait for, (R, B)."""
        waiting = np.flatnonzero(self._waits.level[rank.run])
        if not waiting.size:
            return rank.is_open
        first = np.array([self._waits.first_slot(run, self.places) for run in rank.run[waiting].tolist()])
        found = rank.is_open.copy()
        found[waiting] &= rank.edges[:-1] >= first[:, None]
        return found

    def restore(self, before: Mapping[int, Placed | None]) -> None:
        """Put runs back where they were."""
        for run in before:
            placed = self.places[run]
            if placed is not None:
                self.leave(run, placed)
        for run, old in before.items():
            if old is not None:
                self.take(run, old)

    def aim(self, prices: Prices, share: float, stiffness: float = STIFF) -> None:
        """Aim at a share of the aggregate program's load, at its prices; the stiffer, the dearer to miss it."""
        self._stiffness = stiffness
        crowd = self.crowd
        idle_kw = np.array([one.idle_kw for one in crowd.limits])
        self._aim_kw = idle_kw + share * (prices.it_kw - idle_kw)
        self._mean_kw = np.maximum((self._aim_kw - idle_kw).mean(axis=1, keepdims=True), TINY)
        self._prices, self._mean_price = prices, np.maximum(prices.it.mean(axis=1, keepdims=True), 0.0)
        self._aim_gpus = share * prices.gpus
        self._mean_gpus = np.maximum(self._aim_gpus.mean(axis=1, keepdims=True), TINY)
        top = slot_prices(crowd, prices.it, prices.gpu)[:, -1].mean(axis=1)
        self._mean_gpu_price = np.zeros((len(self._aim_gpus), 1))
        for table, money in zip(crowd.tables, top.tolist(), strict=True):
            for pool, _ in table.draws:
                self._mean_gpu_price[pool] = max(self._mean_gpu_price[pool, 0], money)

    def _away(self) -> tuple[Floats, Floats]:
        """Return how far IT power and GPUs taken are above the aim, kW and GPUs."""
        return self.ground.it_kw - self._aim_kw, self.crowd.in_service - self.ground.free - self._aim_gpus

    def price(self) -> Floats:
        """Return what a GPU costs in a slot at each operating point, shape (tables, K, T), with the way to the aim."""
        away_kw, away_gpus = self._away()
        kw, gpus = (
            np.clip(away / mean, -LEAST_AWAY, MOST_AWAY)
            for away, mean in ((away_kw, self._mean_kw), (away_gpus, self._mean_gpus))
        )
        it_price = self._prices.it + self._stiffness * kw * self._mean_price
        gpu_price = self._prices.gpu + self._stiffness * GPU_SHARE * gpus * self._mean_gpu_price
        return slot_prices(self.crowd, it_price, np.maximum(gpu_price, 0.0))

    def cost(self, batch: Iterable[int]) -> float:
        """Return what runs cost at the prices, with their lateness and what the distance from the aim costs."""
        price, money = self._prices, 0.0
        for run in batch:
            placed = self.places[run]
            money += late_money(self.crowd, run, placed)
            if placed is not None:
                money += float((price.it[:, placed.slots] * placed.kw).sum())
                for pool, share in self.crowd.tables[placed.table].draws:
                    money += float(price.gpu[pool, placed.slots].sum()) * (share * placed.gpus)
        away_kw, away_gpus = self._away()
        far = float((away_kw**2 / self._mean_kw * self._mean_price).sum())
        far += GPU_SHARE * float((away_gpus**2 / self._mean_gpus * self._mean_gpu_price).sum())
        return money + far * self._stiffness / 2.0

    def place_all(self, batch: Ints, tries: int) -> None:
        """Place runs where they cost least as long as some find room."""
        left = batch
        for _ in range(tries):
            count = left.size
            left = self._place(left, self.price())
            if not left.size or left.size == count:
                break

    def leave(self, run: int, placed: Placed) -> None:
        """Take a run away from its place."""
        self.places[run] = None
        self.ground.take(placed, -1.0)

    def _place(self, batch: Ints, price: Floats) -> Ints:
        """Let gangs answer and take their places; return those that found none."""
        crowd, crowding = self.crowd, self.crowding
        best: dict[int, tuple[float, int, int, npt.NDArray[np.bool_]]] = {}
        wanted = np.zeros(len(self.places), dtype=bool)
        wanted[batch] = True
        for g, rank in enumerate(crowd.ranks):
            rows = np.flatnonzero(wanted[rank.run])
            if not rows.size:
                continue
            part = rank.only(rows)
            open_to, fitting = self.open(part), self.ground.open_cells(part)
            if crowding is None:
                answer = paused(crowd, part, price, fitting & open_to)
            else:
                beside = self.beside(part, price, fitting, crowding)
                answer = paused(crowd, part, price, open_to, beside)
            for i, row in enumerate(rows.tolist()):
                run, least = int(rank.run[row]), float(answer.least[i])
                if answer.on[i].any() and (run not in best or least < best[run][0]):
                    best[run] = (least, g, row, answer.on[i])
        left, room = [], self.ground if crowding is None else None
        for run in batch.tolist():
            if run not in best:
                left.append(run)
                continue
            _, g, row, on = best[run]
            one = crowd.ranks[g].only(np.array([row]))
            placed = powered(crowd, room, one, on, price[int(one.table[0])])
            if placed is not None and (crowding is not None or self._fits(run, placed)):
                self.take(run, placed)
            else:
                left.append(run)
        return np.array(left, dtype=np.int64)

    def _fits(self, run: int, placed: Placed) -> bool:
        """Return whether a run has room in its place, and those that wait for it stand behind it."""
        if not self.ground.fits(placed):
            return False
        self.places[run] = placed
        holds = self._waits.holds(run, self.places)
        self.places[run] = None
        return holds

    @staticmethod
    def beside(rank: Rank, price: Floats, fitting: Flags, crowding: float) -> Floats:
        """Return what cells without room cost rows beside their price, money per GPU, shape (R, B)."""
        dear = np.maximum(price.mean(axis=2).max(axis=1), TINY)[rank.table]
        return np.asarray(np.where(fitting, 0.0, crowding * dear[:, None] * np.diff(rank.edges)))

    def take(self, run: int, placed: Placed) -> None:
        """Give a run its place."""
        self.places[run] = placed
        self.ground.take(placed)
