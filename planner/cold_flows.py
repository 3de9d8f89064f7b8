"""What a block's physics takes of the flows decided for its tank and its heat pumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS, LAST, ROUNDING, rounded_down
from thermal.halving import halved
from thermal.plant import cooling, setpoint_c, w_max_kw, w_max_n1_kw
from thermal.reuse import HeatFlows, lift
from thermal.rows import heat_row, store_row
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.schedule import BlockSchedule
    from planner.week import Block, Week
    from thermal.plant import CoolingState
    from thermal.rows import StoreRow
    from trainer_hooks.contract import BlockPlan

    Floats = npt.NDArray[np.float64]

WARM_K = 1e-4  # water warmer than the tank's by this is not filled in
HALVINGS = 30
SAME_SHARE = 1e-9


@dataclass(frozen=True)
class ColdFlows:
    """Slot means, kW of heat, shape (T,); steady within a slot.

    Args:
        fill_kw_th: Heat rejected to fill the tank with cold.
        draw_kw_th: Heat of the racks that goes into the tank.
        cold_kwh_th: Cold in the tank at the slot's end, kWh of heat.
        heat_sold_kw_th: Heat sold.
    """

    fill_kw_th: npt.NDArray[np.float64]
    draw_kw_th: npt.NDArray[np.float64]
    cold_kwh_th: npt.NDArray[np.float64]
    heat_sold_kw_th: npt.NDArray[np.float64]

    @property
    def tank_kw(self) -> npt.NDArray[np.float64]:
        """Heat rejected to fill the tank, below 0 heat that goes into it, kW, shape (T,)."""
        return self.fill_kw_th - self.draw_kw_th


def cold_flows(
    week: Week,
    block: Block,
    decided: BlockSchedule,
    least_kw: Floats,
    most_kw: Floats,
    *,
    within_import: bool = False,
) -> ColdFlows:
    """Return the flows that a block's physics takes at every instant of each slot.

    No more is drawn and sold than the racks give when they give least, than tank and heat pumps carry, and than the
    buyer takes; the tank neither overflows nor runs dry; it is not filled where that would pass a limit or where the
    water is not as cold as its own; and heat pumps hold back where they would take the block beyond its capacity.

    Args:
        week: All inputs.
        block: The block.
        decided: The decisions.
        least_kw: Least IT power of each slot, kW, shape (T,).
        most_kw: Largest IT power of each slot, kW, shape (T,).
        within_import: Whether heat pumps hold back, too, where the grid would not let in what they take beside all that
            the decisions make behind the meter.
    """
    store = store_row(block.plant, week.grid.slot_h)
    most_flow_kw = 0.0 if store is None else store.power_kw
    fill, draw = (_clean(kw, most_flow_kw) for kw in (decided.fill_kw_th, decided.draw_kw_th))
    sold = _clean(decided.heat_sold_kw_th, np.inf)
    if block.heat is not None:
        sold = np.minimum(sold, block.heat.demand_kw)
    room_kw = week.capacity_kw(block)
    if within_import:
        room_kw = np.minimum(room_kw, week.import_limit_kw(block) + _own_kw(block, decided))
    return _taken(week, block, (fill, draw, sold), (least_kw, most_kw), most_kw, room_kw)


def kept_flows(week: Week, block: Block, plan: BlockPlan, least_kw: Floats, most_kw: Floats) -> ColdFlows:
    """Return what a calendar's flows become under another IT power than it was made for.

    They stay as they are said, but for what the racks no longer give, for a tank with less room or less cold after
    that, and for filling where more IT power leaves the plant no room for it.

    Args:
        week: All inputs.
        block: The block.
        plan: What the calendar says about it.
        least_kw: Least IT power of each slot, kW, shape (T,).
        most_kw: Largest IT power of each slot, kW, shape (T,).
    """
    fill, draw, sold = (np.array(kw or (0.0,)) for kw in (plan.fill_kw_th, plan.draw_kw_th, plan.heat_sold_kw_th))
    own_kw = np.array(plan.facility_kw) - np.array(plan.import_kw) + ROUNDING
    room_kw = np.minimum(week.capacity_kw(block), week.import_limit_kw(block) + own_kw)
    # what the calendar fills at just this IT power is not dropped for the last bit of a sum
    return _taken(week, block, (fill, draw, sold), (least_kw, most_kw), most_kw * (1.0 - SAME_SHARE), room_kw)


def _own_kw(block: Block, decided: BlockSchedule) -> Floats:
    """Return what a block can take from behind its meter by its decisions, running units at their most, kW."""
    own_kw = decided.solar_used_kw + decided.discharge_kw - decided.charge_kw
    if decided.wind_used_kw is not None:
        own_kw = own_kw + decided.wind_used_kw
    for g, group in zip(decided.generators, block.generators, strict=True):
        own_kw = own_kw + g.units_on * group.unit_kw
    return own_kw


def _taken(
    week: Week,
    block: Block,
    asked: tuple[Floats, Floats, Floats],
    it_kw: tuple[Floats, Floats],
    filled_at_kw: Floats,
    room_kw: Floats,
) -> ColdFlows:
    """Return what is taken of the filling, drawing and sale that are asked for.

    Args:
        week: All inputs.
        block: The block.
        asked: The three, kW of heat, each of shape (T,) or (1,).
        it_kw: Least and largest IT power of each slot, kW, shape (T,) each.
        filled_at_kw: IT power at which the plant must have room for filling, kW, shape (T,).
        room_kw: Facility power up to which heat pumps may take it, kW, shape (T,).
    """
    still, store = np.zeros(week.grid.n_slots), store_row(block.plant, week.grid.slot_h)
    if block.plant.loop is None:
        return ColdFlows(still, still, still, still)
    fill, draw, cold_kwh, sold = still, still, still, still
    given_kw = np.where(week.plant_powered(block), block.plant.liquid_heat_share * it_kw[0], 0.0)
    if store is not None:
        filled = _within_limits(week, block, asked[0], filled_at_kw)
        fill, draw, cold_kwh = _stored(store, filled, np.minimum(asked[1], given_kw))
    if block.heat is not None:
        sold = _sold(week, block, asked[2], given_kw - draw, it_kw)
        sold = _within_room(week, block, sold, fill - draw, it_kw[1], room_kw)
    return ColdFlows(fill, draw, cold_kwh, sold)


def planned_flows(plan: BlockPlan) -> HeatFlows:
    """Return what a calendar says of a block's tank and of heat sold, kW of heat per slot; a silent one says none."""
    fill, draw, sold = (
        np.array(kw) if kw else np.zeros(len(plan.it_kw))
        for kw in (plan.fill_kw_th, plan.draw_kw_th, plan.heat_sold_kw_th)
    )
    return HeatFlows(fill - draw, sold)


