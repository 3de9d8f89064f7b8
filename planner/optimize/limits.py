"""What a block's physics allows in each slot, before any decision: IT power limits and the worth of energy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import Infeasible
from planner.objective import CARBON, COST
from planner.optimize.curves import SEGMENTS, fit_curves, least_above
from planner.optimize.labels import labels
from planner.timegrid import iso
from thermal.envelope import fit_envelope
from thermal.limit import it_limit_kw

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.cold_limits import ColdLimits
    from planner.optimize.curves import Curves
    from planner.week import Block, Week
    from thermal.envelope import CoolingEnvelope

POWER_MARGIN = 2e-6  # of every power limit: covers the solver's tolerance and limits rounded to 1 mW


@dataclass(frozen=True)
class BlockLimits:
    """One block's hard limits per slot.

    Args:
        block: The block.
        label: What it is called in the program.
        idle_kw: IT power of GPUs without a job, kW, shape (T,).
        it_max_kw: Largest IT power within the cooling limit and the block's capacity, kW, shape (T,).
        capacity_kw: Largest facility power, kW, shape (T,).
        import_kw: Largest import, kW, shape (T,).
        solar_kw: Solar power on offer, kW, shape (T,).
        wind_kw: Wind power on offer, kW, shape (T,).
        envelope: The cooling's water and setpoint, and segments below its curves.
        curves: Cooling power over IT power, from idle to the largest; with a tank or heat pumps, see `cold`.
        cold: Its tank and heat pumps, or None without any.
    """

    block: Block
    label: str
    idle_kw: npt.NDArray[np.float64]
    it_max_kw: npt.NDArray[np.float64]
    capacity_kw: npt.NDArray[np.float64]
    import_kw: npt.NDArray[np.float64]
    solar_kw: npt.NDArray[np.float64]
    wind_kw: npt.NDArray[np.float64]
    envelope: CoolingEnvelope
    curves: Curves
    cold: ColdLimits | None = None

    @property
    def other_kw(self) -> npt.NDArray[np.float64]:
        """Most that can come from behind the meter, kW, shape (T,)."""
        return self.solar_kw + self.wind_kw + _steady_kw(self.block)

    def added_kw(self, gpus: float, it_w_per_gpu: float, idle_w_per_gpu: float) -> npt.NDArray[np.float64]:
        """Return the IT power that a gang's GPUs in this block add to the idle power, kW per slot, shape (T,)."""
        return gpus * (it_w_per_gpu - np.where(self.block.idle_powered, idle_w_per_gpu, 0.0)) / 1000.0


def block_limits(week: Week, block: Block) -> BlockLimits:
    """Return a block's limits; IT power also stays within what holds in the heat that the week keeps clear of.

    Raises:
        Infeasible: The idle power alone is above what the block can carry in some slot.
    """
    limits = _limits(week, block)
    clash = np.flatnonzero(limits.idle_kw > limits.it_max_kw)
    if clash.size:
        raise _idle_too_high(week, limits, int(clash[0]), clash.size)
    return limits


def _limits(week: Week, block: Block) -> BlockLimits:
    dry_c, wet_c = week.signals.dry_bulb_c, week.signals.wet_bulb_c
    idle = week.idle_kw(block)
    asked = (idle, most_it_kw(week, block))
    envelope = fit_envelope(block.plant, dry_c, wet_c, SEGMENTS, asked)
    powered = week.plant_powered(block)
    envelope = replace(
        envelope,
        intercept_kw=np.where(powered[:, None], envelope.intercept_kw, 0.0),
        w_max_kw=it_limit_kw(block.plant, block.reserve, powered, dry_c, wet_c),
        convex=envelope.convex | ~powered,
    )
    capacity = week.capacity_kw(block)
    imported, solar, wind = week.import_limit_kw(block), week.solar_kw(block), week.wind_kw(block)
    reach = np.minimum(capacity, imported + solar + wind + _steady_kw(block))
    whole = fit_curves(block.plant, envelope, dry_c, wet_c, asked)
    it_max = np.minimum(envelope.w_max_kw, whole.within_kw(reach)) * (1.0 - POWER_MARGIN)
    if week.in_heat is not None:
        # idle GPUs stay powered where only the heat would not carry them: a chance is no reason to power them down
        it_max = np.minimum(it_max, np.maximum(_limits(week.in_heat, block).it_max_kw, idle))
    curves = whole.between(idle, np.minimum(it_max, asked[1]))
    below = _below(envelope, curves, idle, it_max)
    label = labels([b.name for b in week.blocks])[block.name]
    return BlockLimits(block, label, idle, it_max, capacity, imported, solar, wind, below, curves)


