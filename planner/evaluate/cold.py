"""The judge's own account of tank and heat sold: flows, the tank's state, and every promise about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import ABSOLUTE_KW, RELATIVE, STATED_SHARE_OF_IT, Spans, differs, worst
from thermal.components import store
from thermal.reuse import lift
from thermal.units_out import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.evaluate.record import BlockResult, Violation
    from planner.evaluate.replay import BlockReplay, Pieces
    from planner.week import Block, Week
    from thermal.plant import CoolingPlant, CoolingState
    from trainer_hooks.calendar import BlockPlan

    Floats = npt.NDArray[np.float64]

WARM_K = 1e-3  # by which water that fills the tank may be warmer than the tank's


@dataclass(frozen=True)
class PlanFlows:
    """What a calendar says of tank and heat sold, kW of heat, shape (T,) each; steady within a slot."""

    fill_kw: npt.NDArray[np.float64]
    draw_kw: npt.NDArray[np.float64]
    sold_kw: npt.NDArray[np.float64]

    @property
    def tank_kw(self) -> npt.NDArray[np.float64]:
        """Heat rejected to fill the tank, below 0 heat that goes into it, kW, shape (T,)."""
        return self.fill_kw - self.draw_kw

    def cold_kwh(self, plant: CoolingPlant, slot_h: float) -> npt.NDArray[np.float64]:
        """Return the cold in the tank at each slot's end, kWh, shape (T,), whether it could hold that or not."""
        if plant.loop is None or plant.loop.store.volume_m3 == 0.0:
            return np.zeros_like(self.fill_kw)
        tank, cold_kwh, states = plant.loop.store, _initial_kwh(plant), []
        for fill, draw in zip(self.fill_kw.tolist(), self.draw_kw.tolist(), strict=True):
            cold_kwh = store.cold_after_kwh_th(tank, cold_kwh, fill, draw, slot_h)
            states.append(cold_kwh)
        return np.array(states)


@dataclass(frozen=True)
class ColdReplay:
    """What tank and heat pumps did, per piece, shape (P,) each.

    Args:
        drawn_kw: Heat that goes into the tank by the calendar, kW.
        taken_kw: Heat that heat pumps take from the loop for what the calendar sells, kW.
        given_kw: Heat that the racks give by liquid, kW.
        filled_kw: Heat rejected to fill the tank by the calendar, kW.
        supply_c: What the racks get, deg C.
    """

    drawn_kw: npt.NDArray[np.float64]
    taken_kw: npt.NDArray[np.float64]
    given_kw: npt.NDArray[np.float64]
    filled_kw: npt.NDArray[np.float64]
    supply_c: npt.NDArray[np.float64]


def plan_flows(block: Block, plan: BlockPlan, n_slots: int) -> PlanFlows:
    """Return a calendar's flows for a block; a series that it does not have says none."""
    still = np.zeros(n_slots)
    given = (plan.fill_kw_th, plan.draw_kw_th, plan.heat_sold_kw_th)
    return PlanFlows(*(np.array(series) if series and block.plant.loop is not None else still for series in given))


def cold_replay(
    block: Block,
    flows: PlanFlows,
    state: CoolingState,
    it_kw: Floats,
    held_c: Floats | None,
    slot: npt.NDArray[np.int64],
) -> ColdReplay:
    """Return what tank and heat pumps do in each piece.

    Args:
        block: The block; it has a liquid loop.
        flows: What the calendar says.
        state: The plant's state, shape (P,).
        it_kw: IT power, kW, shape (P,).
        held_c: Supply temperature that is held, deg C, shape (P,).
        slot: Slot of each piece, shape (P,).
    """
    plant = block.plant
    assert plant.loop is not None
    assert held_c is not None
    sold_kw = flows.sold_kw[slot]
    taken = lift(plant.loop, it_kw / plant.rated_it_kw, held_c, ALL, sold_kw).taken_kw
    return ColdReplay(
        drawn_kw=flows.draw_kw[slot],
        taken_kw=np.broadcast_to(taken, it_kw.shape),
        given_kw=plant.liquid_heat_share * it_kw,
        filled_kw=flows.fill_kw[slot],
        supply_c=state.supply_temp_c,
    )


