"""Where the program's columns stand in the arrays, by noun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.agreements import least_worth
from planner.optimize.own_supply import whole_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.cold import ColdColumns
    from planner.optimize.gangs import Gang, GangOption
    from planner.optimize.matrix import ColumnIndex
    from planner.optimize.model import Program
    from planner.optimize.supply import BlockColumns

    Places1 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OptionPlaces:
    """A run in a pool.

    Args:
        pool: Name of the pool.
        gpus: GPUs that the run holds there.
        chosen: Place of the choice of the pool, or -1.
        on: Place of each cell's on-column, -1 where the cell is not open, shape (B,).
        slots: Slots in which it can be on, shape (S,).
        on_of_row: Place of the on-column of each of those slots, shape (S,).
        lower: Places of the shares of all points but the highest, shape (S, K - 1).
        limit_w: Power limit of each point, W, shape (K,).
        it_w: IT power of each point, W per GPU, shape (K,).
        throughput: Relative throughput of each point, shape (K,).
        moves: Whether the run may change its pool or its count of GPUs within the horizon.
    """

    pool: str
    gpus: int
    chosen: int
    on: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    on_of_row: npt.NDArray[np.int64]
    lower: npt.NDArray[np.int64]
    limit_w: npt.NDArray[np.float64]
    it_w: npt.NDArray[np.float64]
    throughput: npt.NDArray[np.float64]
    moves: bool = False

    def shares(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the share of every point in every slot in which the run can be on, shape (S, K)."""
        lower = x[self.lower]
        return np.column_stack([lower, x[self.on_of_row] - lower.sum(axis=1)])


@dataclass(frozen=True)
class OwnPlaces:
    """A block's wind, generators and export.

    Args:
        wind: Places of the wind power used, or None.
        export: Places of the export, or None.
        generators: Places of each group's power and of its units that run, shape (T,) each.
    """

    wind: npt.NDArray[np.int64] | None
    export: npt.NDArray[np.int64] | None
    generators: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], ...]


