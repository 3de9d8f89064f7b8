"""What the blocks of a site draw from instant to instant under the runs' courses, and the plan that says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.carbon_budget import emitted_kg
from planner.cold_flows import kept_flows, planned_flows
from planner.decimals import DECIMALS, ROUNDING, published
from planner.respond.course import OFF, gang_kw
from power.battery import states_kwh
from thermal.plant import cooling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.cold_flows import ColdFlows
    from planner.respond.course import Course, Pieces
    from planner.week import Block, Week
    from thermal.plant import CoolingState
    from trainer_hooks.contract import BlockPlan


@dataclass(frozen=True)
class Flows:
    """A block's flows behind its meter per slot, kW, arrays of shape (T,).

    Args:
        charge_kw: Battery charging, AC.
        discharge_kw: Battery discharging, AC.
        solar_kw: Solar power used.
        other_kw: What else serves the load, such as generators and wind; an answer leaves it as it is.
    """

    charge_kw: npt.NDArray[np.float64]
    discharge_kw: npt.NDArray[np.float64]
    solar_kw: npt.NDArray[np.float64]
    other_kw: npt.NDArray[np.float64]

    @property
    def taken_kw(self) -> npt.NDArray[np.float64]:
        """What is imported beyond the load, kW, shape (T,)."""
        return self.charge_kw - self.discharge_kw - self.solar_kw - self.other_kw


def flows_of(plan: BlockPlan) -> Flows:
    """Return the flows that a calendar states."""
    charge, discharge, solar = (np.array(v) for v in (plan.charge_kw, plan.discharge_kw, plan.solar_kw))
    other = np.array(plan.facility_kw) + charge - discharge - solar - np.array(plan.import_kw)
    return Flows(charge, discharge, solar, np.where(np.abs(other) < ROUNDING, 0.0, other))


@dataclass(frozen=True)
class BlockLoad:
    """A block per piece, kW, arrays of shape (P,).

    Args:
        it_kw: IT power.
        cooling_kw: Cooling power.
        heat_pump_kw: Power of the heat pumps.
        import_kw: Grid import with battery and sources steady within a slot.
        cold: Flows of tank and heat sold, slot means, shape (T,).
    """

    it_kw: npt.NDArray[np.float64]
    cooling_kw: npt.NDArray[np.float64]
    heat_pump_kw: npt.NDArray[np.float64]
    import_kw: npt.NDArray[np.float64]
    cold: ColdFlows

    @property
    def plant_kw(self) -> npt.NDArray[np.float64]:
        """Power of cooling and heat pumps, kW, shape (P,)."""
        return self.cooling_kw + self.heat_pump_kw


def block_it_kw(week: Week, block: Block, courses: Sequence[Course], pieces: Pieces) -> npt.NDArray[np.float64]:
    """Return a block's IT power per piece, kW, shape (P,): its idle GPUs and the gangs on it."""
    it_kw = week.idle_kw(block)[pieces.slot]
    powered = block.idle_powered[pieces.slot]
    for course in courses:
        if course.option is None:
            continue
        pool = week.pool(course.option.pool)
        share = pool.share_in(block.name)
        if share:
            idle_kw = course.run.gpus * pool.gpu.idle_w_per_gpu / 1000.0
            taken_kw = gang_kw(week, course) - np.where(powered, idle_kw, 0.0)
            it_kw = it_kw + np.where(course.state == OFF, 0.0, share * taken_kw)
    return np.asarray(it_kw)