def state_at(
    week: Week, block: Block, it_kw: Floats, sold_kw: Floats, tank_kw: Floats, slot: npt.NDArray[np.int64] | None = None
) -> CoolingState:
    """Return a plant's state with flows, at the setpoint that the calendar requests.

    Args:
        week: All inputs.
        block: The block.
        it_kw: IT power, kW, shape (P,).
        sold_kw: Heat sold per slot, kW, shape (T,).
        tank_kw: Heat rejected to fill the tank, below 0 heat that goes into it, per slot, kW, shape (T,).
        slot: Slot of each IT power, shape (P,); one for each slot by default.
    """
    at = slice(None) if slot is None else slot
    dry_c, wet_c = week.signals.dry_bulb_c[at], week.signals.wet_bulb_c[at]
    held_c = None if block.plant.loop is None else requested_c(week, block)[at]
    return cooling(block.plant, it_kw, dry_c, wet_c, supply_c=held_c, heat_sold_kw=sold_kw[at], tank_kw=tank_kw[at])


def usual_sale_kw(week: Week, block: Block) -> Floats | None:
    """Return the heat that a block sells without a plan: all that the buyer takes, or none in the whole horizon.

    It sells where the price of heat is above what the heat pumps' power costs on average in the slots in which heat is
    wanted, carbon counted as the plan counts it.

    Args:
        week: All inputs.
        block: The block.

    Returns:
        kW of heat, shape (T,), before what the racks give; None where nobody buys heat.
    """
    signals = week.signals
    row = None if block.heat is None else heat_row(block.plant, signals.dry_bulb_c, signals.wet_bulb_c)
    if block.heat is None or row is None:
        return None
    carbon = signals.ci_gco2_per_kwh * week.prices.carbon_per_t / 1e6
    cost = (week.rates().total_per_kwh + carbon) * row.power_kw_per_kw
    sold_kw = block.heat.demand_kw
    pays = float((sold_kw * (block.heat.price_per_kwh - cost)).sum()) > 0.0
    return sold_kw if pays else np.zeros_like(sold_kw)


