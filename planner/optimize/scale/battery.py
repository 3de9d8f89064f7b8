"""Columns and rows of a block's battery as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.limits import POWER_MARGIN
from power.battery import FREE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.scale.rows import Rows
    from power.battery import Battery

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BatteryPart:
    """A battery's columns per slot, in power units, and the rows of its reserve, two per slot, or None without one."""

    charge: Ints
    discharge: Ints
    stored: Ints
    reserve: Ints | None


def add_battery(
    rows: Rows, battery: Battery, n_slots: int, slot_h: float, unit_kw: float, beside: tuple[Sequence[Ints], list[Ints]]
) -> BatteryPart:
    """Add a battery.

    Args:
        rows: The program in the making.
        battery: The battery.
        n_slots: Count of slots.
        slot_h: Length of a slot, h.
        unit_kw: Unit of power, kW.
        beside: Columns of the block's load, none where it is told by the sides of rows, and of its own sources.
    """
    energy, worth = battery.energy_kwh / unit_kw, np.zeros(n_slots)
    if battery.final_rule == FREE:
        worth[-1] = -battery.final_worth_per_kwh
    low, high = np.full(n_slots, battery.min_share * energy), np.full(n_slots, battery.max_share * energy)
    low[-1], high[-1] = (kwh / unit_kw for kwh in battery.final_kwh)
    charge = rows.columns(n_slots, 0.0, battery.charge_kw / unit_kw)
    discharge = rows.columns(n_slots, 0.0, battery.discharge_kw / unit_kw, battery.wear_cost_per_kwh * slot_h)
    stored = rows.columns(n_slots, low, high, worth)
    kept, first = battery.kept_share(slot_h), np.zeros(n_slots)
    first[0] = kept * battery.initial_share * energy
    state = rows.rows(n_slots, first, first)
    rows.put(state, stored, 1.0)
    rows.put(state[1:], stored[:-1], -kept)
    rows.put(state, charge, -slot_h * battery.charge_efficiency)
    rows.put(state, discharge, slot_h / battery.discharge_efficiency)
    load, own = beside
    if not battery.grid_charging:
        within = rows.rows(n_slots, -np.inf, 0.0)
        rows.put(within, charge, 1.0)
        for source in own:
            rows.put(within, source, -1.0)
    reserve = None
    if battery.reserve_h:
        reserve = rows.rows(2 * n_slots, battery.min_share * energy, np.inf)
        start = battery.initial_share * energy
        # what is stored before the first slot is given
        rows.put(reserve[n_slots : n_slots + 1], rows.columns(1, start, start), 1.0)
        rows.put(reserve[:n_slots], stored, 1.0)
        rows.put(reserve[n_slots + 1 :], stored[:-1], 1.0)
        for column in load:
            rows.put(reserve.reshape(2, n_slots), column[None], -reserve_need_h(battery))
    return BatteryPart(charge, discharge, stored, reserve)


def reserve_need_h(battery: Battery) -> float:
    """Return the stored energy that each kW of load asks for, h; the margin covers limits rounded up."""
    return battery.reserve_h * (1.0 + POWER_MARGIN)
