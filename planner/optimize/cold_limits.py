"""What a block's tank and heat pumps may do in each slot, and how the program counts their cooling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.curves import SEGMENTS, fit_curves
from planner.optimize.limits import POWER_MARGIN, most_it_kw
from thermal.envelope import fit_envelope, fit_own
from thermal.offsets import Flows, fit_offsets
from thermal.plant import setpoint_c, w_max_kw, w_max_n1_kw
from thermal.reserve import ride_through_kw
from thermal.reuse import lift
from thermal.rows import heat_row, store_row
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.week import Week
    from thermal.offsets import Offsets
    from thermal.plant import CoolingPlant
    from thermal.rows import HeatRow, StoreRow


@dataclass(frozen=True)
class ColdLimits:
    """A block's tank and heat pumps per slot; each array of shape (T,) but the segments.

    The block's `curves` are then those of its heat rejection, over the IT power that rejects alike.

    Args:
        store: The tank's row, or None.
        heat: The heat pumps' row, or None.
        offsets: What their flows do to cooling.
        own_slope: Power of the loops' pumps and of the room, kW per kW of IT power, shape (T, S).
        own_intercept_kw: kW, shape (T, S).
        fill_kw: Heat into the rejection for the tank at most, kW; 0 where its water would not be cold enough.
        draw_kw: Heat into the tank at most, kW.
        sold_kw: Heat sold at most, kW: what the heat pumps give and the buyer takes.
        pump_most_kw_per_kw: Power of the heat pumps at most, whatever the IT power, kW per kW of heat sold.
        like_kw: Largest IT power that rejects alike, kW.
        carried_kw: IT power, with what the tank adds or spares, that the plant carries, kW.
        sure_kw: IT power that the block may take with neither, kW.
        relief_kw: Cooling power that both may spare at most, kW.
    """

    store: StoreRow | None
    heat: HeatRow | None
    offsets: Offsets
    own_slope: npt.NDArray[np.float64]
    own_intercept_kw: npt.NDArray[np.float64]
    fill_kw: npt.NDArray[np.float64]
    draw_kw: npt.NDArray[np.float64]
    sold_kw: npt.NDArray[np.float64]
    pump_most_kw_per_kw: npt.NDArray[np.float64]
    like_kw: npt.NDArray[np.float64]
    carried_kw: npt.NDArray[np.float64]
    sure_kw: npt.NDArray[np.float64]
    relief_kw: npt.NDArray[np.float64]


def with_cold(week: Week, limits: BlockLimits) -> BlockLimits:
    """Return a block's limits with its tank and heat pumps; unchanged where it has neither."""
    block = limits.block
    plant, signals = block.plant, week.signals
    store = store_row(plant, week.grid.slot_h)
    heat = None if block.heat is None else heat_row(plant, signals.dry_bulb_c, signals.wet_bulb_c)
    if store is None and heat is None:
        return limits
    dry_c, wet_c, idle_kw = signals.dry_bulb_c, signals.wet_bulb_c, limits.idle_kw
    powered = week.plant_powered(block)
    most_kw = np.minimum(most_it_kw(week, block), plant.rated_it_kw)
    tank_kw = 0.0 if store is None else store.power_kw
    sold_kw = np.zeros(week.grid.n_slots)
    if heat is not None and block.heat is not None:
        sold_kw = np.where(powered, np.minimum(heat.sold_max_kw, block.heat.demand_kw), 0.0)
    ends = (idle_kw, most_kw)
    taken_kw = 0.0 if heat is None else float((sold_kw * heat.taken_kw_per_kw).max())
    one_out = block.reserve.one_out
    offsets = fit_offsets(plant, dry_c, wet_c, ends, Flows(tank_kw, taken_kw), one_out=one_out)
    carried_kw = np.where(powered, (w_max_n1_kw if one_out else w_max_kw)(plant, dry_c, wet_c), 0.0)
    it_max_kw = limits.it_max_kw
    if store is not None:
        it_max_kw = np.where(powered, np.minimum(offsets.racks_kw, limits.capacity_kw), 0.0) * (1.0 - POWER_MARGIN)
        if block.reserve.restart_s is not None:
            rides_kw = ride_through_kw(plant, block.reserve.restart_s, dry_c, wet_c)
            it_max_kw = np.minimum(it_max_kw, rides_kw * (1.0 - POWER_MARGIN))
        it_max_kw = np.maximum(it_max_kw, limits.it_max_kw)
    fills = powered & (offsets.hold_kw >= np.minimum(most_kw, it_max_kw))
    fill_kw = np.where(fills, tank_kw, 0.0)
    like_kw = np.minimum(carried_kw, np.minimum(most_kw, it_max_kw) + offsets.fill_it_kw_per_kw * fill_kw)
    asked = (np.zeros_like(like_kw), like_kw)
    rejection = fit_envelope(plant, dry_c, wet_c, SEGMENTS, asked, rejection_only=True)
    rejection = replace(
        rejection,
        intercept_kw=np.where(powered[:, None], rejection.intercept_kw, 0.0),
        convex=rejection.convex | ~powered,
    )
    curves = fit_curves(plant, rejection, dry_c, wet_c, asked, rejection_only=True).between(*asked)
    own = fit_own(plant, dry_c, SEGMENTS, (idle_kw, np.maximum(most_kw, idle_kw)))
    cold = ColdLimits(
        store=store,
        heat=heat,
        offsets=offsets,
        own_slope=np.where(powered[:, None], own.slope, 0.0),
        own_intercept_kw=np.where(powered[:, None], own.intercept, 0.0),
        fill_kw=fill_kw,
        draw_kw=np.where(powered, tank_kw, 0.0),
        sold_kw=sold_kw,
        pump_most_kw_per_kw=np.zeros_like(sold_kw) if heat is None else _pump_most(plant, ends, dry_c, wet_c),
        like_kw=like_kw,
        carried_kw=carried_kw,
        sure_kw=limits.it_max_kw,
        relief_kw=_highest_kw(curves.cooling_kw(like_kw), curves.cooling_kw(curves.split_kw.clip(0.0, like_kw)))
        + limits.curves.fit_error_kw,
    )
    told = replace(curves, fit_error_kw=curves.fit_error_kw + own.error)
    return replace(limits, it_max_kw=it_max_kw, curves=told, cold=cold)


def _pump_most(
    plant: CoolingPlant,
    it_kw: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    dry_c: npt.NDArray[np.float64],
    wet_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the power of the heat pumps per heat sold where the loop is coldest: at one end of the IT power."""
    assert plant.loop is not None
    held_c, one = setpoint_c(plant, dry_c, wet_c), np.ones_like(dry_c)
    powers = [lift(plant.loop, it / plant.rated_it_kw, held_c, ALL, one).power_kw for it in it_kw]
    return np.asarray(np.maximum(*powers))


def _highest_kw(*powers_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.maximum(np.maximum.reduce(powers_kw), 0.0))
