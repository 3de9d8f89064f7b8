"""What would mend a week whose plan misses promises, or that has no plan: the smallest of each kind of change.

A size is sought among those with which the promises can be kept at all, and told only after the week with the change
has been planned again and the promise was kept. So every mend told does what it says, under the same options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from planner.errors import GridpaceError, Infeasible
from planner.optimize.changes import (
    Deadline,
    DearerLateness,
    EarlierStart,
    FasterRamp,
    FewerTokens,
    FirstPriority,
    LowerFinalCharge,
    MoreCooling,
    MoreGpus,
    MorePower,
    Several,
)
from planner.optimize.keeping import Promise, can_keep, conflict, promises_of
from planner.optimize.order_changes import lag_kinds
from planner.optimize.search import plan
from planner.optimize.supply_changes import supply_kinds
from planner.timegrid import local_midnight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.optimize.changes import Change
    from planner.optimize.search import PlanOptions
    from planner.pool import Pool
    from planner.run import Run
    from planner.week import Block, Week
    from trainer_hooks.contract import Shortfall

HALVINGS, WHOLE_HALVINGS = 6, 10
STRONGER = (1.0, 1.5)  # what is just enough to keep a promise may still be dearer than missing it
PRICES = (4.0, 64.0)
MOST_RAMP = 10.0  # of the ramp limit, by which it is raised at most
HORIZONS = (1.0, 4.0)  # how far behind the horizon a deadline is moved at most
ENOUGH = 1.0 + 1e-4
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Mend:
    """A change that was planned with and does what is wanted.

    Args:
        change: The change.
        told: The same in words.
        settled: Whether that plan reached its gap in time, so that planning again gives it again.
    """

    change: Change
    told: str
    settled: bool


@dataclass(frozen=True)
class Unkept:
    """A promise that the plan misses, and what would mend that.

    Args:
        promise: The promise.
        hours_short: Hours of the whole gang at full speed that are missing at the deadline.
        sentence: What the plan says of it.
        possible: Whether some plan keeps it and all that is kept now, at whatever cost; None where that is not known.
        clash: Few promises that cannot all be kept, this one last: of those kept now, or of all where those kept now
            and this one can be; empty where there are none, or that is not known.
        mends: Each enough by itself to keep this promise and all that is kept now.
    """

    promise: Promise
    hours_short: float
    sentence: str
    possible: bool | None
    clash: tuple[Promise, ...]
    mends: tuple[Mend, ...]


@dataclass(frozen=True)
class Mended:
    """All promises that a plan misses, and what would mend that.

    Args:
        unkept: One entry per promise.
        together: Mends each of which keeps all promises; looked for where more than one is missed.
    """

    unkept: tuple[Unkept, ...]
    together: tuple[Mend, ...]


def mended(
    week: Week, shortfalls: Sequence[Shortfall], options: PlanOptions, about: Callable[[str], bool] = lambda _: True
) -> Mended:
    """Return the promises that a plan misses, with what they clash with and what would mend them.

    Args:
        week: All inputs.
        shortfalls: All that the plan misses.
        options: What the week is planned with again.
        about: Whether a run of a name is asked about; mends of all promises are looked for where every one is.
    """
    missed = {Promise(s.run, s.stage) for s in shortfalls}
    kept = [promise for promise in promises_of(week) if promise not in missed]
    found = []
    asked = [short for short in shortfalls if about(short.run)]
    for short in asked:
        promise = Promise(short.run, short.stage)
        possible = can_keep(week, [*kept, promise])
        others = kept if possible is False else [one for one in promises_of(week) if one != promise]
        clash = conflict(week, others, promise)
        mends = tuple(_Search(week, (short,), kept, options).mends(possible=possible))
        found.append(Unkept(promise, short.hours_short, short.sentence, possible, clash, mends))
    together: tuple[Mend, ...] = ()
    if len(asked) > 1 and len(asked) == len(shortfalls):
        possible = can_keep(week, promises_of(week))
        together = tuple(_Search(week, tuple(shortfalls), kept, options).mends(possible=possible))
    return Mended(tuple(found), together)


def physics_mends(week: Week, options: PlanOptions) -> tuple[Mend, ...]:
    """Return what would give a plan to a week whose physics leaves none; each enough by itself.

    Args:
        week: All inputs.
        options: What the week is planned with.
    """
    found = []
    for block in week.blocks:
        power, battery, name = block.power, block.battery, block.name
        kinds: list[tuple[Callable[[float], Change], float]] = [
            (partial(MorePower, name), power.capacity_kw),
            (partial(MoreCooling, name), block.plant.rated_it_kw),
        ]
        if power.ramp_kw_per_min is not None:
            kinds.append((partial(FasterRamp, name), MOST_RAMP * power.ramp_kw_per_min))
        if battery is not None and battery.final_share > battery.min_share:
            kinds.append((partial(_emptier, block), battery.final_share - battery.min_share))
        kinds += supply_kinds(week, block)
        for make, most in kinds:
            size = _smallest(partial(_feasible, week, make), most)
            change = None if size is None else make(size)
            planned = None if change is None else _planned(change, week, options)
            if change is not None and planned is not None:
                # that there is a plan does not hang on how far its search came
                found.append(Mend(change, change.told(week), settled=True))
    return tuple(found)


def with_mends(error: Infeasible, week: Week, options: PlanOptions) -> Infeasible:
    """Return the error of a week without a plan with what would give it one, or as it is where nothing was found."""
    mends = physics_mends(week, options)
    if not mends:
        return error
    fix = f"{', or '.join(mend.told for mend in mends)} would do: the week was planned with each"
    return Infeasible(error.what, error.why, fix, error.conflicts)


class _Search:
    """The search for what keeps some missed promises, and all that is kept anyway."""

    def __init__(self, week: Week, shorts: tuple[Shortfall, ...], kept: list[Promise], options: PlanOptions) -> None:
        self._week, self._shorts, self._kept, self._options = week, shorts, kept, options
        self._wanted = {Promise(s.run, s.stage) for s in shorts}
        self._runs = [week.run(name) for name in dict.fromkeys(s.run for s in shorts)]

    def mends(self, *, possible: bool | None) -> Iterator[Mend]:
        """Yield one mend of every kind that has one."""
        if possible is not False:
            yield from self._dearer()
        if possible is not True:
            for make, most, whole in self._sizes():
                yield from self._sized(make, most, whole=whole)
        yield from self._later()
        yield from self._fewer()

    def _sizes(self) -> Iterator[tuple[Callable[[float], Change], float, bool]]:
        """Yield what can be made larger for the runs, by how much at most, and whether its size is whole."""
        week = self._week
        pools = {o.pool: week.pool(o.pool) for run in self._runs for o in run.options}
        for name in dict.fromkeys(name for pool in pools.values() for name, _ in pool.shares):
            block = week.block(name)
            yield partial(MorePower, name), block.power.capacity_kw, False
            yield partial(MoreCooling, name), block.plant.rated_it_kw, False
            if block.power.ramp_kw_per_min is not None:
                yield partial(FasterRamp, name), block.power.ramp_kw_per_min, False
        names = dict.fromkeys(name for pool in pools.values() for name in pool.draws(0))
        for pool in map(week.pool, names):
            most = max(*(run.gpus for run in self._runs), *(count for _, count in pool.commissioning))
            yield partial(_more_gpus, pool), float(most), True
        for run in self._runs:
            if run.earliest_start > week.grid.start:
                yield partial(_earlier, week, run), float(math.ceil(week.grid.position(run.earliest_start))), True
            for make, most_h in lag_kinds(week, run):
                yield make, most_h, False

    def _sized(self, make: Callable[[float], Change], most: float, *, whole: bool) -> Iterator[Mend]:
        size = _smallest(lambda s: self._possible(make(s)), most, whole=whole)
        if size is None:
            return
        for stronger in STRONGER:
            change = make(min(size * stronger, most))
            if (mend := self._does(change)) is not None:
                yield self._put_off(mend)
                return

    def _put_off(self, mend: Mend) -> Mend:
        """Return more power from the latest day on from which it still does; other mends as they are."""
        week, change = self._week, mend.change
        if not isinstance(change, MorePower) or week.block(change.block).power.grid_kw is not None:
            return mend
        day = week.grid.end.astimezone(week.tz).date()
        while (since := local_midnight(day, week.tz)) > week.grid.start:
            later = MorePower(change.block, change.kw, since)
            if since < week.grid.end and self._possible(later):
                return self._does(later) or mend
            day -= DAY
        return mend

    def _later(self) -> Iterator[Mend]:
        week = self._week
        for horizons in HORIZONS:
            until = week.grid.start + horizons * (week.grid.end - week.grid.start)
            most = max(math.ceil((until - s.deadline) / week.grid.slot) for s in self._shorts)
            if most < 1:
                continue
            size = _smallest(lambda slots: self._possible(self._put_later(slots)), float(most), whole=True)
            if size is None:
                continue
            for stronger in STRONGER:
                change = self._put_later(size * stronger)
                if (mend := self._does(change)) is not None:
                    yield mend
                    return

    def _put_later(self, slots: float) -> Change:
        later = _slots(self._week, slots)
        return _one([Deadline(s.run, s.stage, s.deadline + later) for s in self._shorts])

    def _fewer(self) -> Iterator[Mend]:
        for stronger in STRONGER:
            fewer: list[Change] = []
            before: dict[str, float] = {}
            for short in self._shorts:
                stage = next(s for s in self._week.run(short.run).stages if s.name == short.stage)
                # what a stage before already has less is no more due at this one
                left = short.tokens_short * ENOUGH * stronger - before.get(short.run, 0.0)
                if left > 0.0:
                    tokens = _rounded_up(left, digits=3)
                    if tokens >= stage.tokens:
                        return
                    before[short.run] = before.get(short.run, 0.0) + tokens
                    fewer.append(FewerTokens(short.run, short.stage, tokens))
            change = _one(fewer)
            if (mend := self._does(change)) is not None:
                yield mend
                return

    def _dearer(self) -> Iterator[Mend]:
        now = self._week.prices.lateness_per_gpu_h
        changes: list[Change] = []
        if any(run.priority > 1 for run in self._runs):
            changes.append(_one([FirstPriority(run.name) for run in self._runs if run.priority > 1]))
        changes += [DearerLateness(_rounded_up(now * factor)) for factor in PRICES if now > 0.0]
        for change in changes:
            if (mend := self._does(change)) is not None:
                yield mend
                return

    def _possible(self, change: Change) -> bool:
        try:
            changed = change.apply(self._week)
        except ValueError:
            return False
        return can_keep(changed, [*self._kept, *self._wanted]) is True

    def _does(self, change: Change) -> Mend | None:
        """Return the mend where the changed week's plan keeps what is wanted and all that is kept, else None."""
        found = _planned(change, self._week, self._options)
        if found is None or found[0] & (self._wanted | set(self._kept)):
            return None
        return Mend(change, _told(change, self._week, settled=found[1]), found[1])


