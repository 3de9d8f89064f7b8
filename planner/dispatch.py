"""A block's power balance with the exact load: what is imported, and what of solar and battery is really used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.cold_flows import ColdFlows
    from planner.schedule import BlockSchedule
    from power.battery import Battery

_NOISE_KW = 1e-6  # a solver's zero; also the last decimal that files carry


@dataclass(frozen=True)
class BlockFlows:
    """Slot means of one block, shape (T,): IT + cooling + heat pumps + charge = import + solar + discharge.

    Args:
        it_kw: IT power, kW.
        cooling_kw: Cooling power, kW.
        import_kw: Grid import, kW, 0 or more wherever the load allows.
        solar_kw: Solar power used, kW.
        charge_kw: Battery charging, AC kW.
        discharge_kw: Battery discharging, AC kW.
        battery_kwh: Stored energy at the slot's end, kWh.
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
    heat_pump_kw: npt.NDArray[np.float64]
    cold: ColdFlows


def dispatch(
    it_kw: npt.NDArray[np.float64],
    cooling_kw: npt.NDArray[np.float64],
    decided: BlockSchedule,
    offer_kw: npt.NDArray[np.float64],
    battery: Battery | None,
    slot_h: float,
    *,
    cold: ColdFlows,
    heat_pump_kw: npt.NDArray[np.float64],
) -> BlockFlows:
    """Return the flows that serve the exact load with the decisions for solar and battery.

    Solar is used up to what is on offer, then up to the load; a discharge above the load is cut to it, and a charge
    that the store then has no room for is cut to the room.

    Args:
        it_kw: IT power per slot, kW, shape (T,).
        cooling_kw: Exact cooling power per slot, kW, shape (T,).
        decided: The decisions for solar and battery.
        offer_kw: Solar power on offer per slot, kW, shape (T,).
        battery: The block's battery, or None.
        slot_h: Length of a slot, h.
        cold: Flows of tank and heat sold.
        heat_pump_kw: Exact power of the heat pumps per slot, kW, shape (T,).
    """
    it_kw, cooling_kw, heat_pump_kw = np.round(it_kw, 6), np.round(cooling_kw, 6), np.round(heat_pump_kw, 6)
    load_kw = it_kw + cooling_kw + heat_pump_kw
    charge_kw, discharge_kw = _clean(decided.charge_kw), np.minimum(_clean(decided.discharge_kw), load_kw)
    battery_kwh = np.zeros_like(it_kw)
    if battery is not None:
        charge_kw, battery_kwh = _stored(battery, charge_kw, discharge_kw, slot_h)
    solar_kw = np.minimum(_clean(decided.solar_used_kw), np.floor(offer_kw / _NOISE_KW) * _NOISE_KW)
    solar_kw = np.round(np.clip(solar_kw, 0.0, np.maximum(0.0, load_kw + charge_kw - discharge_kw)), 6)
    return BlockFlows(
        it_kw=it_kw,
        cooling_kw=cooling_kw,
        import_kw=np.round(load_kw + charge_kw - solar_kw - discharge_kw, 6),
        solar_kw=solar_kw,
        charge_kw=charge_kw,
        discharge_kw=discharge_kw,
        battery_kwh=battery_kwh,
        heat_pump_kw=heat_pump_kw,
        cold=cold,
    )


def _clean(power_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.round(np.where(np.abs(power_kw) < _NOISE_KW, 0.0, power_kw), 6), dtype=np.float64)


def _stored(
    battery: Battery, charge_kw: npt.NDArray[np.float64], discharge_kw: npt.NDArray[np.float64], slot_h: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    fitted_kw, states_kwh = charge_kw.copy(), np.zeros_like(charge_kw)
    kwh, most_kwh = battery.initial_share * battery.energy_kwh, battery.max_share * battery.energy_kwh
    for t, (into_kw, out_kw) in enumerate(zip(charge_kw.tolist(), discharge_kw.tolist(), strict=True)):
        taken_kwh = out_kw * slot_h / battery.discharge_efficiency
        room_kw = (most_kwh + taken_kwh - kwh) / (battery.charge_efficiency * slot_h)
        fits_kw = into_kw if into_kw <= room_kw + _NOISE_KW else round(max(0.0, room_kw), 6)
        fitted_kw[t] = fits_kw
        kwh += fits_kw * battery.charge_efficiency * slot_h - taken_kwh
        states_kwh[t] = kwh
    return fitted_kw, np.round(states_kwh, 6)
