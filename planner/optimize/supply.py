"""Columns and rows of the blocks: IT power, cooling, import, solar, battery, ramp and the billed peaks.

Power is counted in `Units.power_kw`, so that a site of 10 kW and one of 300 MW look alike to the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pulp

from planner.optimize.agreements import AgreementColumns, add_agreements
from planner.optimize.cold import add_cold
from planner.optimize.columns import Column, Terms
from planner.optimize.contracts import ContractColumns, add_contracts
from planner.optimize.curves import highest_segments
from planner.optimize.demand import add_peaks
from planner.optimize.labels import labels
from planner.optimize.limits import POWER_MARGIN, energy_worth
from planner.optimize.own_supply import OwnColumns, add_export_rows, add_own
from planner.optimize.store import BatteryColumns, add_battery, add_battery_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.cold import ColdColumns
    from planner.optimize.gangs import Gang
    from planner.optimize.limits import BlockLimits
    from planner.week import Week

    Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UpperColumns:
    """The upper piece of a slot's cooling curve: whether it is in use (0 or 1), and the IT power and cooling on it.

    IT power and cooling of the lower piece are what is left of the block's, so that each piece's rows hold scaled by
    its share: the relaxation is then the convex hull of both (Balas 1998).
    """

    used: Column
    it: Column
    cooling: Column


@dataclass(frozen=True)
class BlockColumns:
    """A block's columns per slot, in power units; solar is None without an array, battery None without one.

    `upper` has an entry for every slot in which the cooling curve has two pieces. `cold` is None without tank and heat
    pumps; with them the curve is that of the heat rejection (`planner.optimize.cold`).
    """

    limits: BlockLimits
    it: tuple[Column, ...]
    cooling: tuple[Column, ...]
    grid: tuple[Column, ...]
    solar: tuple[Column, ...] | None
    battery: BatteryColumns | None
    own: OwnColumns
    upper: Mapping[int, UpperColumns]
    cold: ColdColumns | None

    def load(self, t: int) -> Terms:
        """Return what the block takes in a slot: IT power, cooling, heat pumps."""
        pumps = [] if self.cold is None else self.cold.heat_pump(t)
        return [(self.it[t], 1.0), (self.cooling[t], 1.0), *pumps]

    def most_load(self, t: int) -> Terms:
        """Return the same with the most that the heat pumps may take: what a reserve must carry."""
        pumps = [] if self.cold is None else self.cold.heat_pump_most(t)
        return [(self.it[t], 1.0), (self.cooling[t], 1.0), *pumps]


@dataclass(frozen=True)
class SiteColumns:
    """The site's columns, in power units.

    Args:
        peak_rise: Rise above the demand that is owed, one per `Week.demand_registers`.
        contracts: Energy contracts, in the week's order.
        agreements: Power purchase agreements.
    """

    peak_rise: tuple[Column, ...]
    contracts: tuple[ContractColumns, ...]
    agreements: AgreementColumns


def add_block(
    prob: pulp.LpProblem, week: Week, limits: BlockLimits, gangs: Sequence[Gang], power_kw: float
) -> BlockColumns:
    """Add one block's columns and rows to the program.

    Args:
        prob: The program.
        week: The week.
        limits: The block's limits.
        gangs: All gangs; those with a pool in this block draw power here.
        power_kw: Unit of power, kW.

    Returns:
        The block's columns.
    """
    name, slots = limits.label, range(week.grid.n_slots)
    imported, solar, battery = limits.import_kw / power_kw, limits.solar_kw / power_kw, limits.block.battery
    it_max, idle = limits.it_max_kw / power_kw, limits.idle_kw / power_kw
    it = tuple(prob.add_variable(f"it_{name}_{t}", float(idle[t]), float(it_max[t])) for t in slots)
    columns = BlockColumns(
        limits=limits,
        it=it,
        cooling=tuple(prob.add_variable(f"cooling_{name}_{t}", 0) for t in slots),
        grid=tuple(prob.add_variable(f"import_{name}_{t}", 0, float(imported[t])) for t in slots),
        solar=tuple(prob.add_variable(f"solar_{name}_{t}", 0, float(solar[t])) for t in slots) if solar.any() else None,
        battery=add_battery(prob, week, name, battery, power_kw) if battery else None,
        own=add_own(prob, week, limits, power_kw),
        upper={
            int(t): UpperColumns(
                prob.add_variable(f"upper_{name}_{t}", cat="Binary"),
                prob.add_variable(f"upper_it_{name}_{t}", 0),
                prob.add_variable(f"upper_cooling_{name}_{t}", 0),
            )
            for t in np.flatnonzero(limits.curves.chosen)
        },
        cold=add_cold(prob, week, limits, it, power_kw),
    )
    _it_rows(prob, columns, gangs, idle, power_kw)
    _cooling_rows(prob, week, columns, power_kw)
    for t in slots:
        supply = [(columns.grid[t], 1.0), *columns.own.supply(t)]
        if columns.solar:
            supply.append((columns.solar[t], 1.0))
        if columns.battery:
            supply += [(columns.battery.discharge[t], 1.0), (columns.battery.charge[t], -1.0)]
        load = columns.load(t)
        if columns.cold is not None:
            most = float(limits.capacity_kw[t] / power_kw) * (1.0 - POWER_MARGIN)
            prob += pulp.LpAffineExpression(load) <= most, f"capacity_{name}_{t}"
        prob += pulp.LpAffineExpression([*supply, *((v, -c) for v, c in load)]) == 0, f"balance_{name}_{t}"
    others = [source for source in (columns.solar, columns.battery and columns.battery.discharge) if source]
    add_export_rows(prob, limits, columns.own, columns.grid, others, power_kw)
    if battery and columns.battery:
        made = [group.power for group in columns.own.generators]
        made += [source for source in (columns.solar, columns.own.wind) if source]
        add_battery_rows(prob, name, battery, columns.battery, [columns.most_load(t) for t in slots], made, power_kw)
    rise_kw, fall_kw = limits.block.power.rise_step_kw, limits.block.power.fall_step_kw
    for t in slots[1:]:
        change = columns.it[t] - columns.it[t - 1]
        if rise_kw is not None:
            prob += change <= rise_kw * (1.0 - POWER_MARGIN) / power_kw, f"ramp_up_{name}_{t}"
        if fall_kw is not None:
            prob += -change <= fall_kw * (1.0 - POWER_MARGIN) / power_kw, f"ramp_down_{name}_{t}"
    return columns


def add_site(prob: pulp.LpProblem, week: Week, blocks: Sequence[BlockColumns], power_kw: float) -> SiteColumns:
    """Add what is decided for the whole site."""
    grid = [block.grid for block in blocks]
    contracts = add_contracts(prob, week, grid, power_kw)
    return SiteColumns(
        peak_rise=add_peaks(prob, week, grid, power_kw),
        contracts=contracts,
        agreements=add_agreements(prob, week, grid, [columns.take for columns in contracts], power_kw),
    )


def add_packing(prob: pulp.LpProblem, week: Week, gangs: Sequence[Gang]) -> None:
    """Gangs on in a pool need no more GPUs than are in service; one row per stretch in which nothing can change."""
    called = labels([pool.name for pool in week.pools])
    for pool in week.pools:
        users = [(g, o, o.pool.draws(o.gpus).get(pool.name, 0)) for g in gangs for o in g.options]
        in_service = pool.gpus_in_service(week.grid)
        seen: set[tuple[int, frozenset[str]]] = set()
        for t in range(week.grid.n_slots):
            on = [(o.on[c], n) for g, o, n in users if n and (c := int(g.cells.of_slot[t])) in o.on]
            if not on or sum(gpus for _, gpus in on) <= in_service[t]:
                continue
            key = (int(in_service[t]), frozenset(y.name for y, _ in on))
            if key not in seen:
                seen.add(key)
                row = pulp.LpAffineExpression([(y, gpus / float(in_service[t])) for y, gpus in on])
                prob += row <= 1, f"gpus_{called[pool.name]}_{t}"


def _it_rows(
    prob: pulp.LpProblem,
    columns: BlockColumns,
    gangs: Sequence[Gang],
    idle: npt.NDArray[np.float64],
    power_kw: float,
) -> None:
    name = columns.limits.label
    terms: list[list[tuple[Column, float]]] = [[] for _ in columns.it]
    for gang in gangs:
        for option in gang.options:
            gpus = option.gpus * option.pool.share_in(columns.limits.block.name)
            if not gpus:
                continue
            top_w = option.points[-1].it_w_per_gpu
            added = columns.limits.added_kw(gpus, top_w, option.pool.gpu.idle_w_per_gpu) / power_kw
            for c, y in option.on.items():
                for t in gang.cells.slots(c):
                    terms[t].append((y, float(added[t])))
            for (t, k), x in option.lower.items():
                saved_w = top_w - option.points[k].it_w_per_gpu
                terms[t].append((x, -gpus * saved_w / 1000.0 / power_kw))
    for t, it in enumerate(columns.it):
        row = pulp.LpAffineExpression([(it, 1.0)] + [(v, -w) for v, w in terms[t]])
        prob += row == float(idle[t]), f"it_power_{name}_{t}"


@dataclass(frozen=True)
class _Piece:
    """A convex piece of a slot's cooling curve, scaled by its share: 1, or whether it is the one in use.

    Args:
        here: End of its rows' names.
        it: IT power on it.
        cooling: Cooling power on it.
        share: Its share.
        segments: Slope and intercept of its segments.
        bounds: IT power at its ends.
    """

    here: str
    it: pulp.LpAffineExpression
    cooling: pulp.LpAffineExpression
    share: pulp.LpAffineExpression
    segments: Sequence[tuple[float, float]]
    bounds: tuple[float, float]


def _cooling_rows(prob: pulp.LpProblem, week: Week, columns: BlockColumns, power_kw: float) -> None:
    """Cooling is above every segment, and where import is paid for no higher: no burning for money.

    Where a generator may have to give more than is needed, it is below the chord at least.
    """
    paid = energy_worth(week) < 0
    pressed = any(group.min_kw > 0.0 for group in columns.limits.block.generators)
    for t in range(week.grid.n_slots):
        for piece in _pieces(columns, t, power_kw):
            for s, (slope, intercept) in enumerate(piece.segments):
                row = piece.cooling - slope * piece.it - intercept * piece.share
                prob += row >= 0, f"cooling_{piece.here}_{s}"
            if t in columns.upper:
                low, high = piece.bounds
                prob += piece.it - high * piece.share <= 0, f"most_it_{piece.here}"
                prob += piece.it - low * piece.share >= 0, f"least_it_{piece.here}"
            if paid[t] or pressed:
                _chord_row(prob, piece)
            if paid[t]:
                _curve_rows(prob, piece)


def _pieces(columns: BlockColumns, t: int, power_kw: float) -> list[_Piece]:
    limits, curves, here = columns.limits, columns.limits.curves, f"{columns.limits.label}_{t}"
    it, cooling = (pulp.LpAffineExpression([(c[t], 1.0)]) for c in (columns.it, columns.cooling))
    low, high = float(limits.idle_kw[t] / power_kw), float(limits.it_max_kw[t] / power_kw)
    if columns.cold is not None:
        it += pulp.LpAffineExpression(columns.cold.like_it(t))
        cooling -= pulp.LpAffineExpression(columns.cold.beside(t))
        low, high = 0.0, float(columns.cold.limits.like_kw[t] / power_kw)

    def segments(slope: Floats, intercept_kw: Floats, bounds: tuple[float, float]) -> list[tuple[float, float]]:
        return highest_segments(slope[t], intercept_kw[t] / power_kw, *bounds)

    if t not in columns.upper:
        only = segments(curves.slope, curves.intercept_kw, (low, high))
        return [_Piece(here, it, cooling, pulp.LpAffineExpression(constant=1.0), only, (low, high))]
    upper = columns.upper[t]
    split = float(curves.split_kw[t] / power_kw)
    # a limit rounded up by a milliwatt must not start what the lower piece leaves off
    below, above = (low, split * (1.0 - POWER_MARGIN)), (split, high)
    used = pulp.LpAffineExpression([(upper.used, 1.0)])
    return [
        _Piece(
            f"{here}_lower",
            it - upper.it,
            cooling - upper.cooling,
            1.0 - used,
            segments(curves.slope, curves.intercept_kw, below),
            below,
        ),
        _Piece(
            f"{here}_upper",
            pulp.LpAffineExpression([(upper.it, 1.0)]),
            pulp.LpAffineExpression([(upper.cooling, 1.0)]),
            used,
            segments(curves.upper_slope, curves.upper_intercept_kw, above),
            above,
        ),
    ]


def _chord_row(prob: pulp.LpProblem, piece: _Piece) -> None:
    """Hold cooling below the chord of its curve."""
    curve = [max(slope * p + intercept for slope, intercept in piece.segments) for p in piece.bounds]
    if piece.bounds[1] > piece.bounds[0]:
        slope = (curve[1] - curve[0]) / (piece.bounds[1] - piece.bounds[0])
        row = piece.cooling - slope * piece.it - (curve[0] - slope * piece.bounds[0]) * piece.share
        prob += row <= 0, f"chord_{piece.here}"


def _curve_rows(prob: pulp.LpProblem, piece: _Piece) -> None:
    """Hold cooling down to the curve, on the one segment that is chosen."""
    at = [[slope * p + intercept for slope, intercept in piece.segments] for p in piece.bounds]
    curve = [max(values) for values in at]
    chosen = [prob.add_variable(f"segment_{piece.here}_{s}", cat="Binary") for s in range(len(piece.segments))]
    prob += pulp.lpSum(chosen) - piece.share == 0, f"one_segment_{piece.here}"
    for s, (slope, intercept) in enumerate(piece.segments):
        # a convex curve is farthest above one of its segments at an end
        most = max(curve[0] - at[0][s], curve[1] - at[1][s])
        row = piece.cooling - slope * piece.it - (intercept + most) * piece.share + most * chosen[s]
        prob += row <= 0, f"on_segment_{piece.here}_{s}"
