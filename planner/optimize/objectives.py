"""The four measures of a plan as rows over the program's columns: carbon, money paid, lateness, water."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.objective import CARBON, COST, LATENESS, MEASURES, WATER
from planner.optimize.moving import move_carbon_terms
from planner.optimize.own_supply import generation_carbon_terms
from planner.optimize.transfers import transfer_carbon_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.columns import Column, Terms
    from planner.optimize.gangs import Gang
    from planner.optimize.matrix import ColumnIndex
    from planner.optimize.model import Program
    from planner.optimize.supply import BlockColumns
    from planner.week import Week

KG_IS_MONEY = 1000.0  # a carbon price at which a kilogramme costs one
NOT_PAID = ("carbon", "lateness", "stored")
"""Terms of the objective that decide and are paid to nobody."""


def measure_terms(
    week: Week,
    gangs: Sequence[Gang],
    blocks: Sequence[BlockColumns],
    terms: Mapping[str, Sequence[tuple[Column, float]]],
    power_kw: float,
) -> dict[str, tuple[tuple[Column, float], ...]]:
    """Return what each column adds to each measure, in units of the measure over `power_kw`.

    Args:
        week: The week.
        gangs: Columns of the runs.
        blocks: Columns of the blocks.
        terms: The money of the objective, as `planner.optimize.model` makes it.
        power_kw: Unit of power, kW.
    """
    slot_h = week.grid.slot_h
    carbon: Terms = []
    water: Terms = []
    late: Terms = []
    for block in blocks:
        kg = week.here(block.limits.block).signals.ci_gco2_per_kwh / 1000.0 * slot_h
        carbon += [(v, float(c)) for v, c in zip(block.grid, kg, strict=True)]
        carbon += generation_carbon_terms(block.own, KG_IS_MONEY, slot_h)
        water_l = block.limits.envelope.water_l_per_kwh * slot_h
        for t, per_kw in enumerate(water_l.tolist()):
            like = [] if block.cold is None else block.cold.like_it(t)
            water += [(block.it[t], per_kw), *((v, c * per_kw) for v, c in like)]
    carbon += transfer_carbon_terms(week, gangs, 1.0, power_kw) + move_carbon_terms(week, gangs, 1.0, power_kw)
    for gang in gangs:
        gpu_h = gang.run.lateness_weight * gang.run.gpus / power_kw
        late += [(v, gpu_h) for due in gang.due for _, v in due.short]
    paid = [pair for name, columns in terms.items() if name not in NOT_PAID for pair in columns]
    return {CARBON: tuple(carbon), COST: tuple(paid), LATENESS: tuple(late), WATER: tuple(water)}


def measured(program: Program, index: ColumnIndex, x: npt.NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    """Return what column values come to in each measure: kgCO2e, money, GPU-h, L.

    Args:
        program: The program.
        index: Place of every column.
        x: Column values, shape (N,).
    """
    found = []
    for name in MEASURES:
        columns = program.measures[name]
        coefficients = np.array([c for _, c in columns])
        places = index.many([v for v, _ in columns])
        found.append((name, float(coefficients @ x[places]) * program.power_kw if columns else 0.0))
    return tuple(found)
