"""Columns and rows of the blocks: IT power, cooling, import, solar, battery, ramp and the billed peaks.

Power is counted in `Units.power_kw`, so that a site of 10 kW and one of 300 MW look alike to the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pulp

from planner.optimize.limits import POWER_MARGIN, energy_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.gangs import Gang
    from planner.optimize.limits import BlockLimits
    from planner.week import Week
    from power.battery import Battery

Column: TypeAlias = pulp.LpVariable


@dataclass(frozen=True)
class BatteryColumns:
    """A battery's columns per slot: charging, discharging, stored energy; its direction where import is paid for."""

    charge: tuple[Column, ...]
    discharge: tuple[Column, ...]
    stored: tuple[Column, ...]
    charging: dict[int, Column]


@dataclass(frozen=True)
class BlockColumns:
    """A block's columns per slot, in power units; solar is None without an array, battery None without one."""

    limits: BlockLimits
    it: tuple[Column, ...]
    cooling: tuple[Column, ...]
    grid: tuple[Column, ...]
    solar: tuple[Column, ...] | None
    battery: BatteryColumns | None


@dataclass(frozen=True)
class SiteColumns:
    """The site's columns: one rise above the billed peak per calendar month, in power units."""

    peak_rise: tuple[Column, ...]


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
    name, slots = limits.block.name, range(week.grid.n_slots)
    capacity, solar = limits.capacity_kw / power_kw, limits.solar_kw / power_kw
    it_max, idle = limits.it_max_kw / power_kw, limits.idle_kw / power_kw
    columns = BlockColumns(
        limits=limits,
        it=tuple(prob.add_variable(f"it_{name}_{t}", float(idle[t]), float(it_max[t])) for t in slots),
        cooling=tuple(prob.add_variable(f"cooling_{name}_{t}", 0) for t in slots),
        grid=tuple(prob.add_variable(f"import_{name}_{t}", 0, float(capacity[t])) for t in slots),
        solar=tuple(prob.add_variable(f"solar_{name}_{t}", 0, float(solar[t])) for t in slots) if solar.any() else None,
        battery=_battery(prob, week, name, limits.block.battery, power_kw) if limits.block.battery else None,
    )
    _it_rows(prob, columns, gangs, idle, power_kw)
    _cooling_rows(prob, week, columns, power_kw)
    for t in slots:
        supply = [(columns.grid[t], 1.0)]
        if columns.solar:
            supply.append((columns.solar[t], 1.0))
        if columns.battery:
            supply += [(columns.battery.discharge[t], 1.0), (columns.battery.charge[t], -1.0)]
        load = [(columns.it[t], -1.0), (columns.cooling[t], -1.0)]
        prob += pulp.LpAffineExpression(supply + load) == 0, f"balance_{name}_{t}"
    step_kw = limits.block.power.ramp_step_kw
    if step_kw is not None:
        step = step_kw * (1.0 - POWER_MARGIN) / power_kw
        for t in slots[1:]:
            prob += columns.it[t] - columns.it[t - 1] <= step, f"ramp_up_{name}_{t}"
            prob += columns.it[t - 1] - columns.it[t] <= step, f"ramp_down_{name}_{t}"
    return columns


def add_site(prob: pulp.LpProblem, week: Week, blocks: Sequence[BlockColumns], power_kw: float) -> SiteColumns:
    """Add the billed peak of every calendar month in the horizon: what it rises above the peak already billed."""
    if not week.tariff.demand_charge_per_kw_month:
        return SiteColumns(())
    month = week.grid.local_months(week.tz)
    rises = tuple(prob.add_variable(f"peak_rise_{m}", 0) for m in range(int(month[-1]) + 1))
    for t in range(week.grid.n_slots):
        billed = week.tariff.month_to_date_peak_kw / power_kw if month[t] == 0 else 0.0
        site = pulp.LpAffineExpression([(b.grid[t], 1.0) for b in blocks] + [(rises[month[t]], -1.0)])
        prob += site <= billed, f"peak_{t}"
    return SiteColumns(rises)


def add_packing(prob: pulp.LpProblem, week: Week, gangs: Sequence[Gang]) -> None:
    """Gangs on in a pool need no more GPUs than are in service; one row per stretch in which nothing can change."""
    for pool in week.pools:
        users = [(g, o) for g in gangs for o in g.options if o.pool.name == pool.name]
        in_service = pool.gpus_in_service(week.grid)
        seen: set[tuple[int, frozenset[str]]] = set()
        for t in range(week.grid.n_slots):
            on = [(o.on[c], g.run.gpus) for g, o in users if (c := int(g.cells.of_slot[t])) in o.on]
            if not on or sum(gpus for _, gpus in on) <= in_service[t]:
                continue
            key = (int(in_service[t]), frozenset(y.name for y, _ in on))
            if key not in seen:
                seen.add(key)
                whole = float(in_service[t])
                prob += pulp.LpAffineExpression([(y, gpus / whole) for y, gpus in on]) <= 1, f"gpus_{pool.name}_{t}"


