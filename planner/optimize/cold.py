"""Columns and rows of a block's tank and heat pumps: cold that is stored, heat that is sold, and the cooling of both.

The rows are those of `thermal.rows` and `thermal.offsets`: heat is rejected like that of another IT power, beside what
follows the racks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulp

from planner.optimize.columns import Column, Terms
from planner.optimize.limits import POWER_MARGIN, energy_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize.cold_limits import ColdLimits
    from planner.optimize.limits import BlockLimits
    from planner.week import Week


@dataclass(frozen=True)
class TankColumns:
    """A tank's columns per slot: heat rejected to fill it, heat that goes into it, and the cold at the slot's end."""

    filled: tuple[Column, ...]
    drawn: tuple[Column, ...]
    cold: tuple[Column, ...]


@dataclass(frozen=True)
class ColdColumns:
    """A block's columns per slot, in power units.

    Args:
        limits: What tank and heat pumps may do.
        own: Power of the loops' pumps and of the room.
        tank: The tank's, or None.
        sold: Heat sold, or None without heat pumps.
    """

    limits: ColdLimits
    own: tuple[Column, ...]
    tank: TankColumns | None
    sold: tuple[Column, ...] | None

    def like_it(self, t: int) -> Terms:
        """Return what a slot's flows add to the IT power that rejects alike."""
        return self.limited(t) + (
            [(self.sold[t], -float(self.limits.offsets.taken_it_kw_per_kw[t]) * self._taken(t))] if self.sold else []
        )

    def limited(self, t: int) -> Terms:
        """Return the same without what heat pumps spare: the plant's limits do not count on it."""
        offsets = self.limits.offsets
        if self.tank is None:
            return []
        return [
            (self.tank.filled[t], float(offsets.fill_it_kw_per_kw[t])),
            (self.tank.drawn[t], -float(offsets.draw_it_kw_per_kw[t])),
        ]

    def beside(self, t: int) -> Terms:
        """Return a slot's cooling power beside that of the curve."""
        offsets, terms = self.limits.offsets, [(self.own[t], 1.0)]
        if self.tank is not None:
            terms += [
                (self.tank.filled[t], float(offsets.fill_power_kw_per_kw[t])),
                (self.tank.drawn[t], float(offsets.draw_power_kw_per_kw[t])),
            ]
        if self.sold:
            terms.append((self.sold[t], float(offsets.taken_power_kw_per_kw[t]) * self._taken(t)))
        return terms

    def heat_pump(self, t: int) -> Terms:
        """Return the power of a slot's heat pumps."""
        heat = self.limits.heat
        return [] if heat is None or not self.sold else [(self.sold[t], float(heat.power_kw_per_kw[t]))]

    def heat_pump_most(self, t: int) -> Terms:
        """Return the most that a slot's heat pumps may take for what they sell, whatever the IT power."""
        return [(self.sold[t], float(self.limits.pump_most_kw_per_kw[t]))] if self.sold else []

    def given(self, t: int) -> Terms:
        """Return the heat that the racks give to tank and heat pumps in a slot."""
        drawn: Terms = [] if self.tank is None else [(self.tank.drawn[t], 1.0)]
        return drawn + ([(self.sold[t], self._taken(t))] if self.sold else [])

    def _taken(self, t: int) -> float:
        return 0.0 if self.limits.heat is None else float(self.limits.heat.taken_kw_per_kw[t])


