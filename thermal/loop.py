"""The warm-water loop: pumps, coolant distribution units and dry coolers, without a chiller.

Rack heat and pump heat leave through a coolant distribution unit (CDU) and a counter-flow dry cooler. The fans hold
the rack supply at a setpoint that follows the weather: the design value, or on warm hours what full fans reach at rated
power, but never above the limit. In the cold, natural draught carries the heat and a bypass valve holds the setpoint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import exprel

if TYPE_CHECKING:
    import numpy.typing as npt

COOLANT_KJ_PER_M3_K = 3.969 * 1009.9  # 25 % propylene glycol at 40 C (CoolProp MPG, mass fraction 0.25)
AIR_EXPONENT = 0.8  # film coefficient over air flow (LBNL Modelica Buildings library)
WATER_EXPONENT = 0.85  # film coefficient over water flow (same)
EVAPORATION_KJ_PER_KG = 2430.0  # latent heat of water near 30 C
SECANT_STEPS = 12  # the curve is nearly straight in logarithms: the residual is at rounding error well before


@dataclass(frozen=True)
class LiquidLoop:
    """A warm-water loop, sized by the IT heat it carries at rated IT power.

    Grades: V read in the source or measured, S secondary source, K engineering knowledge.

    Args:
        liquid_heat_share: Share of IT heat that leaves by liquid; 0.945 is Frontier's (RAPS configuration, V).
        supply_setpoint_c: Liquid temperature to the racks that the fans hold where the weather allows, deg C (K).
        supply_limit_c: Highest liquid temperature to the racks, deg C (K); ASHRAE class W45 allows facility water of
            45 C (S), and 45 C at the rack leaves the CDU's approach as margin to it.
        loop_rise_k: Return minus supply at rated IT power without pump heat, K; 10 K is 1.5 L/min per kW (OCP, S).
        pump_flow_floor: Lowest flow as a share of design flow; 0.9 is what Frontier's day asks for (V), a loop whose
            pumps follow the load may go to 0.3 to 0.5 (K).
        pump_head_kpa: Rack loop and facility loop together at design flow, kPa; 250 + 250 (K).
        pump_efficiency: Hydraulic over electrical power (K).
        pump_static_share: Share of the head that does not fall with flow (K).
        cdu_approach_k: Rack supply minus facility supply at design heat, K; 4 K (XDU1350 datasheet, V).
        cooler_approach_k: Facility supply minus outdoor air at design heat and full fans, K (K).
        cooler_air_ratio: Capacity rate of the air over that of the water at design (K).
        cooler_water_resistance_share: Water film's share of the thermal resistance at design (K).
        cooler_fan_w_per_kw: Fan power at full speed, W per kW of IT heat; 25 to 50 (LBNL, V / K).
        natural_draught_share: Air flow with fans off, share of full flow; 0.10 to 0.125 (LBNL, V / K).
        pad_effectiveness: Adiabatic pad's approach to the wet bulb, 0 (no pad) to 1; 0.75 is usual (K).
        pad_from_c: Dry bulb from which the pad is wetted, deg C (K).
        pad_fan_share: Extra fan power for the pad's resistance, where there is one (K).
        pad_cycles_of_concentration: Pad water over bleed water, above 1 (K).
    """

    liquid_heat_share: float = 0.945
    supply_setpoint_c: float = 40.0
    supply_limit_c: float = 45.0
    loop_rise_k: float = 10.0
    pump_flow_floor: float = 0.9
    pump_head_kpa: float = 500.0
    pump_efficiency: float = 0.65
    pump_static_share: float = 0.2
    cdu_approach_k: float = 4.0
    cooler_approach_k: float = 6.0
    cooler_air_ratio: float = 1.15
    cooler_water_resistance_share: float = 1.0 / 3.0
    cooler_fan_w_per_kw: float = 35.0
    natural_draught_share: float = 0.10
    pad_effectiveness: float = 0.0
    pad_from_c: float = 25.0
    pad_fan_share: float = 0.08
    pad_cycles_of_concentration: float = 4.0

    @cached_property
    def design_pump_share(self) -> float:
        """Pump power at design flow over rated liquid heat."""
        return self.pump_head_kpa / (COOLANT_KJ_PER_M3_K * self.loop_rise_k * self.pump_efficiency)

    @cached_property
    def design_heat_share(self) -> float:
        """Heat of racks and pumps at design over rated liquid heat."""
        return 1.0 + self.design_pump_share

    @cached_property
    def design_ua_per_k(self) -> float:
        """Conductance of the dry cooler at design over rated liquid heat, 1/K, so that the design point closes."""
        heat_rate_per_k = 1.0 / self.loop_rise_k
        imbalance = 1.0 - 1.0 / self.cooler_air_ratio
        # approach = (heat / water rate) * imbalance / expm1(ntu * imbalance), solved for ntu
        rise_over_approach = self.design_heat_share * self.loop_rise_k / self.cooler_approach_k
        if abs(imbalance) < 1e-12:
            return rise_over_approach * heat_rate_per_k
        return math.log1p(rise_over_approach * imbalance) / imbalance * heat_rate_per_k


class LoopState(NamedTuple):
    """The loop per kW of rated liquid heat; arrays of one shape.

    Args:
        fan: Fan power.
        pump: Pump power.
        heat: Heat given to the outdoor air: racks and pumps, not the fans, which stand behind the coil.
        supply_c: Liquid to the racks, deg C.
        return_c: Facility water into the dry cooler, deg C.
        fan_speed: Share of full speed; 0 where natural draught is enough.
        evaporated_l_per_h: Water that a pad takes, bleed included, L/h.
    """

    fan: npt.NDArray[np.float64]
    pump: npt.NDArray[np.float64]
    heat: npt.NDArray[np.float64]
    supply_c: npt.NDArray[np.float64]
    return_c: npt.NDArray[np.float64]
    fan_speed: npt.NDArray[np.float64]
    evaporated_l_per_h: npt.NDArray[np.float64]


def air_in_c(
    loop: LiquidLoop, dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the air temperature before the coil, deg C: the dry bulb, or nearer the wet bulb behind a wetted pad."""
    depression_k = np.maximum(dry_bulb_c - wet_bulb_c, 0.0)
    wetted = dry_bulb_c > loop.pad_from_c
    return np.where(wetted, dry_bulb_c - loop.pad_effectiveness * depression_k, dry_bulb_c)


