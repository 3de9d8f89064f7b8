"""What more of something would be worth to a plan: power by the hour, and whole changes of the week.

Prices by the hour are duals of the linear program with all choices at the plan; how far they hold is found by solving
it again for a stated step. All else is exact: the changed week's program is built anew (cooling curves too) and solved
with every run in its planned hours. GPUs are of use only to other hours, so that their worth lies between what moving
runs is seen to save and what no plan with them can save.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from planner.errors import GridpaceError
from planner.optimize.changes import BiggerBattery, Deadline, MoreGpus, MorePower, Warmer
from planner.optimize.duals import Aligned, effects
from planner.optimize.fixed import Worth, fix, fix_values, worth_of
from planner.optimize.greedy import Greedy, Pace
from planner.optimize.matrix import from_pulp
from planner.optimize.model import build
from planner.optimize.shifts import Shifts
from planner.optimize.solver import Highs
from planner.optimize.warm import relaxed
from planner.stagger import longest_moves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.optimize.changes import Change
    from planner.optimize.choices import Choices
    from planner.optimize.duals import Priced
    from planner.optimize.fixed import Fixed
    from planner.optimize.matrix import ColumnIndex, Matrix
    from planner.optimize.warm import Warm
    from planner.week import Week

TRIAL_SHARE = 1e-5  # of a block's capacity: the step by which the program's data are differenced
STEP_KW, STEP_SHARE = 1000.0, 0.1  # the stated step of power: a megawatt, or a tenth of a smaller block
LADDER = (1.0, 0.1, 0.01)  # parts of the step that are solved again
HOLDS = 0.99  # of the price: the mean over a step above which the price counts as holding
NOTHING = 1e-9  # money per kW: noise of the solver
SHOWN = 8  # hours of a block whose step is solved again, the dearest ones
DAY = timedelta(hours=24)
STEP_KWH = 1000.0
STEP_GPUS = 1000
SECONDS = 60.0
MOVE_S = 10.0  # of a change, in which runs are moved


@dataclass(frozen=True)
class HourPrice:
    """What more power in a block would be worth in one slot.

    Args:
        block: Name of the block.
        slot: The slot.
        per_kw: Of the first kilowatt more of capacity and import.
        step_kw: The stated step.
        step: Worth of the whole step, or None where it was not solved for.
        holds_kw: Largest part of the step (all, a tenth, a hundredth) over which the price of the first kilowatt holds
            to within a hundredth; 0 where it holds for less, None where that was not solved for.
    """

    block: str
    slot: int
    per_kw: Worth
    step_kw: float
    step: Worth | None
    holds_kw: float | None


@dataclass(frozen=True)
class LoadPrice:
    """What a kilowatt-hour more of load costs in a block in one slot, as the plan stands."""

    block: str
    slot: int
    per_kwh: Worth


@dataclass(frozen=True)
class ChangeWorth:
    """What a change of the week would be worth to the plan.

    Args:
        change: The change.
        subject: ("run" | "block" | "pool", its name).
        told: The change in words.
        worth: What is spared with every run in its planned hours, or with hours moved where `at_most` is given; None
            where it cannot be.
        at_most: What no plan with the change can spare more than, against this plan; None where that is not asked.
        reason: Why there is no worth, or what it rests on.
    """

    change: Change
    subject: tuple[str, str]
    told: str
    worth: Worth | None
    at_most: float | None = None
    reason: str = ""


def hour_prices(priced: Priced, week: Week, blocks: Sequence[str], slot: int | None = None) -> tuple[HourPrice, ...]:
    """Return the hours in which more power in a block would be worth something, dearest first within a block.

    Args:
        priced: The plan's program with its prices.
        week: The week.
        blocks: Names of the blocks.
        slot: The only slot that is asked about, or None for all.
    """
    found: list[HourPrice] = []
    for block in (week.block(name) for name in blocks):
        capacity_kw = block.power.capacity_kw
        step_kw = min(STEP_KW, STEP_SHARE * capacity_kw)
        trial_kw = TRIAL_SHARE * capacity_kw
        data = effects(priced, *_arrays(MorePower(block.name, trial_kw).apply(week)))
        carbon_price = priced.fixed.worth.carbon_price
        prices = [(t, data.spared(t, trial_kw, carbon_price)) for t in range(week.grid.n_slots) if slot in {None, t}]
        worthy = sorted((p for p in prices if p[1].total > NOTHING), key=lambda p: (-p[1].total, p[0]))
        if not worthy:
            continue
        ladder = [
            (part * step_kw, Aligned(priced.fixed, *_arrays(MorePower(block.name, part * step_kw).apply(week))))
            for part in LADDER
        ]
        for rank, (t, per_kw) in enumerate(worthy):
            steps = [(kw, _step(priced, data, t)) for kw, data in (ladder if rank < SHOWN else [])]
            held = [kw for kw, w in steps if w is not None and w.total >= HOLDS * per_kw.total * kw]
            found.append(
                HourPrice(
                    block.name,
                    t,
                    per_kw,
                    step_kw,
                    steps[0][1] if steps else None,
                    max(held, default=0.0) if steps else None,
                )
            )
    return tuple(found)


def load_prices(priced: Priced) -> tuple[LoadPrice, ...]:
    """Return what a kilowatt-hour more of load costs in every block and slot."""
    fixed, found = priced.fixed, []
    row_of = {name: i for i, name in enumerate(fixed.matrix.row_names)}
    slot_h, carbon_price = fixed.program.week.grid.slot_h, fixed.worth.carbon_price
    for block in fixed.program.blocks:
        rows = [row_of[f"balance_{block.limits.label}_{t}"] for t in range(len(block.it))]
        # the row's side is in power units, the objective in as many units of money
        duals = (priced.total, priced.carbon_kg, priced.lateness, priced.over_budget)
        for t, amounts in enumerate(zip(*(d.row[rows] / slot_h for d in duals), strict=True)):
            total, carbon_kg, late, beyond = (float(amount) for amount in amounts)
            worth = Worth(total, carbon_kg, late, carbon_price, beyond)
            found.append(LoadPrice(block.limits.block.name, t, worth))
    return tuple(found)


@dataclass(frozen=True)
class AskedChange:
    """A change that one asks about.

    Args:
        change: The change.
        subject: ("run" | "block" | "pool", its name).
        moves: Whether it is of use only to other hours, so that runs are moved and the rest is bounded.
        same_gpus: Whether gangs and GPUs stay as they are.
    """

    change: Change
    subject: tuple[str, str]
    moves: bool = False
    same_gpus: bool = True


def asked_changes(week: Week, about: Callable[[str, str], bool]) -> tuple[AskedChange, ...]:
    """Return the changes that one asks about: supply temperature, batteries, deadlines, GPUs.

    Args:
        week: The week.
        about: Whether the run, block or pool of a name is asked about.
    """
    found: list[AskedChange] = []
    for block in week.blocks:
        if not about("block", block.name):
            continue
        found.append(AskedChange(Warmer(block.name, 1.0), ("block", block.name)))
        if block.battery is not None and block.battery.energy_kwh > 0.0:
            step_kwh = min(STEP_KWH, block.battery.energy_kwh)
            found.append(AskedChange(BiggerBattery(block.name, step_kwh), ("block", block.name)))
    for run in week.runs:
        for stage in run.stages if about("run", run.name) else ():
            if week.grid.start < stage.deadline < week.grid.end:
                # a deadline that leaves the horizon would take work out of it
                change = Deadline(run.name, stage.name, min(stage.deadline + DAY, week.grid.end))
                found.append(AskedChange(change, ("run", run.name), moves=True))
    for pool in week.pools:
        if about("block", pool.block) and not pool.spans:
            most = max(count for _, count in pool.commissioning)
            more = MoreGpus(pool.name, min(STEP_GPUS, most))
            found.append(AskedChange(more, ("pool", pool.name), moves=True, same_gpus=False))
    return tuple(found)


def change_worth(fixed: Fixed, week: Week, choices: Choices, asked: AskedChange, warm: Warm | None) -> ChangeWorth:
    """Return what a change is worth to a plan.

    Args:
        fixed: The plan's program.
        week: The week.
        choices: The plan's.
        asked: The change.
        warm: Where the relaxation of the plan's program ended, or None.
    """
    change, told = asked.change, asked.change.told(week)

    def without(reason: str) -> ChangeWorth:
        return ChangeWorth(change, asked.subject, told, None, reason=reason)

    try:
        other = fix(change.apply(week), choices)
    except ValueError as error:
        return without(str(error))
    except GridpaceError as error:
        return without(error.what)
    if other is None:
        return without("the hours as planned leave no plan with it")
    if not asked.moves:
        return ChangeWorth(change, asked.subject, told, fixed.worth.less(other.worth))
    bound, _ = relaxed(other, warm, same_gpus=asked.same_gpus)
    at_most = None
    if bound.status == "optimal" and bound.objective is not None:
        at_most = fixed.worth.total - bound.objective * other.program.power_kw
    return ChangeWorth(change, asked.subject, told, fixed.worth.less(_moved(other).worth), at_most)


def _moved(other: Fixed) -> Fixed:
    """Return the best of a changed program with runs moved, and with the planner's first plans."""
    best, deadline = other, time.monotonic() + MOVE_S
    moves = Shifts(other.whole, other.places)
    moved = moves.better(other.polished.values, other.polished.objective, deadline)
    for values in (moved, *(Greedy(other.program, pace).choices(other.places) for pace in Pace)):
        if moves.least(values) > best.polished.objective:
            continue
        seen = fix_values(other.program, other.whole, other.index, other.places, other.places.choices, values)
        if seen is not None and seen.worth.total < best.worth.total:
            best = seen
    return best


def _step(priced: Priced, stepped: Aligned, slot: int) -> Worth | None:
    answer = Highs(stepped.at(slot), whole=False, solver="simplex").run(SECONDS)
    if answer.values is None or answer.status != "optimal":
        return None
    fixed = priced.fixed
    return worth_of(fixed.program, fixed.parts, priced.values).less(worth_of(fixed.program, fixed.parts, answer.values))


def _arrays(week: Week) -> tuple[Matrix, ColumnIndex]:
    return from_pulp(build(longest_moves(week)).problem)