def _it_rows(
    prob: pulp.LpProblem,
    columns: BlockColumns,
    gangs: Sequence[Gang],
    idle: npt.NDArray[np.float64],
    power_kw: float,
) -> None:
    name = columns.limits.block.name
    terms: list[list[tuple[Column, float]]] = [[] for _ in columns.it]
    for gang in gangs:
        for option in gang.options:
            if option.pool.block != name:
                continue
            top_w = option.points[-1].it_w_per_gpu
            added = columns.limits.added_kw(gang.run.gpus, top_w, option.pool.gpu.idle_w_per_gpu) / power_kw
            for c, y in option.on.items():
                for t in gang.cells.slots(c):
                    terms[t].append((y, float(added[t])))
            for (t, k), x in option.lower.items():
                saved_w = top_w - option.points[k].it_w_per_gpu
                terms[t].append((x, -gang.run.gpus * saved_w / 1000.0 / power_kw))
    for t, it in enumerate(columns.it):
        row = pulp.LpAffineExpression([(it, 1.0)] + [(v, -w) for v, w in terms[t]])
        prob += row == float(idle[t]), f"it_power_{name}_{t}"


def _cooling_rows(prob: pulp.LpProblem, week: Week, columns: BlockColumns, power_kw: float) -> None:
    """Cooling is above every segment, and where import is paid for no higher: no burning for money."""
    limits, envelope = columns.limits, columns.limits.envelope
    paid = energy_worth(week) < 0
    name = limits.block.name
    for t, (it, cooling) in enumerate(zip(columns.it, columns.cooling, strict=True)):
        segments = {
            (float(a), float(b) / power_kw) for a, b in zip(envelope.slope[t], envelope.intercept_kw[t], strict=True)
        }
        for s, (slope, intercept) in enumerate(sorted(segments)):
            prob += cooling - slope * it >= intercept, f"cooling_{name}_{t}_{s}"
        if paid[t]:
            bounds = (limits.idle_kw[t] / power_kw, limits.it_max_kw[t] / power_kw)
            _curve_rows(prob, f"{name}_{t}", it, cooling, sorted(segments), bounds)


def _curve_rows(
    prob: pulp.LpProblem,
    here: str,
    it: Column,
    cooling: Column,
    segments: Sequence[tuple[float, float]],
    bounds: tuple[float, float],
) -> None:
    """Hold cooling down to the curve: below its chord, and on the one segment that is chosen."""
    at = [[slope * p + intercept for slope, intercept in segments] for p in bounds]
    curve = [max(values) for values in at]
    if bounds[1] > bounds[0]:
        slope = (curve[1] - curve[0]) / (bounds[1] - bounds[0])
        prob += cooling - slope * it <= curve[0] - slope * bounds[0], f"chord_{here}"
    chosen = [prob.add_variable(f"segment_{here}_{s}", cat="Binary") for s in range(len(segments))]
    prob += pulp.lpSum(chosen) == 1, f"one_segment_{here}"
    for s, (slope, intercept) in enumerate(segments):
        # a convex curve is farthest above one of its segments at an end
        most = max(curve[0] - at[0][s], curve[1] - at[1][s])
        prob += cooling - slope * it + most * chosen[s] <= intercept + most, f"on_segment_{here}_{s}"


def _battery(prob: pulp.LpProblem, week: Week, name: str, battery: Battery, power_kw: float) -> BatteryColumns:
    slots, energy = range(week.grid.n_slots), battery.energy_kwh / power_kw
    paid = energy_worth(week) < 0
    charge_max, discharge_max = battery.charge_kw / power_kw, battery.discharge_kw / power_kw
    low, high, final = (s * energy for s in (battery.min_share, battery.max_share, battery.final_share))
    columns = BatteryColumns(
        charge=tuple(prob.add_variable(f"charge_{name}_{t}", 0, charge_max) for t in slots),
        discharge=tuple(prob.add_variable(f"discharge_{name}_{t}", 0, discharge_max) for t in slots),
        stored=tuple(
            prob.add_variable(f"stored_{name}_{t}", max(low, final) if t == slots[-1] else low, high) for t in slots
        ),
        charging={t: prob.add_variable(f"charging_{name}_{t}", cat="Binary") for t in slots if paid[t]},
    )
    for t in slots:
        row = columns.stored[t] - (columns.stored[t - 1] if t else 0)
        row -= week.grid.slot_h * battery.charge_efficiency * columns.charge[t]
        row += week.grid.slot_h / battery.discharge_efficiency * columns.discharge[t]
        prob += row == (0 if t else battery.initial_share * energy), f"stored_{name}_{t}_row"
    for t, charging in columns.charging.items():
        prob += columns.charge[t] - charge_max * charging <= 0, f"charging_{name}_{t}_row"
        prob += columns.discharge[t] + discharge_max * charging <= discharge_max, f"discharging_{name}_{t}_row"
    return columns
