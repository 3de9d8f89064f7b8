"""A battery that must end where its rule says, served with the exact load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS, LAST
from power.battery import states_kwh

if TYPE_CHECKING:
    import numpy.typing as npt

    from power.battery import Battery

    Floats = npt.NDArray[np.float64]


def met_final(
    battery: Battery, charge_kw: Floats, discharge_kw: Floats, needed_kw: Floats, slot_h: float
) -> tuple[Floats, Floats]:
    """Return charging and discharging with which the battery ends no fuller than it may, by the latest slots that can.

    The exact load is a hair below the program's: a discharge cut to it leaves more in store than was planned.

    Args:
        battery: The battery.
        charge_kw: AC charging power per slot, kW, shape (T,).
        discharge_kw: AC discharging power per slot, kW, shape (T,).
        needed_kw: What else feeds load and charging, so that a discharge may take its place, kW, shape (T,).
        slot_h: Length of a slot, h.
    """
    charge, discharge = charge_kw.copy(), discharge_kw.copy()
    states = states_kwh(battery, charge, discharge, slot_h)
    most_kwh, low_kwh = battery.final_kwh[1], battery.min_share * battery.energy_kwh
    kept = battery.kept_share(slot_h)
    for t in range(len(charge) - 1, -1, -1):
        over_kwh = float(states[-1]) - most_kwh
        if over_kwh <= LAST * slot_h:
            break
        age = kept ** np.arange(len(charge) - t)
        # what is taken here may be missing nowhere later
        spare_kwh = min(over_kwh / float(age[-1]), float(((states[t:] - low_kwh) / age).min()))
        if spare_kwh <= 0.0:
            continue
        less_kw = min(charge[t], spare_kwh / battery.charge_efficiency / slot_h)
        charge[t] = round(charge[t] - less_kw, DECIMALS)
        left_kwh = spare_kwh - less_kw * battery.charge_efficiency * slot_h
        if charge[t] == 0.0:
            room_kw = min(battery.discharge_kw - discharge[t], float(needed_kw[t]))
            more_kw = min(max(0.0, room_kw), left_kwh * battery.discharge_efficiency / slot_h)
            discharge[t] = round(discharge[t] + more_kw, DECIMALS)
        states = states_kwh(battery, charge, discharge, slot_h)
    return charge, discharge
