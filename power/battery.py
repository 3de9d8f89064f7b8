"""Batteries: state of charge, round-trip loss and wear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Battery:
    """A battery behind one block's meter.

    Args:
        energy_kwh: Usable nameplate energy, kWh.
        charge_kw: Largest charging power at the AC side, kW.
        discharge_kw: Largest discharging power at the AC side, kW.
        charge_efficiency: Stored energy over AC energy taken, in (0, 1].
        discharge_efficiency: AC energy given over energy taken from the store, in (0, 1].
        min_share: Lowest state allowed, share of energy_kwh.
        max_share: Highest state allowed, share of energy_kwh.
        initial_share: State at the start of the horizon, share of energy_kwh.
        final_share: Lowest state allowed at the end of the horizon, share of energy_kwh.
        wear_cost_per_kwh: Replacement cost spread over the energy discharged, money per AC kWh discharged.
    """

    energy_kwh: float
    charge_kw: float
    discharge_kw: float
    charge_efficiency: float
    discharge_efficiency: float
    min_share: float
    max_share: float
    initial_share: float
    final_share: float
    wear_cost_per_kwh: float


def states_kwh(
    battery: Battery,
    charge_kw: npt.NDArray[np.float64],
    discharge_kw: npt.NDArray[np.float64],
    slot_h: float,
) -> npt.NDArray[np.float64]:
    """Return the stored energy at the end of each slot.

    Args:
        battery: The battery.
        charge_kw: AC charging power per slot, kW, shape (T,).
        discharge_kw: AC discharging power per slot, kW, shape (T,).
        slot_h: Length of a slot, h.

    Returns:
        Stored energy in kWh at each slot's end, shape (T,).
    """
    flow_kw = charge_kw * battery.charge_efficiency - discharge_kw / battery.discharge_efficiency
    return battery.initial_share * battery.energy_kwh + np.cumsum(flow_kw) * slot_h