def approach_k(
    loop: LiquidLoop,
    heat: npt.NDArray[np.float64],
    flow: npt.NDArray[np.float64],
    air_flow: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return facility supply minus air temperature, K.

    A counter-flow exchanger obeys approach = heat / (UA exprel(UA (1/Cw - 1/Ca))), exact for every ratio of the
    capacity rates Cw and Ca, so the water never leaves colder than the air comes in.

    Args:
        loop: The loop.
        heat: Heat over rated liquid heat, shape (...).
        flow: Water flow over design flow, shape (...).
        air_flow: Air flow over design flow, shape (...).

    Returns:
        Approach in K, shape (...).

    Source:
        Effectiveness-NTU of counter flow (Kays and London 1984); film exponents as in the Modelica Buildings library.
    """
    water_share = loop.cooler_water_resistance_share
    resistance = (1.0 - water_share) * air_flow**-AIR_EXPONENT + water_share * flow**-WATER_EXPONENT
    ua = loop.design_ua_per_k / resistance
    per_rate_k = loop.loop_rise_k * (1.0 / flow - 1.0 / (loop.cooler_air_ratio * air_flow))
    # beyond this argument the approach is nil and the exponential near the end of the number range
    return np.asarray(heat / (ua * exprel(np.minimum(ua * per_rate_k, 600.0))))


def _loads(
    loop: LiquidLoop, load: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return (flow, pump power, heat) for IT power over rated IT power."""
    flow = np.maximum(load, loop.pump_flow_floor)
    static = loop.pump_static_share
    pump = loop.design_pump_share * (static * flow + (1.0 - static) * flow**3)
    return flow, pump, load + pump


def full_fan_supply_c(
    loop: LiquidLoop, load: npt.NDArray[np.float64], air_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the coldest liquid the racks can get, deg C: fans at full speed.

    Args:
        loop: The loop.
        load: IT power over rated IT power, shape (...).
        air_c: Air before the coil, deg C, shape (...).

    Returns:
        Rack supply in deg C, shape (...).
    """
    flow, _, heat = _loads(loop, load)
    cdu_k = loop.cdu_approach_k * heat / loop.design_heat_share
    return air_c + approach_k(loop, heat, flow, np.ones_like(flow)) + cdu_k


def held_supply_c(loop: LiquidLoop, air_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the rack supply that the fans hold at all loads, deg C: a setpoint reset by weather.

    A setpoint that full fans cannot reach at rated power would have them at full speed over a span of loads, for
    nothing below the limit; and their power over load would not be convex.

    Args:
        loop: The loop.
        air_c: Air before the coil, deg C, shape (...).

    Returns:
        The design setpoint or the supply that full fans reach at rated power, whichever is warmer, at most the limit,
        in deg C, shape (...).
    """
    reachable_c = full_fan_supply_c(loop, np.ones_like(air_c), air_c)
    return np.clip(reachable_c, loop.supply_setpoint_c, loop.supply_limit_c)


def _air_flow(
    loop: LiquidLoop,
    heat: npt.NDArray[np.float64],
    flow: npt.NDArray[np.float64],
    wanted_k: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the air flow between natural draught and full that gives the wanted approach, by secants in logarithms."""
    natural = loop.natural_draught_share
    most_k = approach_k(loop, heat, flow, np.full_like(heat, natural))
    least_k = approach_k(loop, heat, flow, np.ones_like(heat))
    log_goal = np.log(np.clip(wanted_k, least_k, most_k))
    low, high = np.full_like(heat, math.log(natural)), np.zeros_like(heat)
    at_low, at_high = np.log(most_k) - log_goal, np.log(least_k) - log_goal
    for _ in range(SECANT_STEPS):
        drop = at_low - at_high
        step = np.divide(at_high * (high - low), drop, out=np.zeros_like(drop), where=drop != 0.0)
        low, at_low = high, at_high
        high = np.clip(high + step, math.log(natural), 0.0)
        at_high = np.log(approach_k(loop, heat, flow, np.exp(high))) - log_goal
    return np.exp(high)


def loop_state(
    loop: LiquidLoop,
    load: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
) -> LoopState:
    """Return the steady state of the loop.

    Natural draught moves `natural_draught_share` of the air for nothing, so a fan that moves the share a works against
    the pressure a^2 less that of the draught: its power goes as a (a^2 - n^2), the cubic law with a start at zero.

    Args:
        loop: The loop.
        load: IT power over rated IT power, 0 or more, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (...).

    Returns:
        Powers per kW of rated liquid heat and temperatures, each of shape (...).
    """
    flow, pump, heat = _loads(loop, load)
    air_c = air_in_c(loop, dry_bulb_c, wet_bulb_c)
    cdu_k = loop.cdu_approach_k * heat / loop.design_heat_share
    held_c = held_supply_c(loop, air_c)
    air_flow = _air_flow(loop, heat, flow, held_c - cdu_k - air_c)
    natural = loop.natural_draught_share
    full_fan = loop.cooler_fan_w_per_kw / 1000.0 * (1.0 + loop.pad_fan_share * (loop.pad_effectiveness > 0.0))
    fan = full_fan * air_flow * (air_flow**2 - natural**2) / (1.0 - natural**2)
    supply_c = np.maximum(held_c, full_fan_supply_c(loop, load, air_c))
    air_rate_per_k = air_flow * loop.cooler_air_ratio / loop.loop_rise_k
    kept = 1.0 - 1.0 / loop.pad_cycles_of_concentration
    evaporated = air_rate_per_k * (dry_bulb_c - air_c) / EVAPORATION_KJ_PER_KG * 3600.0 / kept
    return LoopState(
        fan=np.maximum(fan, 0.0),
        pump=pump,
        heat=heat,
        supply_c=supply_c,
        return_c=supply_c - cdu_k + heat * loop.loop_rise_k / flow,
        fan_speed=np.where(air_flow > natural * (1.0 + 1e-9), air_flow, 0.0),
        evaporated_l_per_h=evaporated,
    )
