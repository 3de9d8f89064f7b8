"""Tank and heat reuse as a linear program needs them: constants of rows, per slot where the weather counts.

Cold in the tank moves heat rejection in time, not the racks: a block whose tank is filled with f kW of cold and gives
d kW rejects like one of IT power it + (f - d) / liquid_heat_share, so the segments of its envelope take that power, and
so does W_max; the racks' own limit stays on it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.components import heat_pump, store
from thermal.plant import cooling

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
        it_kw_per_kw: IT power that adds as much heat to be rejected as a kW of filling, kW per kW.
    """

    capacity_kwh: float
    power_kw: float
    kept_share: float
    mean_h: float
    it_kw_per_kw: float


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
    return StoreRow(
        capacity_kwh=store.capacity_kwh_th(loop.store, loop.facility_coolant, facility_c),
        power_kw=loop.store.power_share * plant.rated_it_kw * loop.liquid_heat_share,
        kept_share=store.kept_share(loop.store, slot_h),
        mean_h=store.cold_after_kwh_th(loop.store, 0.0, 1.0, 0.0, slot_h),
        it_kw_per_kw=1.0 / loop.liquid_heat_share,
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
    source_c = cooling(plant, SOURCE_LOAD * plant.rated_it_kw, dry_bulb_c, wet_bulb_c).return_temp_c
    cop = heat_pump.cop(loop.heat_pump, source_c)
    taken = heat_pump.taken_per_sold(cop)
    most_kw = loop.heat_pump.capacity_share * plant.rated_it_kw * loop.liquid_heat_share
    return HeatRow(
        sold_max_kw=most_kw / taken,
        power_kw_per_kw=1.0 / cop,
        taken_kw_per_kw=taken,
        liquid_heat_share=loop.liquid_heat_share,
    )