def plant_kw(
    week: Week, block: Block, plan: BlockPlan, it_kw: npt.NDArray[np.float64], slot: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the power of cooling and heat pumps for IT power in given slots, both kW, shape (N,).

    The supply is the one that is requested, and tank and heat sold do what the plan says.
    """
    flows = planned_flows(plan)
    state = _plant(week, block, plan, it_kw, slot, sold_kw=flows.sold_kw, tank_kw=flows.tank_kw)
    return np.where(week.plant_powered(block)[slot], state.cooling_kw + state.heat_pump_kw, 0.0)


def _plant(
    week: Week,
    block: Block,
    plan: BlockPlan,
    it_kw: npt.NDArray[np.float64],
    slot: npt.NDArray[np.int64],
    *,
    sold_kw: npt.NDArray[np.float64],
    tank_kw: npt.NDArray[np.float64],
) -> CoolingState:
    held_c = None
    if block.plant.loop is not None:
        held_c = np.array([np.nan if c is None else c for c in plan.supply_setpoint_c])[slot]
    dry_c, wet_c = week.signals.dry_bulb_c[slot], week.signals.wet_bulb_c[slot]
    return cooling(block.plant, it_kw, dry_c, wet_c, supply_c=held_c, heat_sold_kw=sold_kw[slot], tank_kw=tank_kw[slot])


def block_load(
    week: Week, block: Block, plan: BlockPlan, flows: Flows, courses: Sequence[Course], pieces: Pieces
) -> BlockLoad:
    """Return what a block draws from instant to instant.

    Args:
        week: All inputs.
        block: The block.
        plan: What the calendar in force says about it; its setpoint requests stay.
        flows: Battery and sources.
        courses: Every run.
        pieces: The pieces.
    """
    it_kw = block_it_kw(week, block, courses, pieces)
    first = np.searchsorted(pieces.slot, np.arange(pieces.n_slots))
    cold = kept_flows(week, block, plan, np.minimum.reduceat(it_kw, first), np.maximum.reduceat(it_kw, first))
    state = _plant(week, block, plan, it_kw, pieces.slot, sold_kw=cold.heat_sold_kw_th, tank_kw=cold.tank_kw)
    powered = week.plant_powered(block)[pieces.slot]
    cooling_kw, pump_kw = (np.where(powered, kw, 0.0) for kw in (state.cooling_kw, state.heat_pump_kw))
    return BlockLoad(it_kw, cooling_kw, pump_kw, it_kw + cooling_kw + pump_kw + flows.taken_kw[pieces.slot], cold)


def block_plan(week: Week, block: Block, plan: BlockPlan, flows: Flows, load: BlockLoad, pieces: Pieces) -> BlockPlan:
    """Return what the new calendar says about a block; what an answer does not touch stays as it was said."""
    it, drawn, pump = (
        np.round(pieces.slot_mean(v), DECIMALS) for v in (load.it_kw, load.cooling_kw, load.heat_pump_kw)
    )
    charge, discharge, solar = (np.round(v, DECIMALS) for v in (flows.charge_kw, flows.discharge_kw, flows.solar_kw))
    stored = np.zeros(week.grid.n_slots)
    if block.battery is not None:
        stored = states_kwh(block.battery, charge, discharge, week.grid.slot_h)
    cold = load.cold
    if plan.cold_kwh_th:
        states, fill, draw = (published(v) for v in (cold.cold_kwh_th, cold.fill_kw_th, cold.draw_kw_th))
        plan = replace(plan, cold_kwh_th=states, fill_kw_th=fill, draw_kw_th=draw)
    if plan.heat_sold_kw_th:
        plan = replace(plan, heat_sold_kw_th=published(cold.heat_sold_kw_th), heat_pump_kw=published(pump))
    return replace(
        plan,
        it_kw=published(it),
        cooling_kw=published(drawn),
        facility_kw=published(it + drawn + pump),
        import_kw=published(it + drawn + pump + charge - discharge - solar - flows.other_kw),
        solar_kw=published(solar),
        charge_kw=published(charge),
        discharge_kw=published(discharge),
        battery_kwh=published(stored),
    )


def carbon_per_it_kwh(week: Week, plans: Mapping[str, BlockPlan]) -> npt.NDArray[np.float64]:
    """Return the site's carbon over its IT energy per slot, kg/kWh, shape (T,); 0 where there is no IT energy."""
    kg, it_kwh = emitted_kg(week, plans), np.zeros(week.grid.n_slots)
    for block in week.blocks:
        it_kwh += np.array(plans[block.name].it_kw) * week.grid.slot_h
    return np.divide(kg, it_kwh, out=np.zeros_like(kg), where=it_kwh > 0.0)
