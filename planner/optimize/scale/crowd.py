"""All gangs as arrays: one row per run and pool it may use, and what is due of each run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cells import ROUNDING, open_cells, run_cells
from planner.precedence import first_h

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.week import Week
    from power.gpu import OperatingPoint

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]
    Draws = tuple[tuple[int, float], ...]

DAY_H = 24.0


@dataclass(frozen=True)
class Table:
    """Operating points of a pool, by rising power.

    Args:
        pool: Place of the pool.
        it_w: IT power, W per GPU, shape (K,).
        throughput: Relative throughput, shape (K,).
        limit_w: Power limit, W, shape (K,).
        draws: (place of a pool, share of a gang's GPUs that it takes there): one whole gang, or what a span draws.
    """

    pool: int
    it_w: Floats
    throughput: Floats
    limit_w: Floats
    draws: tuple[tuple[int, float], ...]

    def counts(self, gpus: float) -> list[tuple[int, int]]:
        """Return (place of a pool, whole GPUs of a gang that it takes there)."""
        return [(pool, round(share * gpus)) for pool, share in self.draws]


@dataclass(frozen=True)
class Dues:
    """What is due of each of N runs: up to D stages, each missed at its deadline and on up to J - 1 further days.

    Args:
        work_h: Work due, h of the gang at the top rate of its best pool, shape (N, D); 0 where there is no such stage.
        marks: When it is missed, slots after the start, by rising j, shape (N, D, J); inf where never.
        price: Money per GPU and h of work missing, shape (N,).
        most_h: Most work that a run may do: its own, and what its points cannot but overshoot it by, shape (N,).
        stages: Per run and stage, (name, deadline, tokens).
    """

    work_h: Floats
    marks: Floats
    price: Floats
    most_h: Floats
    stages: tuple[tuple[tuple[str, datetime, float], ...], ...]


@dataclass(frozen=True)
class Rank:
    """Rows whose on/off cells are alike: R of them with B cells each.

    Args:
        edges: First slot of each cell and, last, the count of slots, shape (B + 1,).
        run: Place of the run, shape (R,).
        table: Place of the operating points, shape (R,).
        option: Place of the option in the run's options, shape (R,).
        rate: Work per hour at full throughput, shape (R,).
        gpus: Gang size, shape (R,).
        top: Highest relative throughput, shape (R,).
        least: Lowest relative throughput, shape (R,).
        is_open: Cells in which it may be on, shape (R, B).
        min_run: Shortest spell in cells, shape (R,).
        min_pause: Shortest pause in cells, shape (R,).
        most_spells: Most spells, shape (R,).
        reload_h: Lost at a start, h, shape (R,).
        checkpoint_h: Lost at a stop, h, shape (R,).
        running: Whether it is on as the horizon starts, shape (R,).
    """

    edges: Ints
    run: Ints
    table: Ints
    option: Ints
    rate: Floats
    gpus: Floats
    top: Floats
    least: Floats
    is_open: Flags
    min_run: Ints
    min_pause: Ints
    most_spells: Ints
    reload_h: Floats
    checkpoint_h: Floats
    running: Flags

    def __len__(self) -> int:
        return len(self.run)

    def only(self, rows: Ints) -> Rank:
        """Return some of the rows."""
        told = {name: getattr(self, name)[rows] for name in self.__dataclass_fields__ if name != "edges"}
        return Rank(edges=self.edges, **told)


@dataclass(frozen=True)
class Crowd:
    """All gangs of a week."""

    week: Week
    limits: tuple[BlockLimits, ...]
    tables: tuple[Table, ...]
    ranks: tuple[Rank, ...]
    dues: Dues
    in_service: Floats
    """GPUs in service per pool and slot, shape (P, T)."""
    added_kw: Floats
    """IT power that a GPU adds at each table's points, kW, per block: shape (tables, K, blocks, T)."""

    @cached_property
    def drawn(self) -> Floats:
        """Share of a gang's GPUs that each table takes of each pool, shape (tables, P)."""
        found = np.zeros((len(self.tables), len(self.in_service)))
        for i, table in enumerate(self.tables):
            for pool, share in table.draws:
                found[i, pool] = share
        return found


def crowd(week: Week, limits: Sequence[BlockLimits]) -> Crowd:
    """Return a week's gangs as arrays.

    Raises:
        ConfigError: A run's on/off grid is no whole number of slots.
    """
    by_name = {one.block.name: one for one in limits}
    pools = {pool.name: place for place, pool in enumerate(week.pools)}
    tables: dict[tuple[int, tuple[OperatingPoint, ...], Draws], int] = {}
    cells_of: dict[bytes, tuple[Ints, list[tuple[object, ...]], list[Flags]]] = {}
    opened: dict[tuple[object, ...], Flags] = {}
    for r, run in enumerate(week.runs):
        cells = run_cells(week, run)
        best = max(o.tokens_per_gpu_s for o in run.options)
        _, told, is_open = cells_of.setdefault(cells.edges.tobytes(), (cells.edges, [], []))
        for o, option in enumerate(run.options):
            same = (
                cells.edges.tobytes(),
                run.gpus,
                first_h(week, run),
                option.pool,
                min(p.it_w_per_gpu for p in option.points),
            )
            if same not in opened:
                opened[same] = open_cells(week, run, option, cells, by_name)
            if not opened[same].any():
                continue
            points = tuple(sorted(option.points, key=lambda p: p.it_w_per_gpu))
            draws = tuple((pools[p], count / run.gpus) for p, count in week.pool(option.pool).draws(run.gpus).items())
            table = tables.setdefault((pools[option.pool], points, draws), len(tables))
            is_open.append(opened[same])
            told.append((
                r, table, o, option.tokens_per_gpu_s / best, run.gpus, points[-1].relative_throughput,
                points[0].relative_throughput, cells.min_run, cells.min_pause, run.max_pauses + 1,
                run.reload_s / 3600.0, run.checkpoint_s / 3600.0, run.running_in == option.pool,
            ))  # fmt: skip
    found = tuple(_table(*one) for one in tables)
    in_service = np.array([pool.gpus_in_service(week.grid) for pool in week.pools], dtype=np.float64)
    ranks = tuple(_rank(edges, told, is_open) for edges, told, is_open in cells_of.values() if told)
    dues = _landed(week, _dues(week), ranks)
    return Crowd(week, tuple(limits), found, ranks, dues, in_service, _added_kw(week, by_name, found))


def _table(pool: int, points: Sequence[OperatingPoint], draws: Draws) -> Table:
    return Table(
        pool,
        np.array([p.it_w_per_gpu for p in points]),
        np.array([p.relative_throughput for p in points]),
        np.array([p.gpu_power_limit_w for p in points]),
        draws,
    )


def _rank(edges: Ints, told: Sequence[tuple[object, ...]], is_open: Sequence[Flags]) -> Rank:
    names = (
        "run", "table", "option", "rate", "gpus", "top", "least", "min_run", "min_pause", "most_spells", "reload_h",
        "checkpoint_h", "running",
    )  # fmt: skip
    kinds = {"rate": float, "gpus": float, "top": float, "least": float, "reload_h": float, "checkpoint_h": float}
    arrays = {
        name: np.array([one[i] for one in told], dtype=bool if name == "running" else kinds.get(name, np.int64))
        for i, name in enumerate(names)
    }
    return Rank(edges=edges, is_open=np.array(is_open), **arrays)


def _dues(week: Week) -> Dues:
    grid, step = week.grid, DAY_H / week.grid.slot_h
    marks_of: list[list[list[float]]] = []
    work: list[list[float]] = []
    most: list[float] = []
    stages: list[tuple[tuple[str, datetime, float], ...]] = []
    for run in week.runs:
        per_h = 3600.0 * run.gpus * max(o.tokens_per_gpu_s for o in run.options)
        due = week.due_tokens(run)
        stages.append(due)
        most.append(due[-1][2] / per_h if due else 0.0)
        mine: list[list[float]] = []
        asked: list[float] = []
        for _, deadline, tokens in due:
            first = grid.position(deadline)
            days = 1 + max(0, math.floor((grid.n_slots - first) / step + ROUNDING))
            times = [first + j * step for j in range(days)]
            mine.append([mark for mark in times if mark > ROUNDING] if tokens > 0 else [])
            asked.append(tokens / per_h if mine[-1] else 0.0)
        marks_of.append(mine)
        work.append(asked)
    n, d = len(work), max((len(w) for w in work), default=0)
    j = max((len(m) for mine in marks_of for m in mine), default=1)
    marks, work_h = np.full((n, d, j), np.inf), np.zeros((n, d))
    for r, (each, due_h) in enumerate(zip(marks_of, work, strict=True)):
        work_h[r, : len(due_h)] = due_h
        for i, one in enumerate(each):
            marks[r, i, : len(one)] = one
    price = np.array([week.prices.lateness_per_gpu_h * run.lateness_weight for run in week.runs])
    return Dues(work_h, marks, price, np.array(most), tuple(stages))


def _landed(week: Week, dues: Dues, ranks: Sequence[Rank]) -> Dues:
    """Add by how much a run may overshoot its work, as `planner.optimize.gangs.landing_h` has it."""
    more_h = np.zeros(len(dues.most_h))
    for rank in ranks:
        cell_h = float(np.diff(rank.edges).max()) * week.grid.slot_h
        work_h = dues.most_h[rank.run]
        most, least, lost = rank.rate * rank.top * cell_h, rank.rate * rank.least * cell_h, rank.rate * rank.top
        lost = lost * rank.reload_h
        count = np.maximum(np.ceil((work_h + lost) / most - ROUNDING), rank.min_run)
        over_h = np.clip(np.minimum(count * least - lost - work_h, least), 0.0, None)
        np.maximum.at(more_h, rank.run, np.where(work_h > 0.0, over_h, 0.0))
    return replace(dues, most_h=dues.most_h + more_h)


def _added_kw(week: Week, limits: Mapping[str, BlockLimits], tables: Sequence[Table]) -> Floats:
    most = max((len(t.it_w) for t in tables), default=0)
    added = np.full((len(tables), most, len(week.blocks), week.grid.n_slots), 0.0)
    for i, table in enumerate(tables):
        pool = week.pools[table.pool]
        for b, block in enumerate(week.blocks):
            share = pool.share_in(block.name)
            for k in range(most):
                # a table with fewer points repeats its highest
                watts = float(table.it_w[min(k, len(table.it_w) - 1)])
                added[i, k, b] = limits[block.name].added_kw(share, watts, pool.gpu.idle_w_per_gpu)
    return added
