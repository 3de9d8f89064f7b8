"""A published plan explained: what more of each thing would be worth, why each run stands where it does, what mends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.optimize.choices import Unfit, choices_of
from planner.optimize.duals import price
from planner.optimize.explain_parts import Part, packed, part_of
from planner.optimize.fixed import fix
from planner.optimize.mends import Mended, mended
from planner.optimize.warm import relaxed
from planner.optimize.whythen import WhyThen
from planner.optimize.worth import ChangeWorth, asked_changes, hour_prices, load_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.explain_parts import Carry
    from planner.optimize.fixed import Worth
    from planner.optimize.search import PlanOptions
    from planner.optimize.worth import HourPrice, LoadPrice
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

LARGE = 5_000
"""Columns of a program from which its parts are worth other processes."""


@dataclass(frozen=True)
class Asked:
    """What is to be explained: all, one run, one block, or one slot.

    Args:
        kind: Which of them.
        name: Name of the run or block; "" for others.
        slot: The slot; 0 for others.
        legs: What the run is planned as, where its stages are runs of their own; none for others.
    """

    kind: Literal["all", "run", "block", "hour"] = "all"
    name: str = ""
    slot: int = 0
    legs: tuple[str, ...] = ()

    def about(self, kind: str, name: str) -> bool:
        """Return whether a run, block or pool of that name is asked about."""
        return self.kind == "all" or (self.kind == kind and name in (self.legs or (self.name,)))


@dataclass(frozen=True)
class Explanation:
    """What is to be said of a plan.

    Args:
        asked: What was asked about.
        worth: What the plan costs, by its program.
        hours: Hours in which more power in a block would be worth something.
        load: What a kilowatt-hour more of load costs.
        changes: What changes of the week would be worth.
        why: Why each run stands where it does.
        mended: What the plan misses, and what would mend that; None where that was not asked.
    """

    asked: Asked
    worth: Worth
    hours: tuple[HourPrice, ...]
    load: tuple[LoadPrice, ...]
    changes: tuple[ChangeWorth, ...]
    why: tuple[WhyThen, ...]
    mended: Mended | None


def explain(
    week: Week,
    calendar: Calendar,
    runs: Sequence[RunCalendar],
    *,
    asked: Asked,
    options: PlanOptions | None,
    carry: Carry | None = None,
) -> Explanation:
    """Explain a published plan.

    Args:
        week: The inputs that it was made from.
        calendar: Its header.
        runs: The windows of every run.
        asked: What is to be explained.
        options: What the week is planned with again to find what mends; None looks for no mends.
        carry: Carries out the parts of a program that is large; those of a small one, and all where it is
            None, are done at once.

    Raises:
        Unfit: The calendar is none that a plan of this week makes.
        Infeasible: A block cannot even carry its idle power.
    """
    choices = choices_of(week, calendar, runs)
    fixed = fix(week, choices)
    if fixed is None:
        raise Unfit(
            f"the runs' hours of calendar {calendar.calendar_id} leave no plan of this week",
            why="the site file or its series are no longer those that it was made from, or it answers an event",
            fix="explain it with the site file that it was made from, or plan the week again",
        )
    priced = price(fixed)
    hours = hour_prices(priced, week, _blocks(week, asked), None if asked.kind != "hour" else asked.slot)
    load = tuple(p for p in load_prices(priced) if asked.about("block", p.block) or asked.kind == "hour")
    runs_asked = [i for i, run in enumerate(week.runs) if asked.about("run", run.name)]
    changes = asked_changes(week, asked.about)
    warm = relaxed(fixed)[1] if any(change.moves for change in changes) else None
    plan = packed(week, choices)
    parts = [Part(plan, i, None) for i in runs_asked]
    parts += [Part(plan, change, warm if change.moves else None) for change in changes]
    apart = None if fixed.whole.n_columns < LARGE else carry
    found = tuple(map(part_of, parts) if apart is None else apart(parts))
    return Explanation(
        asked=asked,
        worth=fixed.worth,
        hours=hours,
        load=tuple(p for p in load if asked.kind != "hour" or p.slot == asked.slot),
        changes=tuple(one for one in found if isinstance(one, ChangeWorth)),
        why=tuple(one for one in found if isinstance(one, WhyThen)),
        mended=None
        if options is None
        else mended(week, calendar.shortfalls, options, lambda run: asked.about("run", run)),
    )


def _blocks(week: Week, asked: Asked) -> tuple[str, ...]:
    """Return the blocks whose power is priced: those asked about, for a run those of its pools."""
    if asked.kind == "run":
        runs = [run for run in week.runs if asked.about("run", run.name)]
        pools = [week.pool(option.pool) for run in runs for option in run.options]
        return tuple(dict.fromkeys(name for pool in pools for name, _ in pool.shares))
    return tuple(b.name for b in week.blocks if asked.kind in {"all", "hour"} or b.name == asked.name)
