"""What each gang would do by itself at given prices of power and GPUs, and the least that it can cost then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.spells import cheapest_spells
from planner.optimize.scale.worth import Due, worth_at

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

CHUNK = 1500  # rows at once: some 100 MB
FIRST_STEPS, NEXT_STEPS = 11, 7
MARGIN = 1.2


@dataclass(frozen=True)
class Response:
    """Answers of R rows, in the order of the rank.

    Args:
        least: No schedule of the row costs less at the prices, money, shape (R,).
        on: Cells in which it is on in the cheapest schedule that does its work, shape (R, B).
    """

    least: Floats
    on: Flags


def slot_prices(crowd: Crowd, it_price: Floats, gpu_price: Floats) -> Floats:
    """Return the money that a GPU costs in a slot at each operating point, shape (tables, K, T).

    Args:
        crowd: The gangs.
        it_price: Money per kW of IT power in a slot, per block, shape (blocks, T).
        gpu_price: Money per GPU in a slot, per pool, shape (P, T).
    """
    pools = np.array([table.pool for table in crowd.tables], dtype=np.int64)
    power = np.einsum("ikbt,bt->ikt", crowd.added_kw, it_price)
    return np.asarray(power + gpu_price[pools][:, None, :])


def respond(crowd: Crowd, rank: Rank, price: Floats, is_open: Flags | None = None, *, steps: int = 0) -> Response:
    """Return the answers of a rank's rows at prices.

    Args:
        crowd: The gangs.
        rank: The rows.
        price: From `slot_prices`.
        is_open: Cells in which each row may be on, (R, B); None for all that are open.
        steps: Steps of the search for each multiplier; 0 for the usual count.
    """
    least, on = np.zeros(len(rank)), np.zeros((len(rank), len(rank.edges) - 1), dtype=bool)
    for first in range(0, len(rank), CHUNK):
        rows = np.arange(first, min(first + CHUNK, len(rank)))
        part = rank.only(rows)
        mask = part.is_open if is_open is None else is_open[rows]
        least[rows], on[rows] = _Search(crowd, part, price, mask).run(steps or FIRST_STEPS)
    return Response(least, on)


class _Search:
    """The best multipliers of some rows."""

    def __init__(self, crowd: Crowd, rank: Rank, price: Floats, is_open: Flags) -> None:
        dues = crowd.dues
        self._rank, self._open, self._crowd = rank, is_open, crowd
        self._due = Due(*(a[rank.run] for a in (dues.work_h, dues.marks, dues.price, dues.most_h)))
        self._n_slots, self._slot_h = crowd.week.grid.n_slots, crowd.week.grid.slot_h
        self._price = price
        self._best = np.full(len(rank), -np.inf)

    def run(self, steps: int) -> tuple[Floats, Flags]:
        n, d = self._due.work_h.shape
        multiplier = np.zeros((n, d))
        if not n or not d:
            return np.zeros(n), np.zeros((n, self._open.shape[1]), dtype=bool)
        dear = self._price.max(axis=(1, 2))[self._rank.table] / (self._rank.rate * self._rank.top * self._slot_h)
        ends_low = float(self._price.min()) < 0.0
        asked = [i for i in reversed(range(d)) if (self._due.work_h[:, i] > 0.0).any()]
        last = np.where(self._due.work_h > 0.0, np.arange(d), -1).max(axis=1)
        rounds = ((steps, True), (NEXT_STEPS, False)) if len(asked) > 1 else ((steps, True),)
        for count, first_round in rounds:
            for i in asked:
                mine = self._due.work_h[:, i] > 0.0
                rows = np.flatnonzero(mine if first_round else mine & ((self._due.work_h > 0.0).sum(axis=1) > 1))
                if rows.size:
                    guess = MARGIN * dear[rows] / self._due.price[rows]
                    low = np.where(last[rows] == i, -2.0 * guess, 0.0) if ends_low else np.zeros(len(rows))
                    multiplier[rows, i] = self._bisect(rows, multiplier[rows], i, low, guess, count)
        value, on, _ = self._at(np.arange(n), multiplier, None)
        self._best = np.maximum(self._best, value)
        return np.asarray(self._best * self._rank.gpus), on

    def _bisect(self, rows: Ints, multiplier: Floats, stage: int, low: Floats, guess: Floats, steps: int) -> Floats:
        """Return the least multiplier of a stage at which its work is done, and keep the best value on the way."""
        days = self._due.days[rows, stage].astype(np.float64)
        high = days.copy()
        trial = multiplier.copy()
        for step in range(steps):
            middle = np.minimum(guess, high) if step == 0 else (low + high) / 2.0
            trial[:, stage] = middle
            value, _, enough = self._at(rows, trial, stage)
            self._best[rows] = np.maximum(self._best[rows], value)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(high)

    def _at(self, rows: Ints, multiplier: Floats, stage: int | None) -> tuple[Floats, Flags, Flags]:
        """Return value per GPU, cells, and whether a stage's work is done at its mark, for multipliers."""
        rank, due, h = self._rank.only(rows), self._due.only(rows), self._slot_h
        worth = worth_at(due, multiplier)
        in_slots = worth.in_slots(self._n_slots) * (rank.rate * h)[:, None]
        net = np.full(in_slots.shape, np.inf)
        speed = np.zeros(in_slots.shape)
        for k in range(self._price.shape[1]):
            throughput = self._throughput(k)[rank.table][:, None]
            here = self._price[rank.table, k] - in_slots * throughput
            better = here < net
            net, speed = np.where(better, here, net), np.where(better, throughput, speed)
        edges = rank.edges
        cost = np.add.reduceat(net, edges[:-1], axis=1)
        lost = rank.rate * rank.top
        begins = np.broadcast_to(edges[:-1].astype(np.float64), cost.shape)
        ends = begins - (rank.checkpoint_h / h)[:, None]
        start = worth.at(begins) * (lost * rank.reload_h)[:, None]
        stop = worth.at(ends) * (lost * rank.checkpoint_h)[:, None]
        least, on = cheapest_spells(cost, self._open[rows], start, stop, rank.min_run, rank.min_pause, rank.running)
        value = worth.promised() + least
        if stage is None:
            return value, on, np.zeros(len(rows), dtype=bool)
        day = np.clip(np.ceil(multiplier[:, stage]).astype(np.int64) - 1, 0, due.marks.shape[2] - 1)
        mark = due.marks[np.arange(len(rows)), stage, day]
        made = work_by(rank, on, speed, mark, h)
        aim = np.where(multiplier[:, stage] < 0.0, due.most_h, due.work_h[:, stage])
        return value, on, np.asarray(made >= aim)

    def _throughput(self, k: int) -> Floats:
        return np.array([t.throughput[min(k, len(t.throughput) - 1)] for t in self._crowd.tables])


