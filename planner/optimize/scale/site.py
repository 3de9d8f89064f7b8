"""Columns and rows of blocks and site as arrays: the same as in the program of record, for given or free IT power."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import COST
from planner.optimize.curves import highest_segments
from planner.optimize.limits import POWER_MARGIN, energy_worth
from planner.optimize.scale.battery import add_battery
from planner.optimize.scale.goals import add_caps, import_worth, water_worth, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.optimize.scale.battery import BatteryPart
    from planner.optimize.scale.goals import CapRow
    from planner.optimize.scale.rows import Rows
    from planner.week import Week

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


TINY_KW = 1e-12


@dataclass(frozen=True)
class BlockPart:
    """A block's columns per slot, in power units; None where it has no such part, and the rows of its IT power.

    `cooling` is None where the IT power is given: its cooling is then known.
    """

    it: Ints | None
    cooling: Ints | None
    grid: Ints
    solar: Ints | None
    wind: Ints | None
    battery: BatteryPart | None
    it_rows: Ints
    balance: Ints


@dataclass(frozen=True)
class SitePart:
    """All blocks, the rise of each register of demand, and the rows of goals that count what is above an amount."""

    blocks: tuple[BlockPart, ...]
    rise: Ints
    caps: tuple[CapRow, ...] = ()


def power_unit_kw(week: Week) -> float:
    """Return a power of ten about a tenth of the largest block."""
    largest = max(10.0, *(block.power.capacity_kw for block in week.blocks))
    return float(10.0 ** (np.floor(np.log10(largest)) - 1))


def add_site(rows: Rows, week: Week, limits: Sequence[BlockLimits], unit_kw: float, *, free_it: bool) -> SitePart:
    """Add the site's columns and rows.

    Args:
        rows: The program in the making.
        week: The week.
        limits: Per block, in the week's order.
        unit_kw: Unit of power, kW; money is counted in as many units of currency.
        free_it: Whether IT power is a column, with the rows of its cooling and ramp; otherwise the sides of the balance
            rows tell the load.
    """
    blocks = tuple(_add_block(rows, week, one, unit_kw, free_it=free_it) for one in limits)
    site = SitePart(blocks, _add_peaks(rows, week, [block.grid for block in blocks], unit_kw))
    return replace(site, caps=tuple(add_caps(rows, week, limits, site, unit_kw)))


def _add_block(rows: Rows, week: Week, limits: BlockLimits, unit_kw: float, *, free_it: bool) -> BlockPart:
    n, slot_h = week.grid.n_slots, week.grid.slot_h
    grid = rows.columns(n, 0.0, limits.import_kw / unit_kw, import_worth(week) * slot_h)
    solar = rows.columns(n, 0.0, limits.solar_kw / unit_kw) if limits.solar_kw.any() else None
    wind = rows.columns(n, 0.0, limits.wind_kw / unit_kw) if limits.block.wind else None
    balance = rows.rows(n, 0.0, 0.0)
    for supply, sign in ((grid, 1.0), (solar, 1.0), (wind, 1.0)):
        if supply is not None:
            rows.put(balance, supply, sign)
    it = cooling = None
    it_rows = balance
    if free_it:
        it = rows.columns(n, limits.idle_kw / unit_kw, limits.it_max_kw / unit_kw, water_worth(week, limits) * slot_h)
        cooling = rows.columns(n, 0.0, np.inf)
        it_rows = rows.rows(n, limits.idle_kw / unit_kw, limits.idle_kw / unit_kw)
        rows.put(it_rows, it, 1.0)
        rows.put(balance, it, -1.0)
        rows.put(balance, cooling, -1.0)
        _cooling_rows(rows, week, limits, it, cooling, unit_kw)
        _ramp_rows(rows, limits, it, unit_kw)
    battery = None
    if limits.block.battery is not None:
        load = [column for column in (it, cooling) if column is not None]
        own = [source for source in (solar, wind) if source is not None]
        store = limits.block.battery
        worn = replace(store, wear_cost_per_kwh=store.wear_cost_per_kwh * (1.0 + whole(week, COST)))
        battery = add_battery(rows, worn, week.grid.n_slots, slot_h, unit_kw, (load, own))
        rows.put(balance, battery.discharge, 1.0)
        rows.put(balance, battery.charge, -1.0)
    return BlockPart(it, cooling, grid, solar, wind, battery, it_rows, balance)


def _cooling_rows(rows: Rows, week: Week, limits: BlockLimits, it: Ints, cooling: Ints, unit_kw: float) -> None:
    """Cooling is above every segment below its curve, and below the chord where import is paid for."""
    envelope, paid = limits.envelope, energy_worth(week) < 0
    slot, slopes, intercepts = [], [], []
    for t in range(len(it)):
        low, high = float(limits.idle_kw[t] / unit_kw), float(limits.it_max_kw[t] / unit_kw)
        for slope, intercept in highest_segments(envelope.slope[t], envelope.intercept_kw[t] / unit_kw, low, high):
            slot.append(t)
            slopes.append(slope)
            intercepts.append(intercept)
    where, slope_of = np.array(slot), np.array(slopes)
    above = rows.rows(len(slot), np.array(intercepts), np.inf)
    rows.put(above, cooling[where], 1.0)
    rows.put(above, it[where], -slope_of)
    low_kw, high_kw = limits.idle_kw, limits.it_max_kw
    dear = np.flatnonzero(paid & (high_kw > low_kw))
    ends_kw = limits.curves.cooling_kw(low_kw), limits.curves.cooling_kw(high_kw)
    if dear.size:
        chord = ((ends_kw[1] - ends_kw[0]) / np.maximum(high_kw - low_kw, TINY_KW))[dear]
        below = rows.rows(len(dear), -np.inf, (ends_kw[0][dear] - chord * low_kw[dear]) / unit_kw)
        rows.put(below, cooling[dear], 1.0)
        rows.put(below, it[dear], -chord)


def _ramp_rows(rows: Rows, limits: BlockLimits, it: Ints, unit_kw: float) -> None:
    power = limits.block.power
    for step_kw, sign in ((power.rise_step_kw, 1.0), (power.fall_step_kw, -1.0)):
        if step_kw is not None:
            ramp = rows.rows(len(it) - 1, -np.inf, step_kw * (1.0 - POWER_MARGIN) / unit_kw)
            rows.put(ramp, it[1:], sign)
            rows.put(ramp, it[:-1], -sign)


def _add_peaks(rows: Rows, week: Week, grids: Sequence[Ints], unit_kw: float) -> Ints:
    rises = []
    for register in week.demand_registers:
        charge = register.charge_per_kw * (1.0 + whole(week, COST))
        rise = rows.columns(1, (register.least_kw - register.owed_kw) / unit_kw, np.inf, charge)
        rises.append(rise)
        slots = np.flatnonzero(register.interval >= 0)
        _, place, counts = np.unique(register.interval[slots], return_inverse=True, return_counts=True)
        peak = rows.rows(len(counts), -np.inf, register.owed_kw / unit_kw)
        rows.put(peak, rise, -1.0)
        for grid in grids:
            rows.put(peak[place], grid[slots], 1.0 / counts[place])
    return np.concatenate(rises) if rises else np.zeros(0, dtype=np.int64)
