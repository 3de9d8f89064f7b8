"""Columns and rows of a block's battery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulp

from planner.optimize.columns import Column, Terms
from planner.optimize.limits import POWER_MARGIN, energy_worth
from power.battery import FREE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.week import Week
    from power.battery import Battery


@dataclass(frozen=True)
class BatteryColumns:
    """A battery's columns per slot: charging, discharging, stored energy; its direction where import is paid for."""

    charge: tuple[Column, ...]
    discharge: tuple[Column, ...]
    stored: tuple[Column, ...]
    charging: dict[int, Column]


def add_battery(prob: pulp.LpProblem, week: Week, name: str, battery: Battery, power_kw: float) -> BatteryColumns:
    """Add a battery to the program.

    Args:
        prob: The program.
        week: The week.
        name: Name of its block.
        battery: The battery.
        power_kw: Unit of power, kW.
    """
    slots, slot_h, energy = range(week.grid.n_slots), week.grid.slot_h, battery.energy_kwh / power_kw
    paid = energy_worth(week) < 0
    charge_max, discharge_max = battery.charge_kw / power_kw, battery.discharge_kw / power_kw
    window = battery.min_share * energy, battery.max_share * energy
    final = battery.final_kwh[0] / power_kw, battery.final_kwh[1] / power_kw
    columns = BatteryColumns(
        charge=tuple(prob.add_variable(f"charge_{name}_{t}", 0, charge_max) for t in slots),
        discharge=tuple(prob.add_variable(f"discharge_{name}_{t}", 0, discharge_max) for t in slots),
        stored=tuple(prob.add_variable(f"stored_{name}_{t}", *(final if t == slots[-1] else window)) for t in slots),
        charging={t: prob.add_variable(f"charging_{name}_{t}", cat="Binary") for t in slots if paid[t]},
    )
    kept = battery.kept_share(slot_h)
    for t in slots:
        row = columns.stored[t] - (kept * columns.stored[t - 1] if t else 0)
        row -= slot_h * battery.charge_efficiency * columns.charge[t]
        row += slot_h / battery.discharge_efficiency * columns.discharge[t]
        prob += row == (0 if t else kept * battery.initial_share * energy), f"stored_{name}_{t}_row"
    for t, charging in columns.charging.items():
        prob += columns.charge[t] - charge_max * charging <= 0, f"charging_{name}_{t}_row"
        prob += columns.discharge[t] + discharge_max * charging <= discharge_max, f"discharging_{name}_{t}_row"
    return columns


def add_battery_rows(
    prob: pulp.LpProblem,
    name: str,
    battery: Battery,
    columns: BatteryColumns,
    load: Sequence[Terms],
    made: Sequence[Sequence[Column]],
    power_kw: float,
) -> None:
    """Keep the reserve for the block's load, and charging within what the block makes itself where the grid may not.

    Args:
        prob: The program.
        name: Name of its block.
        battery: The battery.
        columns: Its columns.
        load: What the block takes at most per slot.
        made: Every source behind the meter per slot.
        power_kw: Unit of power, kW.
    """
    slots = range(len(columns.charge))
    if not battery.grid_charging:
        for t in slots:
            row = [(columns.charge[t], 1.0)] + [(source[t], -1.0) for source in made]
            prob += pulp.LpAffineExpression(row) <= 0, f"own_charge_{name}_{t}"
    if battery.reserve_h:
        low = battery.min_share * battery.energy_kwh / power_kw
        # the margin covers limits rounded up and cooling by its exact curve within the slot
        need = battery.reserve_h * (1.0 + POWER_MARGIN)
        for t in slots:
            asked = pulp.LpAffineExpression([(v, -need * c) for v, c in load[t]])
            prob += columns.stored[t] + asked >= low, f"reserve_{name}_{t}"
            before = columns.stored[t - 1] if t else battery.initial_share * battery.energy_kwh / power_kw
            prob += before + asked >= low, f"reserve_before_{name}_{t}"


def stored_terms(battery: Battery, columns: BatteryColumns) -> Terms:
    """Return the objective's coefficients of what is left in store, below zero: it is worth something."""
    return [(columns.stored[-1], -battery.final_worth_per_kwh)] if battery.final_rule == FREE else []