def add_cold(
    prob: pulp.LpProblem, week: Week, limits: BlockLimits, it: Sequence[Column], power_kw: float
) -> ColdColumns | None:
    """Add the columns and rows of a block's tank and heat pumps, or return None where it has neither.

    Args:
        prob: The program.
        week: The week.
        limits: The block's limits.
        it: Its IT power per slot.
        power_kw: Unit of power, kW.
    """
    cold = limits.cold
    if cold is None:
        return None
    name, slots = limits.label, range(week.grid.n_slots)
    sold = None
    if cold.heat is not None:
        most = cold.sold_kw * (1.0 - POWER_MARGIN) / power_kw
        sold = tuple(prob.add_variable(f"sold_{name}_{t}", 0, float(most[t])) for t in slots)
    columns = ColdColumns(
        limits=cold,
        own=tuple(prob.add_variable(f"own_{name}_{t}", 0) for t in slots),
        tank=_tank(prob, week, name, cold, power_kw),
        sold=sold,
    )
    share, paid = limits.block.plant.liquid_heat_share * (1.0 - POWER_MARGIN), energy_worth(week) < 0
    for t in slots:
        _own_rows(prob, columns, limits, it[t], t, power_kw, paid=bool(paid[t]))
        row = pulp.LpAffineExpression([*columns.given(t), (it[t], -share)])
        prob += row <= 0, f"heat_given_{name}_{t}"
        if columns.tank is not None:
            carried = float(cold.carried_kw[t]) * (1.0 - POWER_MARGIN) / power_kw
            prob += pulp.LpAffineExpression([(it[t], 1.0), *columns.limited(t)]) <= carried, f"carried_{name}_{t}"
            if cold.fill_kw[t] > 0.0:
                held = float(cold.offsets.hold_kw[t]) / power_kw
                filled = (columns.tank.filled[t], float(cold.offsets.fill_it_kw_per_kw[t]))
                prob += pulp.LpAffineExpression([(it[t], 1.0), filled]) <= held, f"held_{name}_{t}"
    return columns


def _own_rows(
    prob: pulp.LpProblem,
    columns: ColdColumns,
    limits: BlockLimits,
    it: Column,
    t: int,
    power_kw: float,
    *,
    paid: bool,
) -> None:
    """The racks' own part is above its segments; where import is paid for it is their chord: no burning for money."""
    here, cold = f"{limits.label}_{t}", columns.limits
    lines = list(zip(cold.own_slope[t].tolist(), (cold.own_intercept_kw[t] / power_kw).tolist(), strict=True))
    low, high = float(limits.idle_kw[t]) / power_kw, float(limits.it_max_kw[t]) / power_kw
    if paid:
        ends = [max(slope * at + intercept for slope, intercept in lines) for at in (low, high)]
        slope = (ends[1] - ends[0]) / (high - low) if high > low else 0.0
        prob += columns.own[t] - slope * it == ends[0] - slope * low, f"own_{here}"
        return
    for s, (slope, intercept) in enumerate(dict.fromkeys(lines)):
        prob += columns.own[t] - slope * it >= intercept, f"own_{here}_{s}"


def _tank(prob: pulp.LpProblem, week: Week, name: str, cold: ColdLimits, power_kw: float) -> TankColumns | None:
    store, slots = cold.store, range(week.grid.n_slots)
    if store is None:
        return None
    capacity, final = store.capacity_kwh / power_kw, store.final_kwh(len(slots)) / power_kw
    fill, draw = cold.fill_kw / power_kw, cold.draw_kw / power_kw
    columns = TankColumns(
        filled=tuple(prob.add_variable(f"filled_{name}_{t}", 0, float(fill[t])) for t in slots),
        drawn=tuple(prob.add_variable(f"drawn_{name}_{t}", 0, float(draw[t])) for t in slots),
        cold=tuple(prob.add_variable(f"cold_{name}_{t}", final if t == slots[-1] else 0, capacity) for t in slots),
    )
    paid = energy_worth(week) < 0
    for t in slots:
        row = columns.cold[t] - store.mean_h * (columns.filled[t] - columns.drawn[t])
        if t:
            row -= store.kept_share * columns.cold[t - 1]
        prob += row == (0 if t else store.kept_share * store.initial_kwh / power_kw), f"cold_{name}_{t}_row"
        if paid[t] and fill[t] > 0.0:
            filling = prob.add_variable(f"filling_{name}_{t}", cat="Binary")
            prob += columns.filled[t] - float(fill[t]) * filling <= 0, f"filling_{name}_{t}_row"
            prob += columns.drawn[t] + float(draw[t]) * filling <= float(draw[t]), f"drawing_{name}_{t}_row"
    return columns
