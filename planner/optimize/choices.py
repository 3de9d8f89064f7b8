"""The whole choices of a published plan: when each run is on and where, units that run, export, offers bought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError
from planner.moves import Stay

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
        pool: Its pool, the first where it moves, or None where it does not run.
        on: Whether it is on, per slot, shape (T,).
        stays: Where and with how many GPUs a run that may move is on, in order; none for others.
    """

    pool: str | None
    on: npt.NDArray[np.bool_]
    stays: tuple[Stay, ...] = ()

    def parts(self) -> list[tuple[str, int, npt.NDArray[np.bool_]]]:
        """Return (pool, GPUs, on per slot) of everything that it uses; 0 GPUs stand for its own count."""
        if not self.stays:
            return [] if self.pool is None or not self.on.any() else [(self.pool, 0, self.on)]
        found: dict[tuple[str, int], npt.NDArray[np.bool_]] = {}
        for stay in self.stays:
            on = found.setdefault((stay.pool, stay.gpus), np.zeros_like(self.on))
            on[stay.first : stay.after] = True
        return [(pool, gpus, on) for (pool, gpus), on in found.items()]


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
        Unfit: A run holds its GPUs without training, or uses two pools without leave: no plan of the program does.
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
        runs={run.run: RunChoice(run.pool, run.gpu_power_limit_w > 0.0, run.stays) for run in schedule.runs},
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
        for pool, gpus, on in () if choice is None else choice.parts():
            cells = _cells(program.week, gang, on)
            there = [o for o in options if o.pool == pool]
            option = next((o for o in there if o.gpus == (gpus or gang.run.gpus)), None)
            if option is None or (option.on[cells] < 0).any():
                raise Unfit(
                    f"run {gang.run.name!r} is on in pool {pool!r} in hours that are not open to it there",
                    why="its earliest start, or the GPUs, power and cooling of the pool leave no room for it then",
                    fix="explain the calendar with the site file that it was made from",
                )
            value.update(dict.fromkeys(option.on[cells].tolist(), 1.0))
            value.update({o.chosen: 1.0 for o in there if o.chosen >= 0})
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
    on, stays = np.zeros(week.grid.n_slots, dtype=bool), list[Stay]()
    planned = next((one for one in week.runs if one.name == run.run), None)
    for window in run.windows:
        if window.state == "run" and window.pool is not None:
            first = int(np.floor(week.grid.position(window.start) + SAME))
            after = int(np.ceil(week.grid.position(window.end) - SAME))
            on[first:after] = True
            last = stays[-1] if stays else None
            if last is not None and (last.after, last.pool, last.gpus) == (first, window.pool, window.gpus):
                stays[-1] = replace(last, after=after)
            else:
                stays.append(Stay(first, after, window.pool, window.gpus))
    pools = {stay.pool for stay in stays}
    migrates = planned is not None and planned.migration is not None
    if (len(pools) > 1 and not migrates) or any(w.state == "hold" for w in run.windows):
        raise Unfit(
            f"run {run.run!r} holds its GPUs without training, or changes its pool",
            why="no plan does: this calendar answers an event, or was made elsewhere",
            fix="explain the plan's own calendar, or plan the week again",
        )
    moves = planned is not None and planned.moves
    return RunChoice(stays[0].pool if stays else None, on, tuple(stays) if moves else ())


def _cells(week: Week, gang: Gang, on: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    cells = [c for c in range(gang.cells.count) if on[gang.cells.slots(c)].any()]
    for c in cells:
        if not on[gang.cells.slots(c)].all():
            when = week.grid.starts[int(gang.cells.edges[c])].astimezone(week.tz)
            raise Unfit(
                f"run {gang.run.name!r} starts or stops inside a cell of its on/off grid, at {when:%Y-%m-%d %H:%M %Z}",
                why="no plan does: this calendar answers an event, or was made elsewhere",
                fix="explain the plan's own calendar, or plan the week again",
            )
    return np.array(cells, dtype=np.int64)
