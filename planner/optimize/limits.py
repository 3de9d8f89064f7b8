"""What a block's physics allows in each slot, before any decision: IT power limits and the worth of energy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import Infeasible
from planner.timegrid import iso
from thermal.envelope import fit_envelope

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.week import Block, Week
    from thermal.envelope import CoolingEnvelope

POWER_MARGIN = 2e-6  # of every power limit: covers the solver's tolerance and limits rounded to 1 mW


@dataclass(frozen=True)
class BlockLimits:
    """One block's hard limits per slot.

    Args:
        block: The block.
        idle_kw: IT power of GPUs without a job, kW, shape (T,).
        it_max_kw: Largest IT power within the cooling limit and the block's capacity, kW, shape (T,).
        capacity_kw: Largest facility power and import, kW, shape (T,).
        solar_kw: Solar power on offer, kW, shape (T,).
        envelope: Cooling power over IT power.
    """

    block: Block
    idle_kw: npt.NDArray[np.float64]
    it_max_kw: npt.NDArray[np.float64]
    capacity_kw: npt.NDArray[np.float64]
    solar_kw: npt.NDArray[np.float64]
    envelope: CoolingEnvelope

    def added_kw(self, gpus: int, it_w_per_gpu: float, idle_w_per_gpu: float) -> npt.NDArray[np.float64]:
        """Return the IT power that a gang adds to the idle power, kW per slot, shape (T,)."""
        return gpus * (it_w_per_gpu - np.where(self.block.idle_powered, idle_w_per_gpu, 0.0)) / 1000.0


def block_limits(week: Week, block: Block) -> BlockLimits:
    """Return a block's limits.

    Raises:
        Infeasible: The idle power alone is above what the block can carry in some slot.
    """
    envelope = fit_envelope(block.plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c)
    powered = week.plant_powered(block)
    envelope = replace(
        envelope,
        intercept_kw=np.where(powered[:, None], envelope.intercept_kw, 0.0),
        w_max_kw=np.where(powered, envelope.w_max_kw, 0.0),
    )
    capacity = week.capacity_kw(block)
    idle = week.idle_kw(block)
    with_cooling = ((capacity[:, None] - envelope.intercept_kw) / (1.0 + envelope.slope)).min(axis=1)
    it_max = np.minimum(envelope.w_max_kw, with_cooling) * (1.0 - POWER_MARGIN)
    limits = BlockLimits(block, idle, it_max, capacity, week.solar_kw(block), envelope)
    clash = np.flatnonzero(idle > it_max)
    if clash.size:
        raise _idle_too_high(week, limits, int(clash[0]), clash.size)
    return limits


def energy_worth(week: Week) -> npt.NDArray[np.float64]:
    """Return what a kWh of import costs with its carbon, money per kWh, shape (T,); below zero import is paid for."""
    carbon = week.signals.ci_gco2_per_kwh * week.prices.carbon_per_t / 1e6
    return np.asarray(week.signals.price_per_kwh + week.tariff.adder_per_kwh + carbon)


def _idle_too_high(week: Week, limits: BlockLimits, slot: int, count: int) -> Infeasible:
    name, when = limits.block.name, iso(week.grid.starts[slot])
    idle, capacity = limits.idle_kw[slot], limits.capacity_kw[slot]
    w_max = limits.envelope.w_max_kw[slot]
    cooling = float((limits.envelope.slope[slot] * idle + limits.envelope.intercept_kw[slot]).max())
    if w_max < idle:
        row = f"block {name!r}, {when}: idle IT power {idle:,.1f} kW is above the cooling limit {w_max:,.1f} kW"
        fix = "power the idle GPUs down in these hours or give the plant more capacity"
    else:
        row = (
            f"block {name!r}, {when}: idle IT power {idle:,.1f} kW with {cooling:,.1f} kW of cooling is above the "
            f"block's capacity {capacity:,.1f} kW"
        )
        fix = "power the idle GPUs down in these hours or raise the block's capacity"
    return Infeasible(f"{row} ({count} such slots)", "the block cannot even idle", fix, conflicts=(row,))
