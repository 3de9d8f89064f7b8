"""Batteries: state of charge, losses, wear, what must stay in store, and how the horizon ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from power.later import LATER

if TYPE_CHECKING:
    import numpy.typing as npt

AT_LEAST, EQUAL, FREE = ("at_least", "equal", "free")


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
        final_share: State at the end of the horizon by `final_rule`, share of energy_kwh.
        wear_cost_per_kwh: Replacement cost spread over the energy discharged, money per AC kWh discharged.
        self_discharge_share: Share of the stored energy that is lost in a day without any flow, in [0, 1).
        final_rule: "at_least" or "equal" final_share, or "free": then what is left is worth `final_worth_per_kwh`.
        final_worth_per_kwh: Worth of a kWh in store at the end of the horizon where the end is free, money per kWh.
        grid_charging: Whether it may be charged from the grid, or from sources behind the meter only.
        reserve_min: Minutes for which what is stored above min_share must carry the block's load at any time, min.
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
    self_discharge_share: float = field(default=0.0, metadata=LATER)
    final_rule: str = field(default=AT_LEAST, metadata=LATER)
    final_worth_per_kwh: float = field(default=0.0, metadata=LATER)
    grid_charging: bool = field(default=True, metadata=LATER)
    reserve_min: float = field(default=0.0, metadata=LATER)

    @property
    def final_kwh(self) -> tuple[float, float]:
        """Lowest and highest stored energy allowed at the end of the horizon, kWh."""
        low, high, final = (share * self.energy_kwh for share in (self.min_share, self.max_share, self.final_share))
        if self.final_rule == FREE:
            return low, high
        return max(low, final), (final if self.final_rule == EQUAL else high)

    @property
    def reserve_h(self) -> float:
        """Stored energy above min_share that must stay for each kW of load, h."""
        return self.reserve_min / 60.0 / self.discharge_efficiency

    def kept_share(self, slot_h: float) -> float:
        """Return the share of the stored energy that a slot of `slot_h` hours without flow leaves."""
        return float((1.0 - self.self_discharge_share) ** (slot_h / 24.0))


def states_kwh(
    battery: Battery,
    charge_kw: npt.NDArray[np.float64],
    discharge_kw: npt.NDArray[np.float64],
    slot_h: float,
) -> npt.NDArray[np.float64]:
    """Return the stored energy at the end of each slot; what flows in a slot loses nothing by itself before its end.

    Args:
        battery: The battery.
        charge_kw: AC charging power per slot, kW, shape (T,).
        discharge_kw: AC discharging power per slot, kW, shape (T,).
        slot_h: Length of a slot, h.

    Returns:
        Stored energy in kWh at each slot's end, shape (T,).
    """
    flow_kw = charge_kw * battery.charge_efficiency - discharge_kw / battery.discharge_efficiency
    start_kwh, kept = battery.initial_share * battery.energy_kwh, battery.kept_share(slot_h)
    if kept == 1.0:
        return start_kwh + np.cumsum(flow_kw) * slot_h
    states, state = np.empty_like(flow_kw), start_kwh
    for t, flow in enumerate(flow_kw.tolist()):
        state = state * kept + flow * slot_h
        states[t] = state
    return states


def holding_kw(battery: Battery, slot_h: float) -> float:
    """Return the charging power that makes up for self-discharge at the state in which the horizon starts, AC kW."""
    lost_kwh = battery.initial_share * battery.energy_kwh * (1.0 - battery.kept_share(slot_h))
    return lost_kwh / battery.charge_efficiency / slot_h


def wear_per_kwh(replacement_cost_per_kwh: float, cycles: float, depth_share: float, efficiency: float) -> float:
    """Return the replacement cost spread over all energy that a battery discharges in its life.

    Args:
        replacement_cost_per_kwh: Money per kWh of nameplate energy.
        cycles: Cycles of that depth in its life.
        depth_share: Depth of a cycle, share of the nameplate energy.
        efficiency: AC energy given over energy taken from the store, in (0, 1].

    Returns:
        Money per AC kWh discharged.
    """
    return replacement_cost_per_kwh / (cycles * depth_share * efficiency)
