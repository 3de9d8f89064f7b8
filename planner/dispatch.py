"""A block's power balance with the exact load: what is imported, and what of each source is really used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS, LAST, rounded_down, without_noise
from planner.final_state import met_final
from power.battery import EQUAL, states_kwh

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.cold_flows import ColdFlows
    from planner.schedule import BlockSchedule
    from planner.week import Block
    from power.battery import Battery


@dataclass(frozen=True)
class BlockFlows:
    """Slot means of one block, shape (T,).

    IT + cooling + heat pumps + charge + export = import + solar + wind + generators + discharge.

    Args:
        it_kw: IT power, kW.
        cooling_kw: Cooling power, kW.
        import_kw: Grid import, kW, 0 or more wherever the load allows.
        solar_kw: Solar power used, kW.
        charge_kw: Battery charging, AC kW.
        discharge_kw: Battery discharging, AC kW.
        battery_kwh: Stored energy at the slot's end, kWh.
        wind_kw: Wind power used, kW.
        export_kw: Export, kW; never in a slot with import.
        groups_kw: Power of each group of generators, kW.
        groups_on: Units that run of each group.
        heat_pump_kw: Power of the heat pumps, kW.
        cold: Flows of tank and heat sold.
    """

    it_kw: npt.NDArray[np.float64]
    cooling_kw: npt.NDArray[np.float64]
    import_kw: npt.NDArray[np.float64]
    solar_kw: npt.NDArray[np.float64]
    charge_kw: npt.NDArray[np.float64]
    discharge_kw: npt.NDArray[np.float64]
    battery_kwh: npt.NDArray[np.float64]
    wind_kw: npt.NDArray[np.float64]
    export_kw: npt.NDArray[np.float64]
    groups_kw: tuple[npt.NDArray[np.float64], ...]
    groups_on: tuple[npt.NDArray[np.int64], ...]
    heat_pump_kw: npt.NDArray[np.float64]
    cold: ColdFlows


@dataclass(frozen=True)
class Offers:
    """What sun and wind could give per slot, kW, shape (T,)."""

    solar_kw: npt.NDArray[np.float64]
    wind_kw: npt.NDArray[np.float64]


def dispatch(
    it_kw: npt.NDArray[np.float64],
    cooling_kw: npt.NDArray[np.float64],
    decided: BlockSchedule,
    offers: Offers,
    block: Block,
    slot_h: float,
    *,
    most_import_kw: npt.NDArray[np.float64],
    cold: ColdFlows,
    heat_pump_kw: npt.NDArray[np.float64],
) -> BlockFlows:
    """Return the flows that serve the exact load with the decisions for what stands behind the meter.

    A discharge above load and export, less what running units must give, is cut to that, and a charge that the store
    then has no room for is cut to the room. Where solar, wind and generators then give more than is taken, generators
    give less, down to the lowest power of the units that run, then wind, then solar; what units must give beyond that
    is exported as far as the block may. Where the exact load would import more than the grid lets in, less is exported,
    and units that run then give more, up to what they can.

    Args:
        it_kw: IT power per slot, kW, shape (T,).
        cooling_kw: Exact cooling power per slot, kW, shape (T,).
        decided: The decisions.
        offers: What sun and wind could give.
        block: The block.
        slot_h: Length of a slot, h.
        most_import_kw: What the grid lets in per slot, kW, shape (T,).
        cold: Flows of tank and heat sold.
        heat_pump_kw: Exact power of the heat pumps per slot, kW, shape (T,).
    """
    it_kw, cooling_kw, heat_pump_kw = (
        np.round(it_kw, DECIMALS),
        np.round(cooling_kw, DECIMALS),
        np.round(heat_pump_kw, DECIMALS),
    )
    load_kw, battery = it_kw + cooling_kw + heat_pump_kw, block.battery
    export_kw = np.zeros_like(it_kw) if decided.export_kw is None else without_noise(decided.export_kw)
    charge_kw = without_noise(decided.charge_kw)
    must_kw = np.zeros_like(it_kw)
    for g, group in zip(decided.generators, block.generators, strict=True):
        must_kw += g.units_on * group.min_kw
    discharge_kw = np.minimum(without_noise(decided.discharge_kw), np.maximum(load_kw + export_kw - must_kw, 0.0))
    solar_kw = np.minimum(without_noise(decided.solar_used_kw), rounded_down(offers.solar_kw))
    wind_kw = np.zeros_like(it_kw)
    if decided.wind_used_kw is not None:
        wind_kw = np.minimum(without_noise(decided.wind_used_kw), rounded_down(offers.wind_kw))
    battery_kwh = np.zeros_like(it_kw)
    if battery is not None:
        charge_kw, battery_kwh = _stored(battery, charge_kw, discharge_kw, slot_h)
        if battery.final_rule == EQUAL:
            others_kw = load_kw + charge_kw + export_kw - discharge_kw
            charge_kw, discharge_kw = met_final(battery, charge_kw, discharge_kw, others_kw, slot_h)
            battery_kwh = np.round(states_kwh(battery, charge_kw, discharge_kw, slot_h), DECIMALS)
    groups_kw = [
        without_noise(np.clip(g.power_kw, g.units_on * group.min_kw, g.units_on * group.unit_kw))
        for g, group in zip(decided.generators, block.generators, strict=True)
    ]
    taken_kw = load_kw + charge_kw + export_kw - discharge_kw
    spare_kw = np.round(solar_kw + wind_kw + sum(groups_kw, np.zeros_like(it_kw)) - taken_kw, DECIMALS)
    for i, (g, group) in enumerate(zip(decided.generators, block.generators, strict=True)):
        less_kw = np.clip(spare_kw, 0.0, np.maximum(groups_kw[i] - g.units_on * group.min_kw, 0.0))
        groups_kw[i], spare_kw = np.round(groups_kw[i] - less_kw, DECIMALS), spare_kw - less_kw
    wind_kw, spare_kw = _less(wind_kw, spare_kw)
    solar_kw, spare_kw = _less(solar_kw, spare_kw)
    if block.export is not None:
        most_kw = block.export.limit_kw
        export_kw = np.asarray(
            np.round(np.minimum(export_kw + np.maximum(spare_kw, 0.0), most_kw), DECIMALS), dtype=np.float64
        )
    made_kw = solar_kw + wind_kw + sum(groups_kw, np.zeros_like(it_kw))
    short_kw = np.round(load_kw + charge_kw + export_kw - discharge_kw - made_kw - most_import_kw, DECIMALS)
    export_kw, short_kw = _less(export_kw, np.maximum(short_kw, 0.0))
    for i, (g, group) in enumerate(zip(decided.generators, block.generators, strict=True)):
        more_kw = np.clip(short_kw, 0.0, np.maximum(g.units_on * group.unit_kw - groups_kw[i], 0.0))
        groups_kw[i], short_kw = np.round(groups_kw[i] + more_kw, DECIMALS), short_kw - more_kw
    made_kw = solar_kw + wind_kw + sum(groups_kw, np.zeros_like(it_kw))
    import_kw = np.round(load_kw + charge_kw + export_kw - discharge_kw - made_kw, DECIMALS)
    both_kw = np.clip(np.minimum(import_kw, export_kw), 0.0, None)
    return BlockFlows(
        it_kw=it_kw,
        cooling_kw=cooling_kw,
        import_kw=np.round(import_kw - both_kw, DECIMALS),
        solar_kw=solar_kw,
        charge_kw=charge_kw,
        discharge_kw=discharge_kw,
        battery_kwh=battery_kwh,
        wind_kw=wind_kw,
        export_kw=np.round(export_kw - both_kw, DECIMALS),
        groups_kw=tuple(groups_kw),
        groups_on=tuple(g.units_on for g in decided.generators),
        heat_pump_kw=heat_pump_kw,
        cold=cold,
    )


def _less(
    power_kw: npt.NDArray[np.float64], spare_kw: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return a source without what is spare, and what is spare still."""
    less_kw = np.clip(spare_kw, 0.0, power_kw)
    return np.round(power_kw - less_kw, DECIMALS), spare_kw - less_kw


def _stored(
    battery: Battery, charge_kw: npt.NDArray[np.float64], discharge_kw: npt.NDArray[np.float64], slot_h: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    fitted_kw, ends_kwh = charge_kw.copy(), np.zeros_like(charge_kw)
    kwh, most_kwh = battery.initial_share * battery.energy_kwh, battery.max_share * battery.energy_kwh
    kept = battery.kept_share(slot_h)
    for t, (into_kw, out_kw) in enumerate(zip(charge_kw.tolist(), discharge_kw.tolist(), strict=True)):
        kwh *= kept
        taken_kwh = out_kw * slot_h / battery.discharge_efficiency
        room_kw = (most_kwh + taken_kwh - kwh) / (battery.charge_efficiency * slot_h)
        fits_kw = into_kw if into_kw <= room_kw + LAST else round(max(0.0, room_kw), DECIMALS)
        fitted_kw[t] = fits_kw
        kwh += fits_kw * battery.charge_efficiency * slot_h - taken_kwh
        ends_kwh[t] = kwh
    return fitted_kw, np.round(ends_kwh, DECIMALS)
