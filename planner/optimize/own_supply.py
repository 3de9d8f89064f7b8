"""Columns and rows of what a block makes and gives back itself: wind, generators, export.

Units of a group are alike, so that one whole number per slot says how many run; a start of any of them holds for its
shortest time (`sum of starts over the last min-up slots <= units on`), a stop for its shortest rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pulp

from planner.optimize.agreements import least_money
from planner.optimize.columns import Column, Terms
from planner.optimize.limits import weighed
from power.export import export_price_per_kwh

if TYPE_CHECKING:
    from planner.optimize.limits import BlockLimits
    from planner.week import Week
    from power.generation import Generator


@dataclass(frozen=True)
class GeneratorColumns:
    """A group's columns per slot: its power in power units, the units that run, the units that start."""

    generator: Generator
    power: tuple[Column, ...]
    on: tuple[Column, ...]
    start: tuple[Column, ...]


@dataclass(frozen=True)
class OwnColumns:
    """A block's columns per slot, in power units; wind and export are None without any.

    `exporting` has an entry, 0 or 1, for every slot in which buying and selling at once would pay.
    """

    wind: tuple[Column, ...] | None
    generators: tuple[GeneratorColumns, ...]
    export: tuple[Column, ...] | None
    exporting: Mapping[int, Column]

    def supply(self, t: int) -> Terms:
        """Return what they give in a slot, and what export takes."""
        given = [(group.power[t], 1.0) for group in self.generators]
        if self.wind:
            given.append((self.wind[t], 1.0))
        if self.export:
            given.append((self.export[t], -1.0))
        return given


def add_own(prob: pulp.LpProblem, week: Week, limits: BlockLimits, power_kw: float) -> OwnColumns:
    """Add a block's wind, generators and export to the program.

    Args:
        prob: The program.
        week: The week.
        limits: The block's limits.
        power_kw: Unit of power, kW.
    """
    block, slots = limits.block, range(week.grid.n_slots)
    name, wind = limits.label, limits.wind_kw / power_kw
    export, exporting = None, {}
    if block.export is not None:
        most = np.minimum(block.export.limit_kw, limits.capacity_kw) / power_kw
        export = tuple(prob.add_variable(f"export_{name}_{t}", 0, float(most[t])) for t in slots)
        earned = export_price_per_kwh(block.export, week.signals.price_per_kwh)
        pays = weighed(week, least_money(week) - earned) < 0
        exporting = {int(t): prob.add_variable(f"exporting_{name}_{t}", cat="Binary") for t in np.flatnonzero(pays)}
    return OwnColumns(
        wind=tuple(prob.add_variable(f"wind_{name}_{t}", 0, float(wind[t])) for t in slots) if wind.any() else None,
        # by place: two names may differ in signs alone that PuLP writes alike
        generators=tuple(
            _add_generator(prob, week, f"{name}_{i}", group, power_kw) for i, group in enumerate(block.generators)
        ),
        export=export,
        exporting=exporting,
    )


def add_export_rows(
    prob: pulp.LpProblem,
    limits: BlockLimits,
    own: OwnColumns,
    grid: tuple[Column, ...],
    others: Sequence[tuple[Column, ...]],
    power_kw: float,
) -> None:
    """Keep import and export apart in the slots in which both at once would pay.

    A block that exports imports nothing, so that its own sources carry its idle load too: that row, and the least
    bounds, keep the relaxation from selling its own and buying the load.

    Args:
        prob: The program.
        limits: The block's limits.
        own: Its columns.
        grid: Its import per slot.
        others: Its other sources per slot: sun, discharging.
        power_kw: Unit of power, kW.
    """
    if own.export is None:
        return
    name, curves, battery = limits.label, limits.curves, limits.block.battery
    least_kw = limits.idle_kw + curves.cooling_kw(limits.idle_kw)
    load_kw = limits.it_max_kw + curves.cooling_kw(limits.it_max_kw)
    if limits.cold is not None:
        # the curves are then those of the heat rejection alone: tank and heat pumps spare some of it and add their own
        least_kw, load_kw = limits.idle_kw, limits.capacity_kw
    least = least_kw / power_kw
    imported = np.minimum(limits.import_kw, load_kw + (battery.charge_kw if battery else 0.0)) / power_kw
    sources = [*others, *(group.power for group in own.generators), *([own.wind] if own.wind else [])]
    for t, exporting in own.exporting.items():
        export, most = own.export[t], float(own.export[t].upBound)
        prob += export - most * exporting <= 0, f"export_{name}_{t}_row"
        prob += grid[t] + float(imported[t]) * exporting <= float(imported[t]), f"no_import_{name}_{t}"
        row = [(export, 1.0), (exporting, float(least[t]))] + [(source[t], -1.0) for source in sources]
        prob += pulp.LpAffineExpression(row) <= 0, f"own_export_{name}_{t}"


