"""Columns and rows of a run that may change its pool or its count of GPUs: where its state lies, and what moves cost.

In every cell it is on in one option at most. A change of option is a stop in one and a start in the other at the same
edge, so that it costs a checkpoint and a reload, and counts as an interruption. The run's state lies in one pool; it
goes to another only as the run starts there, by the way that leads from where it lies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pulp

from planner.moves import home, way_kg
from planner.optimize.labels import labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.moves import Way
    from planner.optimize.cells import Cells
    from planner.optimize.columns import Column, Terms
    from planner.optimize.gangs import Gang, GangOption
    from planner.run import Run
    from planner.week import Week


@dataclass(frozen=True)
class Arrival:
    """A start to which the run's state comes from another pool.

    Args:
        cell: Cell in which it starts.
        way: Where the state comes from, and what that takes.
        column: Whether it comes.
    """

    cell: int
    way: Way
    column: Column


def add_moves(
    prob: pulp.LpProblem, run: Run, label: str, cells: Cells, options: Sequence[GangOption]
) -> tuple[GangOption, ...]:
    """Add what binds the options of a run together that may move.

    Args:
        prob: The program.
        run: The run.
        label: What its columns are called.
        cells: Its on/off cells.
        options: Its options with their own columns and rows.

    Returns:
        The options with the choice of their pool and the arrivals in them.
    """
    _one_place(prob, label, cells, options)
    found = _with_choices(prob, run, label, options)
    pools = list(dict.fromkeys(option.pool.name for option in found))
    if run.migration is None or (len(pools) == 1 and home(run) in {None, *pools}):
        return found
    return _with_arrivals(prob, run, label, cells, found)


def move_money_terms(gangs: Sequence[Gang], power_kw: float) -> Terms:
    """Return what moves cost, in the objective's unit.

    Args:
        gangs: Columns of the runs.
        power_kw: Unit of power, kW.
    """
    return [
        (arrival.column, arrival.way.cost / power_kw)
        for gang in gangs
        for option in gang.options
        for arrival in option.arrivals
    ]


def move_carbon_terms(week: Week, gangs: Sequence[Gang], per_kg: float, power_kw: float) -> Terms:
    """Return the carbon of moves, in the objective's unit.

    Args:
        week: The week.
        gangs: Columns of the runs.
        per_kg: Money, or what else is counted, per kgCO2e.
        power_kw: Unit of power, kW.
    """
    return [
        (arrival.column, per_kg * way_kg(week, arrival.way, int(gang.cells.edges[arrival.cell])) / power_kw)
        for gang in gangs
        for option in gang.options
        for arrival in option.arrivals
    ]


def _one_place(prob: pulp.LpProblem, label: str, cells: Cells, options: Sequence[GangOption]) -> None:
    """One option at most is on in a cell, and none in the cells behind a halt that the shortest pause takes."""
    halts: dict[int, Column] = {}
    for c in range(cells.count):
        here, before = ([o.on[i] for o in options if i in o.on] for i in (c, c - 1))
        if cells.min_pause > 1 and before:
            halts[c] = prob.add_variable(f"halt_{label}_{c}", 0, 1)
            prob += pulp.lpSum(before) - pulp.lpSum(here) - halts[c] <= 0, f"halts_{label}_{c}"
        pause = [halts[i] for i in range(max(1, c - cells.min_pause + 1), c + 1) if i in halts]
        if here and len(here) + len(pause) > 1:
            prob += pulp.lpSum(here + pause) <= 1, f"one_place_{label}_{c}"


def _with_choices(prob: pulp.LpProblem, run: Run, label: str, options: Sequence[GangOption]) -> tuple[GangOption, ...]:
    """Return the options with the choice of their pool, where only one may be chosen or data has to be brought."""
    by_pool: dict[str, list[GangOption]] = {}
    for option in options:
        by_pool.setdefault(option.pool.name, []).append(option)
    called = labels(list(by_pool))
    one_pool = run.migration is None and len(by_pool) > 1
    chosen: dict[str, Column] = {}
    for name, here in by_pool.items():
        if not one_pool and not here[0].option.transfers:
            continue
        column = chosen[name] = prob.add_variable(f"pool_{label}_{called[name]}", cat="Binary")
        for c in sorted({c for option in here for c in option.on}):
            on = [option.on[c] for option in here if c in option.on]
            prob += pulp.lpSum(on) - column <= 0, f"in_pool_{label}_{called[name]}_{c}"
    if one_pool:
        prob += pulp.lpSum(chosen.values()) <= 1, f"one_pool_{label}"
    first = {id(here[0]) for here in by_pool.values()}
    return tuple(replace(o, chosen=chosen.get(o.pool.name)) if id(o) in first else o for o in options)


def _with_arrivals(
    prob: pulp.LpProblem, run: Run, label: str, cells: Cells, options: Sequence[GangOption]
) -> tuple[GangOption, ...]:
    """Return the options with the starts to which the run's state comes, and add where it lies after each cell."""
    begins = home(run)
    pools = list(dict.fromkeys([*(option.pool.name for option in options), *([begins] if begins else [])]))
    found = tuple(
        replace(option, arrivals=_arrivals(prob, run, f"{label}_{i}", option, pools))
        for i, option in enumerate(options)
    )
    called = labels(pools)
    was: dict[str, Column | float] = {pool: float(pool == begins) for pool in pools}
    for c in range(cells.count):
        now: dict[str, Column | float] = {
            pool: prob.add_variable(f"lies_{label}_{called[pool]}_{c}", 0, 1) for pool in pools
        }
        came = [arrival for option in found for arrival in option.arrivals if arrival.cell == c]
        if c == 0 and begins is None:
            # before its first start it lies where it starts: no column says that it comes from anywhere
            prob += pulp.lpSum(now.values()) == 1, f"lies_somewhere_{label}"
        for pool in pools:
            if c > 0 or begins is not None:
                change = [a.column for a in came if a.way.target == pool]
                change += [-a.column for a in came if a.way.origin == pool]
                prob += now[pool] - was[pool] - pulp.lpSum(change) == 0, f"lies_{label}_{called[pool]}_{c}"
            on = [option.on[c] for option in found if option.pool.name == pool and c in option.on]
            if on:
                prob += pulp.lpSum(on) - now[pool] <= 0, f"on_where_it_lies_{label}_{called[pool]}_{c}"
        was = now
    return found


def _arrivals(
    prob: pulp.LpProblem, run: Run, label: str, option: GangOption, pools: Sequence[str]
) -> tuple[Arrival, ...]:
    """Return the starts of one option to which the run's state comes, by one way at most each."""
    assert run.migration is not None
    called = labels(list(pools))
    ways = [way for way in run.migration.ways if way.target == option.pool.name and way.origin in pools]
    found = []
    for c, start in option.start.items() if ways else ():
        if c == 0 and home(run) is None:
            continue
        here = [Arrival(c, way, prob.add_variable(f"arrive_{label}_{called[way.origin]}_{c}", 0, 1)) for way in ways]
        prob += pulp.lpSum(arrival.column for arrival in here) - start <= 0, f"arrives_{label}_{c}"
        found += here
    return tuple(found)