def _told(change: Change, week: Week, *, settled: bool) -> str:
    return change.told(week) + ("" if settled else " (seen once: the planning time ran out)")


def _feasible(week: Week, make: Callable[[float], Change], size: float) -> bool:
    """Return whether a change of a size leaves any plan."""
    try:
        return can_keep(make(size).apply(week), ()) is True
    except ValueError:
        return False


def _emptier(block: Block, less: float) -> Change:
    assert block.battery is not None
    return LowerFinalCharge(block.name, block.battery.final_share - less)


def _more_gpus(pool: Pool, gpus: float) -> Change:
    return MoreGpus(pool.name, math.ceil(gpus))


def _earlier(week: Week, run: Run, slots: float) -> Change:
    return EarlierStart(run.name, run.earliest_start - _slots(week, slots))


def _one(changes: list[Change]) -> Change:
    return changes[0] if len(changes) == 1 else Several(tuple(changes))


def _slots(week: Week, slots: float) -> timedelta:
    return math.ceil(slots) * week.grid.slot


def _planned(change: Change, week: Week, options: PlanOptions) -> tuple[set[Promise], bool] | None:
    """Return what the plan of a changed week misses, and whether it is settled; None where it has none."""
    try:
        found = plan(change.apply(week), options)
    except (GridpaceError, ValueError):
        return None
    return {Promise(s.run, s.stage) for s in found.shortfalls}, found.status == "optimal"


def _smallest(enough: Callable[[float], bool], most: float, *, whole: bool = False) -> float | None:
    """Return about the smallest size that is enough, or None where not even the most is.

    Args:
        enough: Whether a size is.
        most: The largest size.
        whole: Whether sizes are whole numbers; others are rounded up to two digits.
    """
    if not enough(most):
        return None
    low, high = 0.0, most
    for _ in range(WHOLE_HALVINGS if whole else HALVINGS):
        middle = float(math.ceil((low + high) / 2.0)) if whole else _rounded_up((low + high) / 2.0)
        if middle >= high:
            break
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _rounded_up(size: float, digits: int = 2) -> float:
    """Return a size above zero rounded up to so many digits."""
    step = 10.0 ** (math.floor(math.log10(size)) - digits + 1)
    return math.ceil(size / step - ENOUGH + 1.0) * step
