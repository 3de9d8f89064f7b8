"""What each gang would do by itself at given prices of power and GPUs, and the least that it can cost then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.menu import PARTS, Menu
from planner.optimize.scale.spells import Spells, cheapest_spells, least_costs
from planner.optimize.scale.worth import Due, worth_at

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd, Rank

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

AT_ONCE = 500  # gangs and multipliers tried together: their arrays fit a core's cache
MARGIN = 1.2
FIRST_TRIES = (0.0, 0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the multiplier that buys the dearest hour
LATE_TRIES = (0.0, 0.25, 0.6, 1.0)  # of the way from missing a deadline to never doing the work
NEXT_TRIES = 8  # between the best one's neighbours


@dataclass(frozen=True)
class Care:
    """How well each gang's answer is searched for.

    Args:
        rounds: Rounds of multipliers for each stage.
        parts: Parts of the table that costs of cells are read from.
        each_slot: Whether each slot of a cell takes its own operating point, without which `least` is no bound.
    """

    rounds: int
    parts: int
    each_slot: bool


FULL, QUICK = Care(3, PARTS, each_slot=True), Care(2, 48, each_slot=False)


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
    power = np.einsum("ikbt,bt->ikt", crowd.added_kw, it_price)
    return np.asarray(power + (crowd.drawn @ gpu_price)[:, None, :])


def respond(
    crowd: Crowd,
    rank: Rank,
    price: Floats,
    is_open: Flags | None = None,
    *,
    extra: Floats | None = None,
    fee: Floats | None = None,
    care: Care = FULL,
    trace: bool = True,
) -> Response:
    """Return the answers of a rank's rows at prices.

    Args:
        crowd: The gangs.
        rank: The rows.
        price: From `slot_prices`.
        is_open: Cells in which each row may be on, (R, B); None for all that are open.
        extra: What a cell costs each row beside its price, money per GPU, (R, B); None for nothing.
        fee: What a start costs each row beside its work, money per GPU, shape (R,); None for nothing.
        care: How well to search.
        trace: Whether the cells are wanted, not only what they cost; without it all are off.
    """
    least, on = np.zeros(len(rank)), np.zeros((len(rank), len(rank.edges) - 1), dtype=bool)
    menu = Menu(crowd.tables, price, rank.edges, care.parts, each_slot=care.each_slot)
    dear = price.max(axis=(1, 2))
    for first in range(0, len(rank), AT_ONCE):
        rows = np.arange(first, min(first + AT_ONCE, len(rank)))
        part = rank.only(rows)
        mask = part.is_open if is_open is None else is_open[rows]
        beside = None if extra is None else extra[rows], None if fee is None else fee[rows]
        search = _Search(crowd, part, (menu, dear, float(price.min()) < 0.0), mask, beside)
        least[rows], on[rows] = search.run(care.rounds, trace=trace)
    return Response(least, on)


class _Search:
    """The best multipliers of some rows."""

    def __init__(
        self,
        crowd: Crowd,
        rank: Rank,
        prices: tuple[Menu, Floats, bool],
        is_open: Flags,
        beside: tuple[Floats | None, Floats | None],
    ) -> None:
        dues = crowd.dues
        self._rank, self._open = rank, is_open.T
        extra, self._fee = beside
        self._extra = None if extra is None else extra.T
        self._due = Due(*(a[rank.run] for a in (dues.work_h, dues.marks, dues.price, dues.most_h)))
        self._slot_h = crowd.week.grid.slot_h
        self._menu, dear, self._paid = prices
        # the share of the price of lateness at which the dearest hour is worth its money
        self._guess = MARGIN * dear[rank.table] / (rank.rate * rank.top * self._slot_h) / self._due.price
        self._best = np.full(len(rank), -np.inf)

    def run(self, rounds: int, *, trace: bool) -> tuple[Floats, Flags]:
        n, d = self._due.work_h.shape
        on = np.zeros((n, self._open.shape[0]), dtype=bool)
        if not n or not d:
            return np.zeros(n), on
        due = self._due.work_h > 0.0
        multiplier, several = np.zeros((n, d)), due.sum(axis=1) > 1
        last = np.where(due, np.arange(d), -1).max(axis=1)
        asked = [i for i in reversed(range(d)) if due[:, i].any()]
        for again in (False, True) if len(asked) > 1 else (False,):
            for i in asked:
                rows = np.flatnonzero(due[:, i] & several) if again else np.flatnonzero(due[:, i])
                if rows.size:
                    multiplier[rows, i] = self._best_of_stage(rows, multiplier[rows], i, last[rows] == i, rounds)
        everyone = np.arange(n)
        if trace:
            spells, promised = self._spells(everyone, multiplier)
            least, found = cheapest_spells(spells)
            self._best, on = np.maximum(self._best, promised + least), found.T
        else:
            self._best = np.maximum(self._best, self._values(everyone, multiplier))
        return np.asarray(self._best * self._rank.gpus), on

    def _best_of_stage(self, rows: Ints, multiplier: Floats, stage: int, is_last: Flags, rounds: int) -> Floats:
        """Return the multiplier just above the best one of a stage, with which its work is done.

        The value is concave in it: the best one lies between the neighbours of the best one tried.
        """
        tries = self._first_tries(rows, stage, is_last)
        low, high = tries[:, 0], tries[:, -1]
        row = np.arange(len(rows))
        for turn in range(rounds):
            if turn:
                tries = low[:, None] + (high - low)[:, None] * np.arange(1, NEXT_TRIES + 1) / (NEXT_TRIES + 1)
            count = tries.shape[1]
            wide = np.repeat(multiplier, count, axis=0)
            wide[:, stage] = tries.ravel()
            value = self._values(np.repeat(rows, count), wide).reshape(len(rows), count)
            at = np.argmax(value, axis=1)
            self._best[rows] = np.maximum(self._best[rows], value[row, at])
            low = np.where(at > 0, tries[row, np.maximum(at - 1, 0)], low)
            high = np.where(at < count - 1, tries[row, np.minimum(at + 1, count - 1)], high)
        return np.asarray(high)

    def _first_tries(self, rows: Ints, stage: int, is_last: Flags) -> Floats:
        days = self._due.days[rows, stage].astype(np.float64)
        guess = self._guess[rows]
        parts = [guess[:, None] * np.array(FIRST_TRIES)]
        if self._paid:
            # where power is paid for, work beyond what there is has a price
            parts.append(np.where(is_last, -guess, 0.0)[:, None] * np.array([2.0, 1.0, 0.5]))
        parts.append(1.0 + (days - 1.0)[:, None] * np.array(LATE_TRIES))
        return np.sort(np.minimum(np.concatenate(parts, axis=1), days[:, None]), axis=1)

    def _values(self, rows: Ints, multiplier: Floats) -> Floats:
        """Return the value per GPU of rows for multipliers, shape (R,)."""
        value = np.empty(len(rows))
        for first in range(0, len(rows), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            spells, promised = self._spells(rows[some], multiplier[some])
            value[some] = promised + least_costs(spells)
        return value

    def _spells(self, rows: Ints, multiplier: Floats) -> tuple[Spells, Floats]:
        """Return what rows pay for being on with multipliers, and what these promise."""
        rank, h = self._rank, self._slot_h
        due = self._due.only(rows)
        worth = worth_at(due, multiplier)
        begins = rank.edges[:-1].astype(np.float64)[:, None]
        rate, checkpoint_h = rank.rate[rows], rank.checkpoint_h[rows]
        lost = rate * rank.top[rows]
        # the worth at a cell's begin serves all of it: where a deadline lies within, it is too much, never too little
        here = worth.at(begins)
        cost = self._menu.costs(rank.table[rows], here * (rate * h))
        if self._extra is not None:
            cost += self._extra[:, rows]
        start = here * (lost * rank.reload_h[rows])
        if self._fee is not None:
            start += self._fee[rows]
        spells = Spells(
            cost,
            self._open[:, rows],
            start,
            worth.at(begins - checkpoint_h / h) * (lost * checkpoint_h),
            rank.min_run[rows],
            rank.min_pause[rows],
            rank.running[rows],
        )
        return spells, worth.promised()


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
