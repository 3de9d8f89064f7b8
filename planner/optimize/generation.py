"""A bound from whole schedules: prices, the best schedule of every run at them, better prices, and so on.

At any prices of the rows in which runs meet, the least cost of the site's own columns and of every run's best whole
schedule together bounds the program (Geoffrion 1974). Prices that make that bound high are those of the best mix of the
schedules found so far, drawn towards the best prices so far (Wentges 1997). All that limits the search for them are
counts, so that the bound does not depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.implied import implied_bounds
from planner.optimize.master import Master, Mix
from planner.optimize.parts import SITE
from planner.optimize.pricing import GangPricing, Offer
from planner.optimize.schedules import OwnProgram
from planner.optimize.solver import seconds_left
from planner.optimize.worklevels import Fineness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.matrix import ColumnIndex, Matrix, Row
    from planner.optimize.model import Program
    from planner.optimize.parts import Parts
    from planner.optimize.places import OptionPlaces, Places
    from planner.optimize.schedules import Schedule

    Floats = npt.NDArray[np.float64]
    Places1 = npt.NDArray[np.int64]

FINEST = Fineness(96, 4_800)
"""To certify prices: where gangs start and stop to the minute, this loses nothing."""
SMOOTH = 0.6  # weight of the best prices so far in those that are tried
CLOSE = 1e-3  # of the objective: a bound this near to the best mix is as good as its schedules allow
SAME = 2e-6  # of the objective: a schedule that is cheaper by less is none that is worth its place
WORTH, PATIENCE = 3e-4, 8  # share of the objective by which so many mixes should get cheaper
BORNE = 1e-6  # by the box in all: less is the solver's tolerance
ROUNDING = 1e-9  # of all that adds up to the bound
FORCE = 1e7  # a price that no schedule pays if it can do without
PART = 1e-3  # of a cell
MOST_RULED, LEAST_EFFORT = 1.2e9, 3e5  # states times levels in all, a few seconds, and of one schedule at least
HAIR = 1e-6  # of the objective: a plan as good as the one that is known is never ruled out


@dataclass(frozen=True)
class Tried:
    """Prices that were tried.

    Args:
        price: Price of every ground row, shape (G,).
        reduced: Reduced cost of every column of the program, shape (N,).
        bound: What they certify: no plan costs less.
        offers: The best of each run at them.
    """

    price: Floats
    reduced: Floats
    bound: float
    offers: Mapping[int, Offer]


class Generation:
    """Finds schedules and prices.

    Args:
        program: The program.
        matrix: The same as arrays.
        index: Place of every column.
        places: Where the columns stand.
        parts: What belongs to whom.
        pricing: Of each run.
        cuts: Cuts to begin with.
        price: Prices to begin with: of the program's ground rows, then of the cuts, shape (G,).
    """

    def __init__(
        self,
        program: Program,
        matrix: Matrix,
        index: ColumnIndex,
        places: Places,
        parts: Parts,
        pricing: Sequence[GangPricing],
        cuts: Sequence[Row],
        price: Floats,
    ) -> None:
        self._matrix, self._site, self._rough = matrix, parts.columns(SITE), pricing
        self._finest = [GangPricing(gang, index, FINEST) for gang in program.gangs]
        self._now = pricing
        self._own = [OwnProgram(matrix, parts, r, gang) for r, gang in enumerate(places.gangs)]
        lower, upper = implied_bounds(matrix)
        self._lower, self._upper = lower[self._site], upper[self._site]
        self._seen: set[tuple[int, bytes, bytes]] = set()
        self._centre = price
        self.master = Master(matrix, parts, cuts, price)
        self._best: Tried | None = None
        self.bounds: list[float] = []
        """The best so far, as it rose."""
        self.enough = np.inf
        """Bound at which the search for prices may stop; may be set while it runs."""
        self.mix: Mix | None = None
        """The last mix of all schedules."""

    @property
    def bound(self) -> float:
        """The best bound so far."""
        return self.bounds[-1] if self.bounds else -np.inf

    def begin(self, deadline: float) -> None:
        """Try the prices to begin with; the first schedules are those offered at them and, for every run, never on."""
        first = self.tried(self._centre)
        self._keep(first)
        for own in self._own:
            idle = own.idle(first.reduced, deadline)
            if idle is not None:
                self._take(idle)
        self._add(first, deadline)

    def grow(self, iterations: int, deadline: float) -> int:
        """Improve bound and schedules, and return how many mixes that took.

        Args:
            iterations: Most mixes.
            deadline: Reading of the monotonic clock at which to stop.
        """
        course: list[float] = []
        for _ in range(iterations):
            mix = self.master.run(deadline)
            if mix is None:
                break
            self.mix = mix
            if self.bound >= self.enough:
                break
            before = self.bound
            new = self._priced(SMOOTH * self._centre + (1.0 - SMOOTH) * mix.price, deadline)
            new = new or self._priced(mix.price, deadline)
            course.append(mix.objective)
            slow = len(course) > PATIENCE and course[-PATIENCE - 1] - mix.objective <= WORTH * abs(mix.objective)
            if not new or slow or self._near(mix):
                if mix.outside <= BORNE:
                    break
                self.master.widen()
                self.master.enclose(self._centre)
            elif self.bound > before:
                self.master.enclose(self._centre)
        return len(course)

    def _priced(self, price: Floats, deadline: float) -> int:
        """Try prices, add what is offered at them, and return how many of these schedules are new."""
        tried = self.tried(price)
        self._keep(tried)
        return self._add(tried, deadline)

    def _near(self, mix: Mix) -> bool:
        return mix.objective - self.bound <= CLOSE * abs(mix.objective)

    def _keep(self, tried: Tried) -> None:
        if tried.bound > self.bound:
            self.bounds.append(tried.bound)
            self._centre, self._best = tried.price, tried

    def certify(self, rounds: int, deadline: float) -> None:
        """Bound the program more closely: schedules are priced as finely as they can be.

        What lies between two steps of work is taken for the better, which prices some runs below what any schedule of
        theirs costs.

        Args:
            rounds: Most mixes.
            deadline: Reading of the monotonic clock at which to stop.
        """
        if self.bound >= self.enough:
            return
        self._now = self._finest
        self._priced(self._centre, deadline)
        self.grow(rounds, deadline)
        self._now = self._rough

    def reprice(self, mix: Mix, runs: Sequence[int], settled: Mapping[int, bytes], deadline: float) -> bool:
        """Add the best schedules at the prices of a mix; return whether any is new.

        Args:
            mix: The mix.
            runs: Runs that may follow any pattern.
            settled: Runs that keep their choices (`Schedule.choices`), with the power that is best for them.
            deadline: Reading of the monotonic clock at which to give up.
        """
        tried = self.tried(mix.price, runs)
        kept = [
            self._own[r].of(np.frombuffer(choices, dtype=np.int64), tried.reduced, deadline)
            for r, choices in settled.items()
        ]
        new = sum(self._take(schedule) for schedule in kept if schedule is not None)
        return new + self._add(tried, deadline) > 0

    def adopt(self, x: Floats, deadline: float) -> dict[int, bytes] | None:
        """Add the schedules of a plan, shape (N,), each the best for its pattern at the best prices so far.

        Returns:
            Run -> its choices (`Schedule.choices`), or None where a run's own rows do not allow its pattern.
        """
        reduced = self._matrix.cost - self.master.ground.T @ self._counting(self._centre)
        found = {}
        for r, own in enumerate(self._own):
            schedule = own.of(own.in_plan(x), reduced, deadline)
            if schedule is None:
                return None
            self._take(schedule)
            found[r] = schedule.choices
        return found

    def ruled(
        self, gangs: Sequence[tuple[OptionPlaces, ...]], objective: float, deadline: float
    ) -> tuple[Places1, Floats]:
        """Return on-columns of which every plan that costs less than `objective` has the same value, and that value.

        With one cell of one run on, or off, the bound at the best prices rises by what that run's best schedule then
        costs more (reduced cost fixing). The largest runs come first, as many as a count of states allows.

        Args:
            gangs: Where the options of every run stand.
            objective: Objective of a plan that is known.
            deadline: Reading of the monotonic clock at which to stop.
        """
        found: dict[int, float] = {}
        left = MOST_RULED
        for r in sorted((r for r, options in enumerate(gangs) if options), key=lambda r: (-gangs[r][0].gpus, r)):
            for column, value in self._in_question(gangs[r]):
                left -= max(self._finest[r].effort, LEAST_EFFORT)
                if left < 0 or seconds_left(deadline) <= 0:
                    break
                if self._cannot(r, column, 1.0 - value, objective):
                    found[column] = value
        columns = np.array(sorted(found), dtype=np.int64)
        return columns, np.array([found[column] for column in columns.tolist()])

    def _in_question(self, options: tuple[OptionPlaces, ...]) -> list[tuple[int, float]]:
        """Return a run's on-columns that are whole in the mix, and their values; a part of one is never ruled out."""
        if self.mix is None:
            return []
        columns = np.concatenate([option.on[option.on >= 0] for option in options])
        used = self.mix.values[columns]
        whole = np.abs(used - np.round(used)) <= PART
        return list(zip(columns[whole].tolist(), np.round(used[whole]).tolist(), strict=True))

    def _cannot(self, r: int, column: int, value: float, objective: float) -> bool:
        """Whether no plan that costs less than `objective` has a value, 0 or 1, in one of a run's on-columns."""
        best = self._best
        if best is None:
            return False
        reduced = best.reduced.copy()
        reduced[column] += FORCE if value == 0.0 else -FORCE
        least = self._finest[r].price(reduced).least + (0.0 if value == 0.0 else FORCE)
        return best.bound - best.offers[r].least + least > objective + HAIR * abs(objective)

    def add_cuts(self, cuts: Sequence[Row]) -> None:
        """Add cuts; they have no price at first."""
        self.master.add_cuts(cuts)
        self._centre = np.append(self._centre, np.zeros(len(cuts)))
        self.mix = None

    def tried(self, price: Floats, runs: Sequence[int] | None = None) -> Tried:
        """Return what prices of the ground rows, shape (G,), come to; without a bound where only some runs are asked.

        Args:
            price: The prices.
            runs: Places of the runs that are asked for offers, or None for all.
        """
        price = self._counting(price)
        reduced = self._matrix.cost - self.master.ground.T @ price
        offers = {r: self._now[r].price(reduced) for r in (range(len(self._now)) if runs is None else runs)}
        bound = -np.inf if runs is not None else self._bound(price, reduced[self._site], offers)
        return Tried(price, reduced, bound, offers)

    def _bound(self, price: Floats, reduced: Floats, offers: Mapping[int, Offer]) -> float:
        priced, costly = price != 0.0, reduced != 0.0
        sides = np.where(price > 0, self.master.lower, self.master.upper)
        ends = np.where(reduced > 0, self._lower, self._upper)
        least = np.array([offer.least for offer in offers.values()])
        terms = np.concatenate([price[priced] * sides[priced], reduced[costly] * ends[costly], least])
        bound = float(terms.sum() - ROUNDING * np.abs(terms).sum())
        return bound if np.isfinite(bound) else -np.inf

    def _counting(self, price: Floats) -> Floats:
        """Return prices with none for a row that has no side on which it would count."""
        sides = np.where(price > 0, self.master.lower, self.master.upper)
        return np.where(np.isfinite(sides), price, 0.0)

    def _add(self, tried: Tried, deadline: float) -> int:
        """Add the schedules that are offered and worth it, and return how many of them are new."""
        cheapest = self.master.cheapest(tried.reduced)
        worth = SAME * max(abs(self.bound), 1.0) if np.isfinite(self.bound) else 0.0
        offered = [
            self._own[r].schedule(choice, pattern, tried.reduced, deadline)
            for r, offer in tried.offers.items()
            if offer.least < cheapest[r] - worth
            for choice, pattern in offer.patterns
        ]
        return sum(self._take(schedule) for schedule in offered if schedule is not None)

    def _take(self, schedule: Schedule) -> bool:
        """Add a schedule, and return whether it is new."""
        key = (schedule.gang, schedule.columns.tobytes(), np.round(schedule.values, 7).tobytes())
        if key in self._seen:
            return False
        self._seen.add(key)
        self.master.add([schedule])
        return True
