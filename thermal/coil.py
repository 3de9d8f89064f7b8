"""Free cooling at a state of the facility loop: how much heat the outdoor air takes at which air flow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.components.dry_cooler import DryCooler
from thermal.exchanger import cold_end_k
from thermal.halving import halved

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.loop import LiquidLoop

SECANT_STEPS = 30  # the curve is nearly straight in logarithms: most need five
CLOSE = 1e-13  # of a logarithm: rounding
INLET_HALVINGS = 60  # halves a span of temperatures to rounding error


class Coil(NamedTuple):
    """All coolers or tower cells that run, with what enters them; arrays of one shape.

    Args:
        loop: The loop.
        running: Share of the units that run.
        flow: Facility flow over design flow, spread over the units that run.
        itd_k: Entering water minus what free cooling can reach, K; where it is 0 or less nothing is carried.
        stretch: What the air takes up per kelvin over that at design.
    """

    loop: LiquidLoop
    running: float
    flow: npt.NDArray[np.float64]
    itd_k: npt.NDArray[np.float64]
    stretch: npt.NDArray[np.float64]

    def at(self, where: npt.NDArray[np.bool_]) -> Coil:
        """Return the coil at some of its states, shape (n,)."""
        flow, itd_k, stretch = (np.broadcast_to(v, where.shape)[where] for v in self[2:])
        return Coil(self.loop, self.running, flow, itd_k, stretch)

    def carried(self, air_flow: npt.NDArray[np.float64] | float) -> npt.NDArray[np.float64]:
        """Return the heat carried over rated heat, for an air flow over full flow in the units that run."""
        return np.asarray(np.maximum(self.itd_k, 0.0) / self.resistance_k(air_flow))

    def resistance_k(self, air_flow: npt.NDArray[np.float64] | float) -> npt.NDArray[np.float64]:
        """Return entering water minus sink per heat over rated heat, K."""
        water = 1.0 / (self._flow() * self.loop.facility_rate_per_k)
        return np.asarray((water + self._approach(air_flow)) / self.running)

    def air_flow_for(self, heat: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the air flow, from natural draught to full, that carries a heat within what these two carry.

        Args:
            heat: Heat over rated heat, above 0, shape (n,).

        Returns:
            Air flow over full flow, shape (n,); found by secants in logarithms.
        """
        natural = self.loop.rejection.natural_draught_share
        each = heat / self.running
        wanted_k = self.itd_k / each - 1.0 / (self._flow() * self.loop.facility_rate_per_k)
        most, least = self._approach(natural), self._approach(1.0)
        goal = np.log(np.clip(wanted_k, least, most))
        low, high = np.full_like(goal, math.log(natural)), np.zeros_like(goal)
        at_low, at_high = np.log(most) - goal, np.log(least) - goal
        for _ in range(SECANT_STEPS):
            if not np.any(np.abs(at_high) > CLOSE):
                break
            drop = at_low - at_high
            step = np.divide(at_high * (high - low), drop, out=np.zeros_like(drop), where=drop != 0.0)
            low, at_low = high, at_high
            high = np.clip(high + step, math.log(natural), 0.0)
            at_high = np.log(self._approach(np.exp(high))) - goal
        return np.exp(high)

    def _flow(self) -> npt.NDArray[np.float64]:
        return np.maximum(self.flow, 1e-3)

    def _approach(self, air_flow: npt.NDArray[np.float64] | float) -> npt.NDArray[np.float64]:
        """Return leaving water minus sink per heat of the units that run, K."""
        air = np.asarray(air_flow, dtype=np.float64)
        ua = self.loop.rejection_ua_per_k * self.stretch * self.loop.rejection.ua_ratio(self.flow, air)
        cold = self.loop.rejection_air_per_k * self.stretch * air
        return cold_end_k(np.ones_like(ua), ua, self._flow() * self.loop.facility_rate_per_k, cold)


def coil(
    loop: LiquidLoop,
    facility_flow: npt.NDArray[np.float64],
    inlet_c: npt.NDArray[np.float64],
    sink_c: npt.NDArray[np.float64],
    running: float,
) -> Coil:
    """Return the free cooling for facility flow over design flow, water temperature into it and sink in deg C."""
    stretch = loop.rejection.stretch(loop.design_heat_share, loop.facility_rate_per_k, inlet_c, sink_c)
    return Coil(loop, running, facility_flow / running, inlet_c - sink_c, stretch)


def inlet_c_for(
    loop: LiquidLoop,
    facility_flow: npt.NDArray[np.float64],
    heat: npt.NDArray[np.float64],
    sink_c: npt.NDArray[np.float64],
    running: float,
) -> npt.NDArray[np.float64]:
    """Return the water temperature into free cooling at which full fans carry a heat, deg C.

    Args:
        loop: The loop.
        facility_flow: Facility flow over design flow, shape (...).
        heat: Heat over rated heat, 0 or more, shape (...).
        sink_c: What free cooling can reach, deg C, shape (...).
        running: Share of the units that run.

    Returns:
        deg C, shape (...). Hotter water makes a tower better, so the resistance at the sink's temperature bounds it.
    """
    flow, heat, sink_c = np.broadcast_arrays(facility_flow, heat, sink_c)
    low, high = sink_c, sink_c + heat * coil(loop, flow, sink_c, sink_c, running).resistance_k(1.0)
    if isinstance(loop.rejection, DryCooler):  # the same resistance at every temperature
        return np.asarray(high)

    def short(inlet_c: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.asarray(coil(loop, flow, inlet_c, sink_c, running).carried(1.0) < heat)

    _, enough_c = halved(short, low, high, INLET_HALVINGS)
    return enough_c