def requested_c(week: Week, block: Block) -> Floats:
    """Return the supply temperature to request per slot, to the last decimal that files carry, deg C, shape (T,)."""
    return np.round(setpoint_c(block.plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c), DECIMALS)


def _clean(kw: Floats | None, most_kw: float) -> Floats:
    decided = np.zeros(()) if kw is None else np.where(kw < LAST, 0.0, kw)
    return np.asarray(np.round(np.minimum(decided, most_kw), DECIMALS))


def _within_limits(week: Week, block: Block, fill: Floats, most_kw: Floats) -> Floats:
    """Return the filling without the slots in which the plant could not carry it or its water would be too warm."""
    loop, still = block.plant.loop, np.zeros(week.grid.n_slots)
    assert loop is not None
    fill = np.broadcast_to(fill, still.shape)
    if not fill.any():
        return still
    carries = w_max_n1_kw if block.reserve.one_out else w_max_kw
    carried_kw = carries(block.plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c, tank_kw=fill)
    supply_c = state_at(week, block, most_kw, still, fill).supply_temp_c
    cold = supply_c <= loop.supply_setpoint_c + WARM_K
    return np.where(week.plant_powered(block) & (most_kw <= carried_kw) & cold, fill, 0.0)


def _stored(store: StoreRow, fill: Floats, draw: Floats) -> tuple[Floats, Floats, Floats]:
    """Return filling cut to the room in the tank, drawing cut to its cold, and the cold at each slot's end."""
    draw = np.broadcast_to(draw, fill.shape)
    net, cold_kwh = np.zeros_like(fill), store.initial_kwh
    for t, wanted in enumerate((fill - draw).tolist()):
        kept = store.kept_share * cold_kwh
        room, there = (store.capacity_kwh - kept) / store.mean_h, kept / store.mean_h
        net[t] = wanted if -there - LAST <= wanted <= room + LAST else min(max(wanted, -there), room)
        net[t] = round(float(net[t]), DECIMALS)
        cold_kwh = kept + store.mean_h * float(net[t])
    fill, draw = np.maximum(net, 0.0), np.maximum(-net, 0.0)
    return fill, draw, np.round(store.states_kwh(fill, draw), DECIMALS)


def _sold(week: Week, block: Block, wanted: Floats, given_kw: Floats, it_kw: tuple[Floats, Floats]) -> Floats:
    """Return heat sold within what the racks give and the heat pumps take, kW."""
    loop, plant = block.plant.loop, block.plant
    assert loop is not None
    held_c, one = requested_c(week, block), np.ones(week.grid.n_slots)
    most_kw = np.minimum(given_kw, loop.heat_pump.capacity_share * plant.rated_it_kw * plant.liquid_heat_share)
    # the most is taken per heat sold where the loop is warmest: at the largest IT power
    taken = [lift(loop, it / plant.rated_it_kw, held_c, ALL, one).taken_kw for it in it_kw]
    return np.minimum(np.broadcast_to(wanted, one.shape), np.maximum(rounded_down(most_kw / np.maximum(*taken)), 0.0))


def _within_room(week: Week, block: Block, sold: Floats, tank_kw: Floats, most_kw: Floats, room_kw: Floats) -> Floats:
    """Return heat sold with which the block stays within its room, kW; 0 where it is beyond it anyway."""

    def fits(kw: Floats) -> npt.NDArray[np.bool_]:
        state = state_at(week, block, most_kw, kw, tank_kw)
        return np.asarray(most_kw + state.cooling_kw + state.heat_pump_kw <= room_kw)

    whole = fits(sold)
    if whole.all():
        return sold
    least, _ = halved(fits, np.zeros_like(sold), sold, HALVINGS)
    return np.where(whole, sold, rounded_down(least))
