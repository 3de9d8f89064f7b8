"""The site's physics under a calendar: piecewise constant between all window edges and slot edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.cold import cold_replay, plan_flows
from planner.evaluate.finding import Spans
from planner.evaluate.own_supply import own_supply
from planner.evaluate.record import BlockResult
from power.battery import states_kwh
from thermal.failure import inertia, operation
from thermal.plant import cooling, setpoint_c, w_max_kw, w_max_n1_kw
from thermal.transient import Event, time_to_limit_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.evaluate.cold import ColdReplay
    from planner.evaluate.own_supply import Own
    from planner.evaluate.trace import RunTrace
    from planner.week import Block, Signals, Week
    from trainer_hooks.calendar import BlockPlan


@dataclass(frozen=True)
class Pieces:
    """The horizon cut wherever a window, a slot or a pool's count of GPUs changes.

    Args:
        start_s: Start of each piece, seconds from the horizon's start, shape (P,).
        length_s: Its length, shape (P,).
        slot: Its slot, shape (P,).
        first: First piece of each slot, shape (T,).
        slot_s: Length of a slot, s.
    """

    start_s: npt.NDArray[np.float64]
    length_s: npt.NDArray[np.float64]
    slot: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    slot_s: float

    @property
    def spans(self) -> Spans:
        """When each piece holds."""
        return Spans(self.start_s, self.length_s)

    def slot_mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the slot means, shape (T,), of a value per piece, shape (P,)."""
        return np.asarray(np.add.reduceat(values * self.length_s, self.first) / self.slot_s)


def pieces(week: Week, traces: Sequence[RunTrace]) -> Pieces:
    """Return the pieces of the horizon in which nothing changes."""
    grid = week.grid
    slot_s, horizon_s = 60.0 * grid.slot_minutes, 3600.0 * grid.hours
    steps = [(since - grid.start).total_seconds() for pool in week.pools for since, _ in pool.commissioning]
    slot_edges = np.arange(grid.n_slots + 1) * slot_s
    edges = np.unique(np.concatenate([slot_edges, steps, *(t.start_s for t in traces), *(t.end_s for t in traces)]))
    edges = edges[(edges >= 0.0) & (edges <= horizon_s)]
    start_s = edges[:-1]
    return Pieces(
        start_s=start_s,
        length_s=np.diff(edges),
        slot=np.searchsorted(slot_edges, start_s, side="right") - 1,
        first=np.searchsorted(start_s, slot_edges[:-1]),
        slot_s=slot_s,
    )


@dataclass(frozen=True)
class Load:
    """What the windows ask of the site in each piece.

    Args:
        it_kw: Block -> IT power, kW, shape (P,).
        gpus: Pool -> GPUs held, shape (P,).
        gang_kw: Run -> IT power of its gang, kW, shape (P,).
    """

    it_kw: dict[str, npt.NDArray[np.float64]]
    gpus: dict[str, npt.NDArray[np.int64]]
    gang_kw: dict[str, npt.NDArray[np.float64]]


def load(week: Week, traces: Sequence[RunTrace], cut: Pieces) -> Load:
    """Return the IT power of blocks and gangs and the GPUs held in pools.

    A gang in a pool counts in that pool's blocks, by the pool's shares, whatever block its window names; where the pool
    spans others, its GPUs count in these.
    """
    it_kw = {block.name: week.idle_kw(block)[cut.slot] for block in week.blocks}
    gpus = {pool.name: np.zeros(len(cut.slot), dtype=np.int64) for pool in week.pools}
    gang_kw: dict[str, npt.NDArray[np.float64]] = {}
    middle = cut.start_s + cut.length_s / 2
    for run in traces:
        window = np.maximum(np.searchsorted(run.start_s, middle, side="right") - 1, 0)
        inside = (middle >= run.start_s[window]) & (middle < run.end_s[window])
        gang_kw[run.run.name] = np.where(inside, run.gang_kw[window], 0.0)
        for name in sorted({p for p in run.pools if p is not None}):
            pool = week.pool(name)
            here = inside & np.array([p == name for p in run.pools], dtype=np.bool_)[window]
            held = np.where(here, run.gpus[window], 0)
            for size in np.unique(held[held > 0]):
                for part, count in pool.draws(int(size)).items():
                    gpus[part] += np.where(held == size, count, 0)
            drawn_kw, idle_kw = np.where(here, run.gang_kw[window], 0.0), held * pool.gpu.idle_w_per_gpu / 1000.0
            for block, share in pool.shares:
                saved_kw = np.where(week.block(block).idle_powered[cut.slot], idle_kw, 0.0)
                it_kw[block] += share * (drawn_kw - saved_kw)
    return Load(it_kw, gpus, gang_kw)


