"""Goals beside the site's own prices, for many gangs: a budget of carbon, and one measure after the other.

A goal that counts all of a measure changes its price. One that counts only what lies above an amount is a row of the
site's program, with a column for what is above; for lateness it is a row of the aggregate program, and its price there
is what lateness costs besides while gangs are placed and bounded (any price up to the goal's gives a valid bound).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.objective import CARBON, COST, LATENESS, WATER
from planner.optimize.limits import energy_worth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.objective import Goal
    from planner.optimize.limits import BlockLimits
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.rows import Rows
    from planner.optimize.scale.site import SitePart
    from planner.week import Week

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

L_PER_M3 = 1000.0


def capped(week: Week, measures: Sequence[str]) -> tuple[Goal, ...]:
    """Return the goals of some measures that count only what lies above an amount."""
    return tuple(g for g in week.objective.counted if g.most is not None and g.measure in measures)


def whole(week: Week, measure: str) -> float:
    """Return the money that goals add to all of a measure, per unit of it."""
    goals = week.objective.counted
    return sum(g.money_per_unit for g in goals if g.most is None and g.measure == measure)


def import_worth(week: Week) -> Floats:
    """Return what a kWh of import counts with its carbon and with goals that count all of it, money per kWh."""
    if not capped(week, (COST,)):
        return energy_worth(week)
    goals = tuple(goal for goal in week.objective.counted if goal.most is None)
    return energy_worth(replace(week, objective=replace(week.objective, budget=None, goals=goals)))


def water_worth(week: Week, limits: BlockLimits) -> Floats:
    """Return what water costs per kWh of IT energy, money per kWh, shape (T,)."""
    per_m3 = week.prices.water_per_m3
    told = limits.envelope.water_l_per_kwh / L_PER_M3 * per_m3
    if week.objective.counted:
        told = told * (1.0 + whole(week, COST)) + limits.envelope.water_l_per_kwh * whole(week, WATER)
    return np.asarray(told)


def valued(crowd: Crowd, late: Floats | None = None) -> Crowd:
    """Return a crowd whose lateness costs what goals say of it too.

    Args:
        crowd: All gangs.
        late: Price of each goal of lateness that counts what is above an amount, money per GPU-h; None for 0.
    """
    more = whole(crowd.week, LATENESS) + (0.0 if late is None else float(late.sum()))
    if not more:
        return crowd
    weight = np.array([run.lateness_weight for run in crowd.week.runs])
    return replace(crowd, dues=replace(crowd.dues, price=crowd.dues.price + more * weight))


def free_late(week: Week, late: Floats) -> float:
    """Return what the lateness that goals leave free takes off a bound at prices of these goals, money."""
    return float(sum(price * (g.most or 0.0) for g, price in zip(capped(week, (LATENESS,)), late, strict=True)))


def goals_money(week: Week, measures: Mapping[str, float]) -> float:
    """Return what a plan's measures count by all goals, money."""
    return sum(
        g.money_per_unit * (measures[g.measure] - (0.0 if g.most is None else min(g.most, measures[g.measure])))
        for g in week.objective.counted
    )


@dataclass(frozen=True)
class CapRow:
    """The row of a goal that counts what lies above an amount.

    Args:
        goal: The goal.
        row: Its row.
        scale: Units of the measure in one of the row, per power unit.
    """

    goal: Goal
    row: Ints
    scale: float


def add_caps(rows: Rows, week: Week, limits: Sequence[BlockLimits], site: SitePart, unit_kw: float) -> list[CapRow]:
    """Add the rows of goals of carbon, money and water that count what lies above an amount.

    Args:
        rows: The program in the making.
        week: The week.
        limits: Per block, in the week's order.
        site: The site's columns.
        unit_kw: Unit of power, kW.
    """
    found = []
    for goal in capped(week, (CARBON, COST, WATER)):
        parts = _columns(week, limits, site, goal.measure)
        scale = max((float(np.abs(c).max(initial=0.0)) for _, c in parts), default=0.0) or 1.0
        over = rows.columns(1, 0.0, np.inf, goal.money_per_unit * scale)
        row = rows.rows(1, -np.inf, (goal.most or 0.0) / (scale * unit_kw))
        rows.put(row, over, -1.0)
        for columns, coefficients in parts:
            rows.put(row, columns, coefficients / scale)
        found.append(CapRow(goal, row, scale))
    return found


def _columns(week: Week, limits: Sequence[BlockLimits], site: SitePart, measure: str) -> list[tuple[Ints, Floats]]:
    """Return (columns, what each adds to a measure per kW); IT power that is told has no columns."""
    h, parts = week.grid.slot_h, []
    rates = {CARBON: week.signals.ci_gco2_per_kwh / 1000.0, COST: week.rates().total_per_kwh}
    for one, part in zip(limits, site.blocks, strict=True):
        if measure in rates:
            parts.append((part.grid, rates[measure] * h))
        if part.it is not None and measure in {COST, WATER}:
            per_l = 1.0 if measure == WATER else week.prices.water_per_m3 / L_PER_M3
            parts.append((part.it, one.envelope.water_l_per_kwh * per_l * h))
        store, battery = one.block.battery, part.battery
        if measure == COST and store is not None and battery is not None:
            parts.append((battery.discharge, np.full(len(battery.discharge), store.wear_cost_per_kwh * h)))
    if measure == COST and len(site.rise):
        parts.append((site.rise, np.array([register.charge_per_kw for register in week.demand_registers])))
    return parts
