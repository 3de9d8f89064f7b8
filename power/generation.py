"""On-site generation: groups of like gas sets or turbines, their fuel, their carbon, and how fast they come and go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

ROUNDING = 1e-9  # of a slot: hours such as 0.1 are no binary fractions


@dataclass(frozen=True)
class Generator:
    """A group of like generating units behind one block's meter.

    Args:
        name: Such as "gas-sets".
        units: Count of units.
        unit_kw: Largest power of one unit, kW.
        min_load_share: Lowest power of a unit that runs, share of unit_kw.
        min_up_h: Shortest time that a unit runs, h.
        min_down_h: Shortest time that a unit rests, h.
        start_cost: Money per start of one unit.
        fuel_cost_per_kwh: Fuel and upkeep, money per kWh generated.
        factor_gco2_per_kwh: Carbon of a kWh generated, of the plan's own basis, gCO2e/kWh.
        initial_units: Units that run as the horizon starts.
        initial_h: Hours since the last unit started or stopped, h, or None where that is long ago.
        available_from: First instant of service, UTC, or None for always.
        available_until: First instant after service, UTC, or None for always.
        max_unit_h: Most hours of running in the horizon, of all units together (a permit), h, or None.
    """

    name: str
    units: int
    unit_kw: float
    min_load_share: float
    min_up_h: float
    min_down_h: float
    start_cost: float
    fuel_cost_per_kwh: float
    factor_gco2_per_kwh: float
    initial_units: int = 0
    initial_h: float | None = None
    available_from: datetime | None = None
    available_until: datetime | None = None
    max_unit_h: float | None = None

    @property
    def min_kw(self) -> float:
        """Lowest power of one running unit, kW."""
        return self.min_load_share * self.unit_kw

    def units_available(self, starts: Sequence[datetime], slot: timedelta) -> npt.NDArray[np.int64]:
        """Return the units that may run throughout each slot, shape (T,)."""
        count = np.full(len(starts), self.units, dtype=np.int64)
        for t, start in enumerate(starts):
            early = self.available_from is not None and start < self.available_from
            late = self.available_until is not None and start + slot > self.available_until
            if early or late:
                count[t] = 0
        return count

    def slots(self, hours: float, slot_h: float) -> int:
        """Return the slots that a shortest time takes, at least 1."""
        return max(1, math.ceil(hours / slot_h - ROUNDING))

    def bound_slots(self, hours: float, slot_h: float) -> int:
        """Return the slots for which a shortest time that began before the horizon still binds."""
        return 0 if self.initial_h is None else max(0, math.ceil((hours - self.initial_h) / slot_h - ROUNDING))


def unit_starts(generator: Generator, units_on: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many units start with each slot, shape (T,), from the units that run in it, shape (T,)."""
    return np.maximum(np.diff(units_on, prepend=generator.initial_units), 0)


def generation_cost(
    generator: Generator, units_on: npt.NDArray[np.int64], power_kw: npt.NDArray[np.float64], slot_h: float
) -> float:
    """Return the money for fuel and starts.

    Args:
        generator: The group.
        units_on: Units that run in each slot, shape (T,).
        power_kw: Power of the group, slot mean, kW, shape (T,).
        slot_h: Length of a slot, h.
    """
    fuel = float(power_kw.sum()) * slot_h * generator.fuel_cost_per_kwh
    return fuel + int(unit_starts(generator, units_on).sum()) * generator.start_cost


def generation_kg(generator: Generator, power_kw: npt.NDArray[np.float64], slot_h: float) -> npt.NDArray[np.float64]:
    """Return the carbon of a group per slot, kgCO2e, shape (T,), from its power in kW, shape (T,)."""
    return np.asarray(generator.factor_gco2_per_kwh * power_kw * slot_h / 1000.0, dtype=np.float64)


def fuel_cost_per_kwh(fuel_price_per_kwh: float, generating_efficiency: float) -> float:
    """Return the fuel cost of a kWh generated.

    Args:
        fuel_price_per_kwh: Money per kWh of fuel (lower heating value).
        generating_efficiency: Electric energy over fuel energy, in (0, 1]; the reverse of the heat rate in kWh per kWh.
    """
    return fuel_price_per_kwh / generating_efficiency


def as_needed(
    generator: Generator, needed_kw: npt.NDArray[np.float64], available: npt.NDArray[np.int64], slot_h: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return units and power of a group that runs only where nothing else carries the load.

    As many units run as the need takes. A unit that started goes on for its shortest time, and one that would start
    again before its shortest rest is over does not stop. Power is what is needed, at least the lowest of the units.

    Args:
        generator: The group.
        needed_kw: Load that nothing else carries, slot mean, kW, shape (T,).
        available: Units that may run in each slot, shape (T,).
        slot_h: Length of a slot, h.

    Returns:
        Units that run, shape (T,), and the group's power in kW, shape (T,).
    """
    wanted = np.minimum(np.ceil(needed_kw / generator.unit_kw - ROUNDING).astype(np.int64), available)
    units = np.zeros_like(wanted)
    for k in range(generator.units):  # unit k is wanted where more than k are
        units += _runs(generator, wanted > k, k < generator.initial_units, slot_h)
    units = np.minimum(units, available)
    return units, np.clip(needed_kw, units * generator.min_kw, units * generator.unit_kw)


def _runs(generator: Generator, wanted: npt.NDArray[np.bool_], on: bool, slot_h: float) -> npt.NDArray[np.bool_]:
    """Return where one unit runs that is wanted in some slots, shape (T,) each."""
    up, down = generator.slots(generator.min_up_h, slot_h), generator.slots(generator.min_down_h, slot_h)
    since = -math.inf if generator.initial_h is None else -generator.initial_h / slot_h
    runs = np.zeros_like(wanted)
    for t in range(len(wanted)):
        if on:
            stops = not wanted[t : t + down].any() and t - since >= up - ROUNDING
        else:
            stops = not wanted[t] or t - since < down - ROUNDING
        if on == stops:
            on, since = not on, float(t)
        runs[t] = on
    return runs
