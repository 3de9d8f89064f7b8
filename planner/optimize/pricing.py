"""A run's best whole schedule at given prices: a dynamic program over cells, on or off, and the work done so far.

Prices are the reduced costs of the run's columns. Work is counted on a grid; what lies between two grid points is taken
for the better, so that the least cost found is never above that of any schedule that the program allows. The work due
last lies on the grid, and the state at the beginning beside it, where the first start leaves what it loses exactly:
between the two states around that one the least cost of one on/off pattern is linear (a network flow of whole sizes:
Ahuja, Magnanti and Orlin 1993), so that the least of all patterns is nowhere below the chord.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cells import ROUNDING
from planner.optimize.gangs import landing_h
from planner.optimize.worklevels import Fineness, Stretches, stretches

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pulp

    from planner.optimize.gangs import Gang, GangOption
    from planner.optimize.matrix import ColumnIndex

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]
    Pattern = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Offer:
    """The best that a run can do at given prices.

    Args:
        least: Its cost, never above that of any of its schedules.
        patterns: (place of the run's option, on or off per cell), best ones; none where it is best never on.
    """

    least: float
    patterns: tuple[tuple[int, Pattern], ...]


class GangPricing:
    """Prices one run; what does not depend on prices is laid out once.

    Args:
        gang: The run's columns.
        index: Place of every column.
        fine: How finely work is counted.
    """

    def __init__(self, gang: Gang, index: ColumnIndex, fine: Fineness) -> None:
        self._short = np.array([index(v) for due in gang.due for _, v in due.short], dtype=np.int64)
        self._due_h = np.array([due.work_h for due in gang.due for _ in due.short])
        self._options = [_ground(gang, option, index, fine) for option in gang.options]

    @property
    def effort(self) -> float:
        """States times levels that are looked at for a price, of which some 500 million take a second."""
        return float(sum(ground.effort for ground in self._options))

    def price(self, reduced: Floats) -> Offer:
        """Return the best whole schedule.

        Args:
            reduced: Reduced cost of every column of the program, shape (N,).
        """
        best = Offer(float(self._due_h @ reduced[self._short]), ())
        for k, ground in enumerate(self._options):
            chosen = 0.0 if ground.chosen < 0 else float(reduced[ground.chosen])
            least, patterns = Course(ground, reduced, counted=False).best()
            if any(_spells(pattern) > ground.spells for pattern in patterns):
                least, patterns = Course(ground, reduced, counted=True).best()
            if least + chosen < best.least:
                best = Offer(least + chosen, tuple((k, pattern) for pattern in patterns))
            elif chosen < 0.0 and not best.patterns:
                best = Offer(best.least + chosen, ())
        return best


@dataclass(frozen=True)
class _Ground:
    """What a run may do in one pool, whatever it costs.

    Args:
        stretches: The stretches of time.
        min_run: Shortest spell in cells.
        min_pause: Shortest pause in cells.
        running: Whether it is on here as the horizon starts.
        chosen: Column of the choice of the pool, or -1.
        on: On-column of each cell, -1 where it is closed, shape (B,).
        start: Column of a start, likewise.
        stop: Column of a stop before the cell, likewise.
        start_loss: Work lost at a start, in whole steps.
        stop_loss: Work lost at a stop, in whole steps.
        spells: Most spells.
        most: State of all work that there may be at the end.
        nothing: State of no work done; the states below it are for what starts lose.
        count: States: up to what a last stop may lose beyond all there is.
        begin: State at the beginning, which need not be a whole one.
        shorts: Per mark: stretch that ends there, column, work per step, state of all that is due, steps due.
        reach: States that can be reached before each stretch and at the end.
    """

    stretches: Stretches
    min_run: int
    min_pause: int
    running: bool
    chosen: int
    on: Places1
    start: Places1
    stop: Places1
    start_loss: int
    stop_loss: int
    spells: int
    most: int
    nothing: int
    count: int
    begin: float
    shorts: tuple[tuple[int, int, float, int, float], ...]
    reach: tuple[int, ...]

    @property
    def effort(self) -> int:
        """States times levels that are looked at for a price."""
        open_ones = self.on[self.stretches.cell] >= 0
        return int(np.array(self.reach[:-1])[open_ones].sum()) * self.stretches.levels * self.min_run


def _ground(gang: Gang, option: GangOption, index: ColumnIndex, fine: Fineness) -> _Ground:
    cells, run = gang.cells, gang.run
    marks = sorted({mark for due in gang.due for mark, _ in due.short})
    work_h = gang.work_h / option.rate
    top = option.points[-1].relative_throughput
    lost_h = [lost_s / 3600.0 * top for lost_s in (run.reload_s, run.checkpoint_s)]
    pieces = stretches(cells, option, marks, index, work_h, lost_h, fine)
    unit_h = pieces.unit_h
    lost = [hours / unit_h for hours in lost_h]
    start_loss, stop_loss = (math.floor(steps + ROUNDING) for steps in lost)
    last = work_h / unit_h
    beside = max(0.0, math.ceil(last - ROUNDING) - last)
    # what the first start loses beside whole steps is lost from the beginning on; no work comes before it
    of_first = 0.0 if option.running else lost[0] - start_loss
    nothing = start_loss + 1
    # spells lose less here than they do: what they keep must not be more than there is
    kept = (run.max_pauses + 1) * (sum(lost) - start_loss - stop_loss) - of_first
    most = nothing + math.ceil((gang.work_h + landing_h(gang)) / option.rate / unit_h + beside + kept - ROUNDING)
    # the last state holds whatever is more: what a stop loses must not bring it back to all there is
    count = most + stop_loss + 2
    shorts = []
    for due in gang.due:
        steps = due.work_h / option.rate / unit_h
        for mark, short in due.short:
            stretch = int(np.searchsorted(pieces.end, mark - ROUNDING))
            at = nothing + math.floor(steps + beside + ROUNDING)
            shorts.append((stretch, index(short), option.rate * unit_h, at, steps))
    on = _places(option.on, cells.count, index)
    reach, now = [], min(count, nothing + 2)
    for cell, lowest in zip(pieces.cell, pieces.lowest, strict=True):
        reach.append(now)
        if on[cell] >= 0:
            now = min(count, now + int(lowest) + pieces.levels - 1)
    return _Ground(
        stretches=pieces,
        min_run=cells.min_run,
        min_pause=cells.min_pause,
        running=option.running,
        chosen=-1 if option.chosen is None else index(option.chosen),
        on=on,
        start=_places(option.start, cells.count, index),
        stop=_places(option.stop, cells.count, index),
        start_loss=start_loss,
        stop_loss=stop_loss,
        spells=run.max_pauses + 1,
        most=most,
        nothing=nothing,
        count=count,
        begin=nothing + beside - of_first,
        shorts=tuple(shorts),
        reach=(*reach, now),
    )


def _spells(pattern: Pattern) -> int:
    """Return the count of spells of a pattern."""
    return int(np.count_nonzero(np.diff(pattern.astype(np.int8), prepend=0) > 0))


def _places(columns: Mapping[int, pulp.LpVariable], count: int, index: ColumnIndex) -> Places1:
    places = np.full(count, -1, dtype=np.int64)
    for cell, column in columns.items():
        places[cell] = index(column)
    return places


class Course:
    """The least costs to go of one option at one set of prices, from the end of the horizon back to its start.

    Costs to go are arrays over the spells that may still start and the states of work done; without a count of spells
    the first axis has length one.

    Args:
        ground: The option.
        reduced: Reduced cost of every column of the program, shape (N,).
        counted: Whether spells are counted; without, there may be any number.
    """

    def __init__(self, ground: _Ground, reduced: Floats, *, counted: bool) -> None:
        self._ground, self._reduced, self._counted = ground, reduced, counted
        self._left = ground.spells + 1 if counted else 1
        self._cost = ground.stretches.costs(reduced)
        self._late = self._lateness()
        cells = len(ground.on)
        # before each cell, if it is on in its n-th cell of a spell, or off in its n-th of a pause
        self._on: list[list[Floats | None]] = [[None] * ground.min_run for _ in range(cells)]
        self._off: list[list[Floats]] = [[] for _ in range(cells)]
        self._inner: dict[tuple[int, int], Floats] = {}
        for c in reversed(range(cells)):
            if ground.on[c] >= 0:
                for age in range(ground.min_run):
                    self._on[c][age] = self._through(c, age)
            self._off[c] = [self._pausing(c, age) for age in range(ground.min_pause)]

    def best(self) -> tuple[float, tuple[Pattern, ...]]:
        """Return the least cost, never above the true one, and the patterns at both states around the true start."""
        ground = self._ground
        first = math.floor(ground.begin + ROUNDING)
        beside = max(0.0, ground.begin - first)
        starts = [(first + i, share) for i, share in enumerate((1.0 - beside, beside)) if share > 0.0]
        left = self._left - 1
        ways = [min(self._first(), key=lambda way: way.at(left, state)) for state, _ in starts]
        costs = [way.at(left, state) for way, (state, _) in zip(ways, starts, strict=True)]
        if not all(math.isfinite(cost) for cost in costs):
            return math.inf, ()
        least = sum(share * cost for cost, (_, share) in zip(costs, starts, strict=True))
        patterns = {
            p.tobytes(): p for p in (self._follow(w, state) for w, (state, _) in zip(ways, starts, strict=True))
        }
        return least, tuple(patterns.values())

    def _first(self) -> list[_Way]:
        """Return the ways to begin."""
        ground = self._ground
        ways = [_Way(self._off[0][-1], ground.min_pause - 1)]
        going_on, starting = self._on[0][-1], self._on[0][0]
        if ground.running and going_on is not None:
            ways.append(_Way(going_on, ground.min_run - 1, is_on=True, spells=int(self._counted)))
        elif starting is not None:
            ways.append(self._start(0, starting))
        return ways

    def _start(self, c: int, starting: Floats) -> _Way:
        paid = float(self._reduced[self._ground.start[c]])
        return _Way(starting, 0, paid, self._ground.start_loss, is_on=True, spells=int(self._counted))

    def _after(self, c: int, age: int, *, is_on: bool) -> list[_Way]:
        """Return the ways to go on after a cell, with what is paid at its end.

        What a stop loses is lost before the cell ends, what a start loses after that.
        """
        ground, after = self._ground, c + 1
        end = int(ground.stretches.first[after]) - 1
        if is_on:
            older = min(age + 1, ground.min_run - 1)
            going_on = self._on[after][older]
            ways = [] if going_on is None else [_Way(self._paid(going_on, end), older, is_on=True)]
            if age == ground.min_run - 1:
                paid = float(self._reduced[ground.stop[after]])
                ways.append(_Way(self._paid(self._off[after][0], end), 0, paid, ground.stop_loss))
            return ways
        rested = min(age + 1, ground.min_pause - 1)
        ways = [_Way(self._paid(self._off[after][rested], end), rested)]
        starting = self._on[after][0]
        if age == ground.min_pause - 1 and starting is not None:
            ways.append(replace(self._start(after, starting), late=self._late.get(end)))
        return ways

    def _to_go(self, c: int, age: int, *, is_on: bool) -> Floats:
        """Return the cost to go at the end of a cell."""
        ground = self._ground
        end = int(ground.stretches.first[c + 1])
        if c + 1 == len(ground.on):
            cost = np.zeros((self._left, ground.reach[end]))
            cost[:, ground.most + 1 :] = np.inf
            return self._paid(cost, end - 1)
        ways = [way.cost() for way in self._after(c, age, is_on=is_on)]
        return reduce(np.minimum, ways) if ways else np.full((self._left, ground.reach[end]), np.inf)

    def _paid(self, cost: Floats, stretch: int) -> Floats:
        """Return a cost to go with what is paid for lateness at the end of a stretch."""
        late = self._late.get(stretch)
        return cost if late is None else cost + late[: cost.shape[1]]

    def _through(self, c: int, age: int) -> Floats:
        pieces, reach = self._ground.stretches, self._ground.reach
        cost = self._to_go(c, age, is_on=True)
        for p in reversed(range(int(pieces.first[c]), int(pieces.first[c + 1]))):
            self._inner[p, age] = cost
            cost = _worked(cost, self._cost[p], int(pieces.lowest[p]), reach[p])
            if p > pieces.first[c]:
                cost = self._paid(cost, p - 1)
        return cost

    def _pausing(self, c: int, age: int) -> Floats:
        pieces, reach = self._ground.stretches, self._ground.reach
        cost = self._to_go(c, age, is_on=False)[:, : reach[int(pieces.first[c])]]
        for p in range(int(pieces.first[c]), int(pieces.first[c + 1]) - 1):
            cost = self._paid(cost, p)
        return cost

    def _lateness(self) -> dict[int, Floats]:
        """Return what is paid for work missing at the end of a stretch, by the work done."""
        ground = self._ground
        state = np.arange(ground.count)
        late: dict[int, Floats] = {}
        for stretch, column, per_step, at, steps in ground.shorts:
            # before the first start no more is missing than is due
            paid = self._reduced[column] * per_step * np.clip(at - state, 0.0, steps)
            late[stretch] = late[stretch] + paid if stretch in late else paid
        return late

    def _follow(self, way: _Way, state: int) -> Pattern:
        """Return the best pattern that begins one way with some work done."""
        ground, pieces, left = self._ground, self._ground.stretches, self._left - 1
        pattern = np.zeros(len(ground.on), dtype=bool)
        for c in range(len(pattern)):
            state, left = max(0, state - way.loss), left - way.spells
            pattern[c] = way.is_on
            if way.is_on:
                for p in range(int(pieces.first[c]), int(pieces.first[c + 1])):
                    ahead = self._inner[p, way.age][left]
                    reached = np.minimum(state + int(pieces.lowest[p]) + np.arange(pieces.levels), len(ahead) - 1)
                    state = int(reached[np.argmin(self._cost[p] + ahead[reached])])
            if c + 1 < len(pattern):
                ways = self._after(c, way.age, is_on=way.is_on)
                way = min(ways, key=lambda one: one.at(left, state))
        return pattern


@dataclass(frozen=True)
class _Way:
    """A way to go on.

    Args:
        ahead: Cost to go once it is begun, by the spells that may still start and the state, shape (S, N).
        age: Age in the spell or pause.
        paid: What it costs to begin it.
        loss: Steps of work that this loses.
        is_on: Whether it is on.
        spells: Spells that count as started with it.
        late: What is paid first, by the state, shape (N or more,), or None.
    """

    ahead: Floats
    age: int
    paid: float = 0.0
    loss: int = 0
    is_on: bool = False
    spells: int = 0
    late: Floats | None = None

    def at(self, left: int, state: int) -> float:
        """Return the cost to go before it is begun, of one count of spells and one state."""
        if left < self.spells:
            return math.inf
        late = 0.0 if self.late is None else float(self.late[state])
        return late + self.paid + float(self.ahead[left - self.spells, max(0, state - self.loss)])

    def cost(self) -> Floats:
        """Return the same for all, shape (S, N); no loss brings a state below the first."""
        if not (self.paid or self.loss or self.spells or self.late is not None):
            return self.ahead
        cost = np.empty_like(self.ahead)
        after, n = self.ahead[: len(cost) - self.spells], min(self.loss, cost.shape[1])
        cost[: self.spells] = np.inf
        cost[self.spells :, :n] = after[:, :1] + self.paid
        np.add(after[:, : cost.shape[1] - n], self.paid, out=cost[self.spells :, n:])
        if self.late is not None:
            cost += self.late[: cost.shape[1]]
        return cost


def _worked(cost: Floats, levels: Floats, lowest: int, n: int) -> Floats:
    """Return a cost to go by the state before a stretch in which some work is done; the last state holds all above."""
    found = cost[:, lowest : lowest + n + len(levels) - 1]
    beyond = n + len(levels) - 1 - found.shape[1]
    last = np.repeat(cost[:, -1:], beyond, axis=1)
    ahead = np.ascontiguousarray(np.concatenate([found, last], axis=1) if beyond else found)
    # one row per level, so that the least is taken of whole rows at once
    step = ahead.strides[1]
    shifted = np.ndarray((len(ahead), len(levels), n), np.float64, ahead, 0, (ahead.strides[0], step, step))
    best: Floats = (shifted + levels[:, None]).min(axis=1)
    return best