def generation_terms(own: OwnColumns, slot_h: float, power_kw: float) -> Terms:
    """Return the objective's coefficients of fuel and starts."""
    terms: Terms = []
    for group in own.generators:
        terms += [(v, group.generator.fuel_cost_per_kwh * slot_h) for v in group.power]
        terms += [(v, group.generator.start_cost / power_kw) for v in group.start]
    return terms


def generation_carbon_terms(own: OwnColumns, carbon_per_t: float, slot_h: float) -> Terms:
    """Return the objective's coefficients of the carbon of generators."""
    return [
        (v, group.generator.factor_gco2_per_kwh * carbon_per_t / 1e6 * slot_h)
        for group in own.generators
        for v in group.power
    ]


def export_terms(week: Week, limits: BlockLimits, own: OwnColumns) -> Terms:
    """Return the objective's coefficients of export, below zero where it earns."""
    if own.export is None or limits.block.export is None:
        return []
    earned = export_price_per_kwh(limits.block.export, week.signals.price_per_kwh) * week.grid.slot_h
    return [(v, -float(per_unit)) for v, per_unit in zip(own.export, earned, strict=True)]


def whole_columns(own: OwnColumns) -> Iterator[Column]:
    """Yield the columns that are whole numbers."""
    for group in own.generators:
        yield from group.on
    yield from own.exporting.values()


def _add_generator(
    prob: pulp.LpProblem, week: Week, name: str, generator: Generator, power_kw: float
) -> GeneratorColumns:
    slots, slot_h = range(week.grid.n_slots), week.grid.slot_h
    available = generator.units_available(week.grid.starts, week.grid.slot)
    most, least = generator.unit_kw / power_kw, generator.min_kw / power_kw
    columns = GeneratorColumns(
        generator=generator,
        power=tuple(prob.add_variable(f"generation_{name}_{t}", 0, float(available[t] * most)) for t in slots),
        on=tuple(prob.add_variable(f"units_{name}_{t}", 0, int(available[t]), cat="Integer") for t in slots),
        start=tuple(prob.add_variable(f"unit_starts_{name}_{t}", 0, generator.units) for t in slots),
    )
    up, down = generator.slots(generator.min_up_h, slot_h), generator.slots(generator.min_down_h, slot_h)
    stops = []
    for t in slots:
        power, on, start = columns.power[t], columns.on[t], columns.start[t]
        before = columns.on[t - 1] if t else generator.initial_units
        prob += power - most * on <= 0, f"most_generation_{name}_{t}"
        prob += power - least * on >= 0, f"least_generation_{name}_{t}"
        stop = start - on + before
        stops.append(stop)
        prob += stop >= 0, f"unit_start_{name}_{t}"
        prob += pulp.lpSum(columns.start[max(0, t - up + 1) : t + 1]) - on <= 0, f"min_up_{name}_{t}"
        prob += pulp.lpSum(stops[max(0, t - down + 1) :]) + on <= generator.units, f"min_down_{name}_{t}"
    for t in range(min(len(slots), generator.bound_slots(generator.min_up_h, slot_h))):
        prob += columns.on[t] >= min(generator.initial_units, int(available[t])), f"still_up_{name}_{t}"
    for t in range(min(len(slots), generator.bound_slots(generator.min_down_h, slot_h))):
        prob += columns.on[t] <= generator.initial_units, f"still_down_{name}_{t}"
    if generator.max_unit_h is not None:
        prob += pulp.lpSum(columns.on) <= generator.max_unit_h / slot_h, f"permit_{name}"
    return columns