@dataclass(frozen=True)
class BlockReplay:
    """One block: its slot means, and the pieces in which limits hold at every instant.

    Args:
        result: Slot means and limits.
        it_kw: IT power, kW, shape (P,).
        facility_kw: Power of IT, cooling and heat pumps, kW, shape (P,).
        import_kw: Grid import if solar and battery are steady within the slot, kW, shape (P,).
        offer_kw: Solar power on offer, kW, shape (T,).
        wind_offer_kw: Wind power on offer, kW, shape (T,).
        own: What the calendar decides about its own supply.
        cold: What tank and heat pumps did, or None where the block has neither.
        ride_through_s: Time from the loss of heat rejection until chip cases reach their limit, s, shape (P,), or None
            where the site asks for none.
    """

    result: BlockResult
    it_kw: npt.NDArray[np.float64]
    facility_kw: npt.NDArray[np.float64]
    import_kw: npt.NDArray[np.float64]
    offer_kw: npt.NDArray[np.float64]
    wind_offer_kw: npt.NDArray[np.float64]
    own: Own
    ride_through_s: npt.NDArray[np.float64] | None
    cold: ColdReplay | None


def replay_block(
    week: Week,
    block: Block,
    plan: BlockPlan,
    it_kw: npt.NDArray[np.float64],
    cut: Pieces,
    actual: Signals | None,
) -> BlockReplay:
    """Return a block's power under the calendar's decisions for solar and battery.

    By the plan's own signals, solar and wind are used and power is exported as the calendar says. By actual signals,
    battery and generators keep to the calendar; solar, then wind, is used up to what then is on offer and what load
    and export take; where the calendar curtails, no more is used than it says, and nowhere is more exported. The plant
    holds the supply temperature that the calendar requests, or its own where none is; where it cannot, the supply
    warms.

    Args:
        week: All inputs.
        block: The block.
        plan: What the calendar says about it.
        it_kw: IT power per piece, kW, shape (P,).
        cut: The pieces.
        actual: Grid and weather as they were, or None for the week's own signals.
    """
    seen = actual or week.signals
    dry_c, wet_c = seen.dry_bulb_c, seen.wet_bulb_c
    powered = week.plant_powered(block)
    held_c = None
    if block.plant.loop is not None:
        own_c = setpoint_c(block.plant, dry_c, wet_c)
        asked_c = np.array([np.nan if asked is None else asked for asked in plan.supply_setpoint_c])
        held_c = np.where(np.isnan(asked_c), own_c, asked_c)[cut.slot]
    flows = plan_flows(block, plan, week.grid.n_slots)
    state = cooling(
        block.plant,
        it_kw,
        dry_c[cut.slot],
        wet_c[cut.slot],
        supply_c=held_c,
        heat_sold_kw=flows.sold_kw[cut.slot],
        tank_kw=flows.tank_kw[cut.slot],
    )
    pump_kw = np.where(powered[cut.slot], state.heat_pump_kw, 0.0)
    cooling_kw = np.where(powered[cut.slot], state.cooling_kw, 0.0)
    water_l_per_h = np.where(powered[cut.slot], state.water_l_per_h, 0.0)
    facility_kw = it_kw + cooling_kw + pump_kw
    charge_kw, discharge_kw = np.array(plan.charge_kw), np.array(plan.discharge_kw)
    solar_kw, offer_kw = np.array(plan.solar_kw), week.solar_kw(block, seen)
    own, wind_offer_kw = own_supply(week, block, plan), week.wind_kw(block, seen)
    mean_kw, wind_kw, export_kw = cut.slot_mean(facility_kw), own.wind_kw, own.export_kw
    if actual is not None:
        open_kw = mean_kw + charge_kw - discharge_kw - own.generation_kw + export_kw
        solar_kw = np.clip(open_kw, 0.0, _most_kw(solar_kw, week.solar_kw(block), offer_kw))
        wind_kw = np.clip(open_kw - solar_kw, 0.0, _most_kw(wind_kw, week.wind_kw(block), wind_offer_kw))
        # what is missing is taken off the export before it is imported
        export_kw = np.clip(export_kw - (open_kw - solar_kw - wind_kw), 0.0, export_kw)
    supply_kw = charge_kw + export_kw - discharge_kw - solar_kw - wind_kw - own.generation_kw
    stored_kwh = np.zeros(week.grid.n_slots)
    if block.battery is not None:
        stored_kwh = states_kwh(block.battery, charge_kw, discharge_kw, week.grid.slot_h)
    result = BlockResult(
        block=block.name,
        it_kw=cut.slot_mean(it_kw),
        cooling_kw=cut.slot_mean(cooling_kw),
        facility_kw=mean_kw,
        import_kw=mean_kw + supply_kw,
        solar_kw=solar_kw,
        curtailed_kw=np.maximum(0.0, offer_kw - solar_kw) + np.maximum(0.0, wind_offer_kw - wind_kw),
        charge_kw=charge_kw,
        discharge_kw=discharge_kw,
        battery_kwh=stored_kwh,
        capacity_kw=week.capacity_kw(block),
        w_max_kw=np.where(
            powered,
            (w_max_n1_kw if block.reserve.one_out else w_max_kw)(block.plant, dry_c, wet_c, tank_kw=flows.tank_kw),
            0.0,
        ),
        water_l=cut.slot_mean(water_l_per_h) * week.grid.slot_h,
        wind_kw=wind_kw,
        generation_kw=own.generation_kw,
        generation_kg=own.generation_kg,
        export_kw=export_kw,
        fill_kw_th=flows.fill_kw,
        draw_kw_th=flows.draw_kw,
        cold_kwh_th=flows.cold_kwh(block.plant, week.grid.slot_h),
        heat_sold_kw_th=cut.slot_mean(np.where(powered[cut.slot], state.heat_sold_kw, 0.0)),
        heat_pump_kw=cut.slot_mean(pump_kw),
    )
    ride_s = None
    if block.reserve.restart_s is not None:
        ride_s = _ride_through_s(block, it_kw, dry_c[cut.slot], wet_c[cut.slot], held_c)
        ride_s[~powered[cut.slot]] = np.inf
    cold = cold_replay(block, flows, state, it_kw, held_c, cut.slot) if block.has_tank or block.heat else None
    return BlockReplay(
        result, it_kw, facility_kw, facility_kw + supply_kw[cut.slot], offer_kw, wind_offer_kw, own, ride_s, cold
    )


def _most_kw(
    told_kw: npt.NDArray[np.float64], planned_kw: npt.NDArray[np.float64], offer_kw: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the most of a source that may be used by actual signals: no more than told where the calendar curtails.

    Args:
        told_kw: What the calendar uses, kW, shape (T,).
        planned_kw: What was on offer by the plan's signals, kW, shape (T,).
        offer_kw: What is on offer by the actual ones, kW, shape (T,).
    """
    curtails = told_kw < planned_kw * (1.0 - 1e-6) - 1e-6
    return np.where(curtails, np.minimum(told_kw, offer_kw), offer_kw)


def _ride_through_s(
    block: Block,
    it_kw: npt.NDArray[np.float64],
    dry_c: npt.NDArray[np.float64],
    wet_c: npt.NDArray[np.float64],
    held_c: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.float64]:
    plant = block.plant
    assert plant.loop is not None
    before = operation(plant, it_kw, dry_c, wet_c, held_c)
    return time_to_limit_s(Event.REJECTION_LOSS, inertia(plant), before, plant.loop.cold_plate.case_limit_c)
