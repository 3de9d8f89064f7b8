"""Tank and heat reuse as a linear program needs them: constants of rows, per slot where the weather counts.

Cold in the tank moves heat rejection in time, not the racks: what filling, drawing and heat taken for reuse do to the
cooling power and to its limits stands in `thermal.offsets`; the racks' own limit stays on the IT power alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.components import heat_pump, store
from thermal.plant import setpoint_c
from thermal.reuse import source_c
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.plant import CoolingPlant

SOURCE_LOAD = 0.8  # IT power over rated at which the return's temperature is taken


@dataclass(frozen=True)
class StoreRow:
    """The tank of one block over slots of one length: cold' = kept_share cold + mean_h (filled - drawn).

    Args:
        capacity_kwh: Heat that the full tank takes up, kWh of heat; cold lies between 0 and this.
        power_kw: Filling and drawing at most, kW of heat.
        kept_share: Share of the cold that a slot leaves.
        mean_h: Hours that filling and drawing count for in a slot: a little less than its length, for the loss.
        initial_kwh: Cold at the start, kWh.
        final_share: Cold at the end, at least, over the capacity; less where a tank at rest would hold less.
    """

    capacity_kwh: float
    power_kw: float
    kept_share: float
    mean_h: float
    initial_kwh: float
    final_share: float

    def final_kwh(self, n_slots: int) -> float:
        """Return the cold to be left after some slots, kWh: a tank at rest always keeps it."""
        return min(self.final_share * self.capacity_kwh, self.initial_kwh * self.kept_share**n_slots)

    def states_kwh(
        self, filled_kw: npt.NDArray[np.float64], drawn_kw: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the cold at each slot's end, kWh, shape (T,), for steady flows in each slot, kW, shape (T,)."""
        cold_kwh, states = self.initial_kwh, np.zeros(len(filled_kw))
        for t, net_kw in enumerate((filled_kw - drawn_kw).tolist()):
            cold_kwh = self.kept_share * cold_kwh + self.mean_h * net_kw
            states[t] = cold_kwh
        return states


@dataclass(frozen=True)
class HeatRow:
    """Heat sold from one block, shape (T,) where a field is an array: sold <= capacity, taken <= what the racks give.

    Args:
        sold_max_kw: Heat sold at most, kW, shape (T,).
        power_kw_per_kw: Electrical power per heat sold, shape (T,).
        taken_kw_per_kw: Heat taken from the loop per heat sold, shape (T,); it may not exceed liquid_heat_share times
            the IT power.
        liquid_heat_share: Share of IT heat that leaves by liquid.
    """

    sold_max_kw: npt.NDArray[np.float64]
    power_kw_per_kw: npt.NDArray[np.float64]
    taken_kw_per_kw: npt.NDArray[np.float64]
    liquid_heat_share: float


def store_row(plant: CoolingPlant, slot_h: float) -> StoreRow | None:
    """Return the tank's row for slots of `slot_h` hours, or None where there is no tank."""
    loop = plant.loop
    if loop is None or loop.store.volume_m3 == 0.0:
        return None
    facility_c = loop.supply_setpoint_c - loop.cdu.approach_k
    capacity_kwh = store.capacity_kwh_th(loop.store, loop.facility_coolant, facility_c)
    return StoreRow(
        capacity_kwh=capacity_kwh,
        power_kw=loop.store.power_share * plant.rated_it_kw * loop.liquid_heat_share,
        kept_share=store.kept_share(loop.store, slot_h),
        mean_h=store.cold_after_kwh_th(loop.store, 0.0, 1.0, 0.0, slot_h),
        initial_kwh=loop.store.initial_share * capacity_kwh,
        final_share=loop.store.final_share,
    )


def heat_row(plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike) -> HeatRow | None:
    """Return the heat pumps' row, or None where there are none.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb per slot, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb per slot, deg C, shape (T,).
    """
    loop = plant.loop
    if loop is None or loop.heat_pump.capacity_share == 0.0:
        return None
    held_c = setpoint_c(plant, dry_bulb_c, wet_bulb_c)
    cop = heat_pump.cop(loop.heat_pump, source_c(loop, np.array(SOURCE_LOAD), held_c, ALL))
    taken = heat_pump.taken_per_sold(cop)
    most_kw = loop.heat_pump.capacity_share * plant.rated_it_kw * loop.liquid_heat_share
    return HeatRow(
        sold_max_kw=most_kw / taken,
        power_kw_per_kw=1.0 / cop,
        taken_kw_per_kw=taken,
        liquid_heat_share=loop.liquid_heat_share,
    )