def check_cold(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    """Return which promises of tank and heat sold are broken."""
    return [*_check_tank(week, block, seen, cut), *_check_heat(week, block, seen, cut)]


def _check_tank(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    name, flows, loop = f"block {block.name} tank", seen.result, block.plant.loop
    most_kw = 0.0
    if loop is not None and block.has_tank:
        most_kw = loop.store.power_share * block.plant.rated_it_kw * block.plant.liquid_heat_share
    powered_kw = np.where(week.plant_powered(block), most_kw, 0.0)
    fills, draws = "is filled at", "takes up heat at"
    found = [
        *worst(week, "tank-power", name, flows.fill_kw_th, powered_kw, "kW", fills),
        *worst(week, "tank-power", name, flows.fill_kw_th, 0.0, "kW", fills, least=True),
        *worst(week, "tank-power", name, flows.draw_kw_th, powered_kw, "kW", draws),
        *worst(week, "tank-power", name, flows.draw_kw_th, 0.0, "kW", draws, least=True),
        *worst(
            week,
            "tank-both",
            name,
            np.minimum(flows.fill_kw_th, flows.draw_kw_th),
            0.0,
            "kW",
            "is filled and drawn on at once at",
        ),
    ]
    if not block.has_tank or loop is None or seen.cold is None:
        return found
    supply_c = np.where(seen.cold.filled_kw > ABSOLUTE_KW, seen.cold.supply_c, -np.inf)
    warm = worst(
        week,
        "tank-warm",
        name,
        supply_c,
        loop.supply_setpoint_c + WARM_K,
        "C",
        "is filled while the racks get",
        over=cut.spans,
    )
    return found + warm + _check_state(week, block, name, flows.cold_kwh_th)


def _check_state(week: Week, block: Block, name: str, cold_kwh: Floats) -> list[Violation]:
    slot_s = 60.0 * week.grid.slot_minutes
    ends = Spans(np.arange(1.0, week.grid.n_slots + 1.0) * slot_s, np.full(week.grid.n_slots, slot_s))
    last = Spans(ends.start_s[-1:], np.full(1, slot_s))
    return [
        *worst(week, "tank-state", name, cold_kwh, 0.0, "kWh", "holds", least=True, over=ends),
        *worst(week, "tank-state", name, cold_kwh, _capacity_kwh(block.plant), "kWh", "holds", over=ends),
        *worst(
            week,
            "tank-final",
            name,
            cold_kwh[-1:],
            _final_kwh(block.plant, week.grid.hours),
            "kWh",
            "ends with",
            least=True,
            over=last,
        ),
    ]


def _check_heat(week: Week, block: Block, seen: BlockReplay, cut: Pieces) -> list[Violation]:
    name, sold_kw = f"block {block.name} heat", seen.result.heat_sold_kw_th
    wanted_kw = np.zeros(week.grid.n_slots) if block.heat is None else block.heat.demand_kw
    found = [
        *worst(week, "heat-demand", name, sold_kw, wanted_kw, "kW", "is sold at"),
        *worst(week, "heat-demand", name, sold_kw, 0.0, "kW", "is sold at", least=True),
    ]
    loop, cold = block.plant.loop, seen.cold
    if loop is None or cold is None:
        return found
    most_kw = loop.heat_pump.capacity_share * block.plant.rated_it_kw * block.plant.liquid_heat_share
    both = cold.drawn_kw + cold.taken_kw
    return [
        *found,
        *worst(week, "heat-pump-power", name, cold.taken_kw, most_kw, "kW", "takes from the loop", over=cut.spans),
        *worst(week, "heat-given", name, both, cold.given_kw, "kW", "and tank take up", over=cut.spans),
    ]


def check_stated_cold(week: Week, plan: BlockPlan, result: BlockResult) -> Iterator[Violation]:
    """Yield which stated figures of tank and heat sold differ from the replay."""
    name, still = f"block {plan.block}", np.zeros(week.grid.n_slots)
    power_kw = ABSOLUTE_KW + STATED_SHARE_OF_IT * result.it_kw
    state_kwh = ABSOLUTE_KW + RELATIVE * np.abs(result.cold_kwh_th)
    stated = {
        what: np.array(getattr(plan, what)) if getattr(plan, what) else still
        for what in ("cold_kwh_th", "heat_sold_kw_th", "heat_pump_kw")
    }
    yield from chain(
        differs(week, "stated-cold", name, stated["cold_kwh_th"], result.cold_kwh_th, state_kwh, "kWh", "stored cold"),
        differs(
            week, "stated-heat", name, stated["heat_sold_kw_th"], result.heat_sold_kw_th, power_kw, "kW", "heat sold"
        ),
        differs(
            week, "stated-heat-pump", name, stated["heat_pump_kw"], result.heat_pump_kw, power_kw, "kW", "heat pumps"
        ),
    )


def cold_change_kwh(block: Block, result: BlockResult) -> float:
    """Return the cold in a block's tank at the end less that at the start, kWh; 0 without a tank."""
    return float(result.cold_kwh_th[-1]) - _initial_kwh(block.plant) if block.has_tank else 0.0


def _capacity_kwh(plant: CoolingPlant) -> float:
    loop = plant.loop
    assert loop is not None
    return store.capacity_kwh_th(loop.store, loop.facility_coolant, loop.supply_setpoint_c - loop.cdu.approach_k)


def _initial_kwh(plant: CoolingPlant) -> float:
    assert plant.loop is not None
    return plant.loop.store.initial_share * _capacity_kwh(plant)


def _final_kwh(plant: CoolingPlant, hours: float) -> float:
    """Return the cold that must be left: the share asked for, or what a tank at rest would hold if that is less."""
    assert plant.loop is not None
    tank = plant.loop.store
    at_rest = tank.initial_share * math.exp(math.log1p(-tank.daily_loss_share) * hours / 24.0)
    return min(tank.final_share, at_rest) * _capacity_kwh(plant)
