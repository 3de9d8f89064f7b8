"""What stands behind a block's meter without a plan: it serves the load as it comes.

Solar, then wind, feed the load; what they give beyond it is exported where that earns something, and else curtailed.
Generators run only as needed: where load less solar and wind is above what the block may import, group by group in
their order (`power.generation.as_needed`). Battery and tank rest; heat is sold as usual (`planner.cold_flows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.cold_flows import cold_flows, state_at, usual_sale_kw
from planner.placing import resting_charge_kw
from planner.schedule import BlockSchedule, GeneratorSchedule
from planner.slots import block_it_kw, run_slots, slot_parts
from power.export import export_price_per_kwh
from power.generation import as_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.schedule import RunSchedule
    from planner.week import Block, Week


def resting_supply(week: Week, runs: Sequence[RunSchedule]) -> tuple[BlockSchedule, ...]:
    """Return the decisions for every block that serve the load of the runs without a plan.

    Args:
        week: All inputs.
        runs: Decisions for every run.
    """
    asks = any(block.generators or block.export is not None for block in week.blocks)
    slots = [run_slots(week, decided) for decided in runs] if asks else []
    parts = slot_parts(week.grid.n_slots, slots)
    still = np.zeros(week.grid.n_slots)
    found = []
    for block in week.blocks:
        here = week.here(block)
        charge_kw, solar_kw, wind_kw = resting_charge_kw(here, block), here.solar_kw(block), here.wind_kw(block)
        sold_kw = usual_sale_kw(here, block)
        export_kw: npt.NDArray[np.float64] | None = None
        generators: tuple[GeneratorSchedule, ...] = ()
        if block.generators or block.export is not None:
            load_kw = _load_kw(here, block, block_it_kw(week, block, slots, parts), parts.slot, sold_kw)
            asked_kw = np.maximum(parts.mean(load_kw) + charge_kw, 0.0)
            spare_kw = solar_kw + wind_kw - asked_kw
            generators = _generators(week, block, np.maximum(-spare_kw, 0.0))
            export_kw = _export_kw(here, block, spare_kw)
        found.append(
            BlockSchedule(
                block.name,
                solar_kw,
                charge_kw,
                still,
                wind_used_kw=None if block.wind is None else wind_kw,
                export_kw=export_kw,
                generators=generators,
                heat_sold_kw_th=sold_kw,
            )
        )
    return tuple(found)


def _load_kw(
    week: Week,
    block: Block,
    it_kw: npt.NDArray[np.float64],
    slot: npt.NDArray[np.int64],
    sold_kw: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.float64]:
    still, first = np.zeros(week.grid.n_slots), np.searchsorted(slot, np.arange(week.grid.n_slots))
    wanted = BlockSchedule(block.name, still, still, still, heat_sold_kw_th=sold_kw)
    flows = cold_flows(week, block, wanted, np.minimum.reduceat(it_kw, first), np.maximum.reduceat(it_kw, first))
    state = state_at(week, block, it_kw, flows.heat_sold_kw_th, flows.tank_kw, slot)
    return it_kw + np.where(week.plant_powered(block)[slot], state.cooling_kw + state.heat_pump_kw, 0.0)


def _generators(week: Week, block: Block, asked_kw: npt.NDArray[np.float64]) -> tuple[GeneratorSchedule, ...]:
    needed_kw, found = np.maximum(asked_kw - week.import_limit_kw(block), 0.0), []
    for group in block.generators:
        available = group.units_available(week.grid.starts, week.grid.slot)
        units, power_kw = as_needed(group, needed_kw, available, week.grid.slot_h)
        needed_kw = np.maximum(needed_kw - power_kw, 0.0)
        found.append(GeneratorSchedule(group.name, units, power_kw))
    return tuple(found)


def _export_kw(week: Week, block: Block, spare_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    if block.export is None:
        return None
    earns = export_price_per_kwh(block.export, week.signals.price_per_kwh) > 0.0
    most_kw = np.minimum(block.export.limit_kw, week.capacity_kw(block))
    return np.where(earns, np.clip(spare_kw, 0.0, most_kw), 0.0)
