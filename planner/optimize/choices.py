"""The whole choices of a published plan: when each run is on and where, units that run, export, offers bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.gangs import Gang
    from planner.optimize.matrix import ColumnIndex
    from planner.optimize.model import Program
    from planner.optimize.places import Places
    from planner.schedule import Schedule
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

SAME = 1e-6  # of a slot: instants are published to the second and finer


class Unfit(ConfigError):
    """The choices are none that the week's program can make."""


@dataclass(frozen=True)
class RunChoice:
    """Where and when one run is on.

    Args:
        pool: Its pool, or None where it does not run.
        on: Whether it is on, per slot, shape (T,).
    """

    pool: str | None
    on: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Choices:
    """All whole choices of a plan.

    Args:
        runs: Run -> where and when it is on.
        units: (block, place of the group) -> units that run, shape (T,).
        exporting: Block -> whether it exports, shape (T,).
        bought: Offer -> share of it that is bought.
    """

    runs: Mapping[str, RunChoice]
    units: Mapping[tuple[str, int], npt.NDArray[np.int64]]
    exporting: Mapping[str, npt.NDArray[np.bool_]]
    bought: Mapping[str, float]


def choices_of(week: Week, calendar: Calendar, runs: Sequence[RunCalendar]) -> Choices:
    """Return the choices of a published calendar.

    Raises:
        Unfit: A run holds its GPUs without training, or uses two pools: no plan of the program does.
    """
    blocks = calendar.blocks
    return Choices(
        runs={run.run: _run_choice(week, run) for run in runs},
        units={(b.block, i): np.array(g.units_on) for b in blocks for i, g in enumerate(b.generators)},
        exporting={b.block: np.array(b.export_kw) > 0.0 for b in blocks if b.export_kw},
        bought={contract.contract: contract.bought_share for contract in calendar.contracts},
    )


def scheduled(schedule: Schedule) -> Choices:
    """Return the choices of a schedule."""
    blocks = schedule.blocks
    return Choices(
        runs={run.run: RunChoice(run.pool, run.gpu_power_limit_w > 0.0) for run in schedule.runs},
        units={(b.block, i): g.units_on for b in blocks for i, g in enumerate(b.generators)},
        exporting={b.block: b.export_kw > 0.0 for b in blocks if b.export_kw is not None},
        bought=dict(schedule.bought_share),
    )


def column_values(
    program: Program, index: ColumnIndex, places: Places, choices: Choices
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the program's whole columns that choices settle, and their values.

    Raises:
        Unfit: A run is on in a cell that is not open to it, or in a part of one.
    """
    value: dict[int, float] = dict.fromkeys(places.choices.tolist(), 0.0)
    for gang, options in zip(program.gangs, places.gangs, strict=True):
        choice = choices.runs.get(gang.run.name)
        if choice is None or choice.pool is None or not choice.on.any():
            continue
        cells = _cells(program.week, gang, choice)
        option = next((o for o in options if o.pool == choice.pool), None)
        if option is None or (option.on[cells] < 0).any():
            raise Unfit(
                f"run {gang.run.name!r} is on in pool {choice.pool!r} in hours that are not open to it there",
                why="its earliest start, or the GPUs, power and cooling of the pool leave no room for it then",
                fix="explain the calendar with the site file that it was made from",
            )
        value.update(dict.fromkeys(option.on[cells].tolist(), 1.0))
        if option.chosen >= 0:
            value[option.chosen] = 1.0
    for block in program.blocks:
        name = block.limits.block.name
        for i, group in enumerate(block.own.generators):
            units = choices.units.get((name, i))
            if units is not None:
                value.update({index(column): float(units[t]) for t, column in enumerate(group.on)})
        exporting = choices.exporting.get(name)
        if exporting is not None:
            value.update({index(column): float(exporting[t]) for t, column in block.own.exporting.items()})
    side = set(places.side.tolist())
    value.update(
        {at: round(choices.bought[o]) for o, at in places.bought.items() if at in side and o in choices.bought}
    )
    columns = np.array(sorted(value), dtype=np.int64)
    return columns, np.array([value[column] for column in columns.tolist()], dtype=np.float64)


def _run_choice(week: Week, run: RunCalendar) -> RunChoice:
    on = np.zeros(week.grid.n_slots, dtype=bool)
    for window in run.windows:
        if window.state == "run":
            first, after = (week.grid.position(t) for t in (window.start, window.end))
            on[int(np.floor(first + SAME)) : int(np.ceil(after - SAME))] = True
    pools = {w.pool for w in run.windows if w.state == "run"}
    if len(pools) > 1 or any(w.state == "hold" for w in run.windows):
        raise Unfit(
            f"run {run.run!r} holds its GPUs without training, or changes its pool",
            why="no plan does: this calendar answers an event, or was made elsewhere",
            fix="explain the plan's own calendar, or plan the week again",
        )
    return RunChoice(next(iter(pools), None), on)


def _cells(week: Week, gang: Gang, choice: RunChoice) -> npt.NDArray[np.int64]:
    cells = [c for c in range(gang.cells.count) if choice.on[gang.cells.slots(c)].any()]
    for c in cells:
        if not choice.on[gang.cells.slots(c)].all():
            when = week.grid.starts[int(gang.cells.edges[c])].astimezone(week.tz)
            raise Unfit(
                f"run {gang.run.name!r} starts or stops inside a cell of its on/off grid, at {when:%Y-%m-%d %H:%M %Z}",
                why="no plan does: this calendar answers an event, or was made elsewhere",
                fix="explain the plan's own calendar, or plan the week again",
            )
    return np.array(cells, dtype=np.int64)