def work_by(rank: Rank, on: Flags, speed: Floats, mark: Floats, slot_h: float) -> Floats:
    """Return the work that rows have done by a mark each, h, shape (R,).

    Args:
        rank: The rows.
        on: Cells in which they are on, shape (R, B).
        speed: Relative throughput per slot, shape (R, T).
        mark: Slots after the start, shape (R,); inf for the end.
        slot_h: Length of a slot, h.
    """
    edges, n_slots = rank.edges, speed.shape[1]
    slots_on = np.repeat(on, np.diff(edges), axis=1)
    share = np.clip(mark[:, None] - np.arange(n_slots), 0.0, 1.0)
    made = (np.where(slots_on, speed, 0.0) * share).sum(axis=1) * rank.rate * slot_h
    before = np.concatenate([rank.running[:, None], on[:, :-1]], axis=1)
    begins = edges[:-1][None, :]
    starts = (on & ~before & (begins < mark[:, None])).sum(axis=1)
    stops = ~on & before & (begins - (rank.checkpoint_h / slot_h)[:, None] < mark[:, None])
    # what runs before the horizon and not in its first cell has stopped before it
    stops[:, 0] = False
    return np.asarray(made - rank.rate * rank.top * (starts * rank.reload_h + stops.sum(axis=1) * rank.checkpoint_h))