def _steady_kw(block: Block) -> float:
    """Return the most that generators and battery of a block give, kW."""
    battery_kw = 0.0 if block.battery is None else block.battery.discharge_kw
    return sum(g.units * g.unit_kw for g in block.generators) + battery_kw


def most_it_kw(week: Week, block: Block) -> npt.NDArray[np.float64]:
    """Return the IT power of all GPUs in service at their highest point, kW, shape (T,): no plan takes more."""
    most_kw = np.zeros(week.grid.n_slots)
    for pool in week.pools:
        options = [o for r in week.runs for o in r.options if pool.name in week.pool(o.pool).draws(r.size(o))]
        most_w = max([pool.gpu.idle_w_per_gpu, *(p.it_w_per_gpu for o in options for p in o.points)])
        most_kw += pool.share_in(block.name) * pool.gpus_in_service(week.grid) * most_w / 1000.0
    return most_kw


def _below(
    envelope: CoolingEnvelope, curves: Curves, low_kw: npt.NDArray[np.float64], high_kw: npt.NDArray[np.float64]
) -> CoolingEnvelope:
    """Return an envelope nowhere above the curves: where there are two pieces, its segments are one line below both."""
    slope, intercept = curves.slope.copy(), curves.intercept_kw.copy()
    ends_kw = curves.cooling_kw(low_kw), curves.cooling_kw(high_kw)
    for t in np.flatnonzero(curves.chosen):
        line = (ends_kw[1][t] - ends_kw[0][t]) / (high_kw[t] - low_kw[t])
        slope[t] = line
        intercept[t] = min(
            least_above(line, curves.slope[t], curves.intercept_kw[t], low_kw[t], curves.split_kw[t]),
            least_above(line, curves.upper_slope[t], curves.upper_intercept_kw[t], curves.split_kw[t], high_kw[t]),
        )
    return replace(envelope, slope=slope, intercept_kw=intercept)


def energy_worth(week: Week) -> npt.NDArray[np.float64]:
    """Return what a kWh of import costs with its carbon, money per kWh, shape (T,); below zero import is paid for."""
    return weighed(week, week.rates().total_per_kwh)


def weighed(week: Week, money_per_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what a kWh of import counts with its carbon: at the least, where a goal only counts what is above it.

    Args:
        week: All inputs.
        money_per_kwh: What is paid for it, shape (T,).
    """
    ci_gco2_per_kwh = week.signals.ci_gco2_per_kwh
    worth = money_per_kwh + ci_gco2_per_kwh * week.prices.carbon_per_t / 1e6
    for goal in week.objective.counted:
        if goal.measure == COST:
            counts = money_per_kwh if goal.most is None else np.minimum(money_per_kwh, 0.0)
            worth = worth + goal.money_per_unit * counts
        elif goal.measure == CARBON and goal.most is None:
            worth = worth + goal.money_per_unit * ci_gco2_per_kwh / 1000.0
    return np.asarray(worth)


def _idle_too_high(week: Week, limits: BlockLimits, slot: int, count: int) -> Infeasible:
    name, when = limits.block.name, iso(week.grid.starts[slot])
    idle, capacity = limits.idle_kw[slot], limits.capacity_kw[slot]
    reach = limits.import_kw[slot] + limits.other_kw[slot]
    w_max = limits.envelope.w_max_kw[slot]
    cooling = limits.curves.cooling_kw(limits.idle_kw)[slot]
    if w_max < idle:
        row = f"block {name!r}, {when}: idle IT power {idle:,.1f} kW is above the cooling limit {w_max:,.1f} kW"
        fix = "power the idle GPUs down in these hours, give the plant more capacity, or ask for less in reserve"
    else:
        row = (
            f"block {name!r}, {when}: idle IT power {idle:,.1f} kW with {cooling:,.1f} kW of cooling is above the "
            f"block's capacity {capacity:,.1f} kW"
        )
        fix = "power the idle GPUs down in these hours or raise the block's capacity"
        if reach < capacity:
            row = (
                f"block {name!r}, {when}: idle IT power {idle:,.1f} kW with {cooling:,.1f} kW of cooling is above the "
                f"{reach:,.1f} kW that import and own supply can give together"
            )
            fix = "power the idle GPUs down in these hours, or raise grid_kw or what the block makes itself"
    return Infeasible(f"{row} ({count} such slots)", "the block cannot even idle", fix, conflicts=(row,))