@dataclass(frozen=True)
class ColdPlaces:
    """A block's tank and heat pumps; None where it has no such part.

    Args:
        filled: Places of the heat rejected to fill the tank, shape (T,).
        drawn: Places of the heat that goes into it, shape (T,).
        sold: Places of the heat sold, shape (T,).
        own: Places of the power of the loops' pumps and of the room, shape (T,).
        own_lines: Slope and intercept of its segments, power units, shape (2, T, S).
        columns: Places of all columns that count in the cooling, shape (T, K).
        like_share: What each adds to the IT power that rejects alike, shape (T, K).
        beside_share: What each adds to the cooling power beside the curve, shape (T, K).
    """

    filled: npt.NDArray[np.int64] | None
    drawn: npt.NDArray[np.int64] | None
    sold: npt.NDArray[np.int64] | None
    own: npt.NDArray[np.int64]
    own_lines: npt.NDArray[np.float64]
    columns: npt.NDArray[np.int64]
    like_share: npt.NDArray[np.float64]
    beside_share: npt.NDArray[np.float64]

    def like_it(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what the flows add to the IT power that rejects alike, power units, shape (T,)."""
        return np.asarray((x[self.columns] * self.like_share).sum(axis=1))

    def beside(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the cooling power beside the curve, power units, shape (T,)."""
        return np.asarray((x[self.columns] * self.beside_share).sum(axis=1))


@dataclass(frozen=True)
class BlockPlaces:
    """A block's columns per slot, shape (T,), its cooling curve in power units, and its battery.

    Args:
        it: Places of the IT power.
        cooling: Places of the cooling power.
        solar: Places of the solar power used, or None.
        charge: Places of the battery's charging, or None.
        discharge: Places of its discharging, or None.
        efficiency: Of a whole round of the battery.
        upper: Places of the choice of the curve's upper piece, -1 where there is one piece, shape (T,).
        split: Largest IT power of the lower piece, power units; inf where there is one piece, shape (T,).
        pieces: Slope and intercept of the lower and the upper piece, shape (2, T, S) each.
        paid: Whether energy may be worth less than nothing, shape (T,): where import is paid for, and where a generator
            may have to give more than is needed.
        own: Places of what the block makes and gives back besides.
        cold: Tank and heat pumps, or None.
    """

    it: npt.NDArray[np.int64]
    cooling: npt.NDArray[np.int64]
    solar: npt.NDArray[np.int64] | None
    charge: npt.NDArray[np.int64] | None
    discharge: npt.NDArray[np.int64] | None
    efficiency: float
    upper: npt.NDArray[np.int64]
    split: npt.NDArray[np.float64]
    pieces: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    paid: npt.NDArray[np.bool_]
    own: OwnPlaces
    cold: ColdPlaces | None

    def segments(self, x: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return slope and intercept of the segments of the piece in use, power units, shape (T, S) each."""
        piece = ((self.upper >= 0) & (x[self.upper] > 0.5)).astype(np.int64)
        slots = np.arange(len(self.it))
        return self.pieces[0][piece, slots], self.pieces[1][piece, slots]

    def curve(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the cooling power that the curve gives for the IT power, power units, shape (T,)."""
        slope, intercept = self.segments(x)
        beside = 0.0 if self.cold is None else self.cold.beside(x)
        return np.asarray((slope * self.like_it(x)[:, None] + intercept).max(axis=1) + beside)

    def like_it(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the IT power at which the curve is read, power units, shape (T,)."""
        return np.asarray(x[self.it] if self.cold is None else x[self.it] + self.cold.like_it(x))

    def needed(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the same with no more of the racks' own part than its segments ask for, power units, shape (T,)."""
        if self.cold is None:
            return self.curve(x)
        slope, intercept = self.cold.own_lines
        least = (slope * x[self.it][:, None] + intercept).max(axis=1)
        return np.asarray(self.curve(x) - np.maximum(x[self.cold.own] - least, 0.0))

    def line(self, t: int, slope: float) -> tuple[Places1, npt.NDArray[np.float64]]:
        """Return columns and coefficients of a slot's cooling power less a segment without its intercept."""
        columns, values = np.array([self.cooling[t], self.it[t]]), np.array([1.0, -slope])
        if self.cold is None:
            return columns, values
        flows = -self.cold.beside_share[t] - slope * self.cold.like_share[t]
        return np.append(columns, self.cold.columns[t]), np.append(values, flows)


@dataclass(frozen=True)
class Places:
    """All columns by noun.

    Args:
        gangs: Per run, its options.
        blocks: Per block.
        choices: Places of all on/off and pool columns, shape (C,).
        peaks: Places of the rise of each register of demand, shape (M,); none without a demand charge.
        side: Places of all other whole columns that a plan must settle: units of generators, directions of export,
            offers bought whole or not.
        bought: Offer -> place of the share of it that is bought.
    """

    gangs: tuple[tuple[OptionPlaces, ...], ...]
    blocks: tuple[BlockPlaces, ...]
    choices: npt.NDArray[np.int64]
    peaks: npt.NDArray[np.int64]
    side: npt.NDArray[np.int64]
    bought: Mapping[str, int]


def locate(program: Program, index: ColumnIndex) -> Places:
    """Return where a program's columns stand."""
    gangs = tuple(tuple(_option(gang, option, index) for option in gang.options) for gang in program.gangs)
    choices = [o.on[o.on >= 0] for gang in gangs for o in gang]
    choices.append(np.array([o.chosen for gang in gangs for o in gang if o.chosen >= 0], dtype=np.int64))
    blocks = tuple(_block(block, index, program) for block in program.blocks)
    side = [column for block in program.blocks for column in whole_columns(block.own)]
    side += [c.bought for c in program.site.contracts if c.bought is not None and c.contract.all_or_none]
    return Places(
        gangs,
        blocks,
        np.concatenate(choices),
        index.many(program.site.peak_rise),
        index.many(side),
        _bought(program, index),
    )


def _bought(program: Program, index: ColumnIndex) -> dict[str, int]:
    return {c.contract.name: index(c.bought) for c in program.site.contracts if c.bought is not None}


def _option(gang: Gang, option: GangOption, index: ColumnIndex) -> OptionPlaces:
    on = np.full(gang.cells.count, -1, dtype=np.int64)
    for cell, column in option.on.items():
        on[cell] = index(column)
    slots = np.array([t for c in sorted(option.on) for t in gang.cells.slots(c)], dtype=np.int64)
    points = option.points
    lower = [[index(option.lower[int(t), k]) for k in range(len(points) - 1)] for t in slots]
    return OptionPlaces(
        pool=option.pool.name,
        gpus=option.gpus,
        chosen=-1 if option.chosen is None else index(option.chosen),
        on=on,
        slots=slots,
        on_of_row=on[gang.cells.of_slot[slots]],
        lower=np.array(lower, dtype=np.int64).reshape(len(slots), len(points) - 1),
        limit_w=np.array([p.gpu_power_limit_w for p in points]),
        it_w=np.array([p.it_w_per_gpu for p in points]),
        throughput=np.array([p.relative_throughput for p in points]),
        moves=gang.run.moves,
    )


def _block(block: BlockColumns, index: ColumnIndex, program: Program) -> BlockPlaces:
    power_kw, paid = program.power_kw, least_worth(program.week.here(block.limits.block)) < 0
    battery, store = block.battery, block.limits.block.battery
    curves = block.limits.curves
    upper = np.full(len(block.it), -1, dtype=np.int64)
    for t, columns in block.upper.items():
        upper[t] = index(columns.used)
    return BlockPlaces(
        it=index.many(block.it),
        cooling=index.many(block.cooling),
        solar=index.many(block.solar) if block.solar else None,
        charge=index.many(battery.charge) if battery else None,
        discharge=index.many(battery.discharge) if battery else None,
        efficiency=store.charge_efficiency * store.discharge_efficiency if store else 1.0,
        upper=upper,
        split=curves.split_kw / power_kw,
        pieces=(
            np.stack([curves.slope, curves.upper_slope]),
            np.stack([curves.intercept_kw, curves.upper_intercept_kw]) / power_kw,
        ),
        paid=paid | bool(block.own.generators),
        own=OwnPlaces(
            wind=index.many(block.own.wind) if block.own.wind else None,
            export=index.many(block.own.export) if block.own.export else None,
            generators=tuple((index.many(g.power), index.many(g.on)) for g in block.own.generators),
        ),
        cold=None if block.cold is None else _cold(block.cold, index, power_kw),
    )


def _cold(cold: ColdColumns, index: ColumnIndex, power_kw: float) -> ColdPlaces:
    beside = [dict(cold.beside(t)) for t in range(len(cold.own))]
    like = [dict(cold.like_it(t)) for t in range(len(cold.own))]
    return ColdPlaces(
        filled=index.many(cold.tank.filled) if cold.tank else None,
        drawn=index.many(cold.tank.drawn) if cold.tank else None,
        sold=index.many(cold.sold) if cold.sold else None,
        own=index.many(cold.own),
        own_lines=np.stack([cold.limits.own_slope, cold.limits.own_intercept_kw / power_kw]),
        columns=np.array([index.many(tuple(terms)) for terms in beside], dtype=np.int64),
        like_share=np.array([[one.get(v, 0.0) for v in terms] for terms, one in zip(beside, like, strict=True)]),
        beside_share=np.array([list(terms.values()) for terms in beside]),
    )
