"""From a week with many gangs to its plan: prices, bound, whole gangs, better whole gangs; and again after an event."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import LATENESS
from planner.optimize.limits import block_limits, energy_worth
from planner.optimize.scale.assign import SOFT, Assignment
from planner.optimize.scale.certificate import Certificate
from planner.optimize.scale.classes import Fineness
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.dispatching import Dispatcher
from planner.optimize.scale.fluid import Fluid, Prices
from planner.optimize.scale.goals import capped, free_late, valued
from planner.optimize.scale.known import known_places
from planner.optimize.scale.lateness import late_money
from planner.optimize.scale.pressing import pressed
from planner.optimize.scale.room import clear, make_room
from planner.optimize.scale.standing import standing
from planner.optimize.scale.supported import check_supported
from planner.optimize.scale.told import plan_of
from planner.optimize.solver import seconds_left
from planner.stagger import longest_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.choices import Choices
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.ground import Placed
    from planner.schedule import Plan
    from planner.week import Week

    Ints = npt.NDArray[np.int64]

CROWDING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of a mean cell's price: what one without room costs, round after round
LAST_TRIES = 12
TOGETHER = Fineness(168.0, 1, 1.0)  # who owes what by when is told hour by hour: finer classes give no better prices
ONE_IN = 120  # gangs of which one answers at the same prices as the next
LEAST_BATCH, MOST_FILLED, MOST_MOVED = 2, 32, 8  # gangs that answer at once, at most while places are filled and moved
SWEEPS, REPLAN_SWEEPS = 12, 3
LATE_SWEEPS = 2  # where the gap asked for is reached and deadlines are missed that others could not make room for
WORTH_A_SWEEP = 2e-4  # share of the objective that a sweep must bring
MOST_IDLE = 2  # sweeps that bring less, one after the other
AIMS = 2  # times that gangs are placed anew where they are above an amount that goals leave free
PRICE_SHARE = 0.6  # of the time left: prices


class ManyGangs:
    """A planner for many gangs that keeps its prices and its plan, so that a changed week is planned again quickly.

    Args:
        gap_target: Certified gap at which to stop.
        time_limit_s: Seconds after which the best plan so far is taken.
    """

    def __init__(self, gap_target: float, time_limit_s: float) -> None:
        self._gap_target, self._time_limit_s = gap_target, time_limit_s
        self._prices: Prices | None = None
        self._places: tuple[Placed | None, ...] = ()
        self._size: tuple[int, int] = (0, 0)

    def plan(self, week: Week, start: Choices | None = None) -> Plan:
        """Return the plan of a week.

        Args:
            week: All inputs.
            start: A plan of the same runs and slots whose starts, stops and pools are kept where they still have room.

        Raises:
            Infeasible: The site cannot even idle.
            ConfigError: The week has parts that are not planned this way; names them.
        """
        began = time.monotonic()
        deadline = began + self._time_limit_s
        crew = _crew(week)
        placing = pressed(valued(crew))
        fluid = Fluid(placing, TOGETHER)
        self._size = fluid.size
        build_s = time.monotonic() - began
        self._prices = fluid.solve(PRICE_SHARE * seconds_left(deadline), interior=True) or _flat(crew)
        if self._prices.late.any():
            placing = pressed(valued(crew, self._prices.late))
        timing, bounding = (began, build_s, deadline), self._prices
        if start is not None and not week.objective.goals:
            ground = Assignment(placing)
            _go_on(placing, ground, self._prices, known_places(placing, start, self._prices), deadline)
            return self._finish(week, crew, ground, timing, calm=True)
        ground = _placed(placing, self._prices, deadline)
        if week.objective.counted:
            ground = self._aimed_below(crew, fluid, ground, deadline)
        if start is not None:
            # what counts is another measure than the plan to begin with was made for: the better one of both is taken
            known, site = Assignment(placing), Dispatcher(crew)
            _go_on(placing, known, self._prices, known_places(placing, start, self._prices), deadline)
            ground = min((ground, known), key=lambda one: standing(crew, site, one).money)
        return self._finish(week, crew, ground, timing, calm=False, bounding=bounding)

    def _aimed_below(self, crew: Crowd, fluid: Fluid, ground: Assignment, deadline: float) -> Assignment:
        """Place gangs again where whole ones are above an amount that goals leave free: the program aims below it then.

        The prices of the better try stay.
        """
        assert self._prices is not None
        site = Dispatcher(crew)
        first = standing(crew, site, ground)
        least, measures = first.money, first.measures
        for _ in range(AIMS):
            if not fluid.aim_below(measures) or seconds_left(deadline) <= 0.0:
                break
            prices = fluid.solve(PRICE_SHARE * seconds_left(deadline), interior=True)
            if prices is None:
                break
            tried = _placed(pressed(valued(crew, prices.late)), prices, deadline)
            found = standing(crew, site, tried)
            measures = found.measures
            if found.money < least:
                least, ground, self._prices = found.money, tried, prices
        return ground

    def replan(self, week: Week) -> Plan:
        """Return the plan of a week that differs from the last in what pools and blocks may take, from that plan on.

        The prices of the last plan stay: any prices certify, and those of an event of some hours are near them.

        Raises:
            Infeasible: The site cannot even idle.
            ValueError: There is no last plan, or its runs or slots were others.
        """
        if self._prices is None or len(self._places) != len(week.runs) or self._prices.it.shape[1] != week.grid.n_slots:
            raise ValueError("there is no last plan of the same runs and slots")
        began = time.monotonic()
        crew = _crew(week)
        placing = pressed(valued(crew, self._prices.late))
        ground = Assignment(placing)
        _go_on(placing, ground, self._prices, self._places, began + self._time_limit_s)
        timing = (began, time.monotonic() - began, began + self._time_limit_s)
        return self._finish(week, crew, ground, timing, calm=True)

    def finish(
        self, week: Week, prices: Prices, places: Sequence[Placed | None], size: tuple[int, int], build_s: float
    ) -> Plan:
        """Return the plan that places found elsewhere come to, mended where they do not fit, bounded and improved.

        Args:
            week: All inputs.
            prices: Prices of an aggregate program of it.
            places: Place of every run.
            size: Columns and rows of that program.
            build_s: Seconds that went by before.

        Raises:
            Infeasible: The site cannot even idle.
        """
        began = time.monotonic()
        deadline = began + self._time_limit_s
        self._prices, self._size = prices, size
        crew = _crew(week)
        placing = pressed(valued(crew, self._prices.late))
        ground = Assignment(placing)
        _go_on(placing, ground, prices, places, deadline)
        return self._finish(week, crew, ground, (began - build_s, build_s, deadline), calm=False)

    def _finish(
        self,
        week: Week,
        crew: Crowd,
        ground: Assignment,
        timing: tuple[float, float, float],
        *,
        calm: bool,
        bounding: Prices | None = None,
    ) -> Plan:
        """Certify, at the prices of the plan or at others, and improve; where `calm`, only late runs and a few move."""
        assert self._prices is not None
        began, build_s, deadline = timing
        ground.aim(self._prices, 1.0, SOFT)
        # a plan without a bound is none: it is made even when the time is over
        prices = bounding or self._prices
        bound = Certificate(valued(crew, prices.late)).bound(prices.it, prices.gpu, np.inf)
        bound -= free_late(crew.week, prices.late)
        dispatcher = Dispatcher(crew)
        best = standing(crew, dispatcher, ground)
        order, draw, idle, more = ground.order(), np.random.default_rng(0), 0, 0
        for _ in range(REPLAN_SWEEPS if calm else SWEEPS):
            late = _late(ground, order)
            closed = best.money - bound <= self._gap_target * abs(best.money)
            # a gap that is small enough leaves room for missed deadlines: some more is done for those that can be kept
            if (closed and (more == LATE_SWEEPS or not late.size)) or seconds_left(deadline) <= 0.0:
                break
            helped = 0
            while late.size and seconds_left(deadline) > 0.0:
                helped += make_room(ground.crowd, ground, late[:LEAST_BATCH])
                late = late[LEAST_BATCH:]
            more += closed and not helped
            if not calm and not (closed and helped):
                for batch in _batches(draw.permutation(order), MOST_MOVED):
                    if seconds_left(deadline) <= 0.0:
                        break
                    ground.improve(batch)
            found = standing(crew, dispatcher, ground)
            gained, best = best.money - found.money, min(best, found, key=lambda one: one.money)
            idle = idle + 1 if gained < WORTH_A_SWEEP * abs(best.money) else 0
            if idle == MOST_IDLE:
                break
        self._places = best.places
        quality = (bound, self._gap_target, build_s, time.monotonic() - began - build_s, self._size)
        return plan_of(week, crew, best, quality)


def plan_many(week: Week, gap_target: float, time_limit_s: float, start: Choices | None = None) -> Plan:
    """Return the plan of a week with many gangs; see `ManyGangs.plan`."""
    return ManyGangs(gap_target, time_limit_s).plan(week, start)


def _crew(week: Week) -> Crowd:
    check_supported(week)
    moved = longest_moves(week)
    return crowd(moved, [block_limits(moved, block) for block in moved.blocks])


def _flat(crew: Crowd) -> Prices:
    """Return prices where none were found in time: what energy costs, and GPUs for nothing."""
    worth = energy_worth(crew.week) * crew.week.grid.slot_h
    it = np.repeat(worth[None], len(crew.limits), axis=0)
    most_kw = np.array([one.it_max_kw for one in crew.limits])
    late = np.zeros(len(capped(crew.week, (LATENESS,))))
    return Prices(it, np.zeros_like(crew.in_service), most_kw, crew.in_service, 0.0, late=late)


def _late(ground: Assignment, order: Ints) -> Ints:
    """Return the runs that miss a deadline, the dearest first."""
    money = np.array([late_money(ground.crowd, run, ground.places[run]) for run in order.tolist()])
    return order[np.argsort(-money, kind="stable")][: np.count_nonzero(money)]


def _placed(placing: Crowd, prices: Prices, deadline: float) -> Assignment:
    """Place all gangs by prices, at first though there may be no room."""
    ground = Assignment(placing)
    batches = _batches(ground.order(), MOST_FILLED)
    ground.fill(prices, batches, CROWDING[0])
    for crowding in CROWDING[1:]:
        if ground.ground.crowded and seconds_left(deadline) > 0.0:
            ground.settle(batches, crowding)
            # from now on only those move that are in each other's way
            crowded = ground.crowded()
            batches = [batch[crowded[batch]] for batch in batches if crowded[batch].any()]
    ground.place_all(clear(placing, ground), LAST_TRIES)
    ground.in_order()
    return ground


def _go_on(crew: Crowd, ground: Assignment, prices: Prices, places: Sequence[Placed | None], deadline: float) -> None:
    """Take on places of a former plan; the freest of those in each other's way, and those without, find others."""
    ground.keep(places)
    ground.aim(prices, 1.0)
    clear(crew, ground)
    order = ground.order()
    moved = order[[ground.places[run] is None for run in order.tolist()]]
    for crowding in CROWDING:
        crowded = moved[ground.crowded()[moved]]
        if not crowded.size or seconds_left(deadline) <= 0.0:
            break
        ground.settle(_batches(crowded, MOST_FILLED), crowding)
    ground.place_all(clear(crew, ground), LAST_TRIES)
    ground.in_order()


def _batches(runs: Ints, most: int) -> list[Ints]:
    size = max(LEAST_BATCH, min(most, len(runs) // ONE_IN))
    return np.array_split(runs, max(1, len(runs) // size))
