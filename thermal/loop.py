"""The liquid loops of a plant as data, and what their design point makes of them.

Heat leaves the chips through cold plates into the rack loop, through coolant distribution units (CDU) into the facility
loop, and from there through dry coolers or wet towers, helped by chillers where there are any, to the outdoor air.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from thermal.components import cold_plate, pump
from thermal.components.cdu import Cdu
from thermal.components.chiller import Chiller
from thermal.components.cold_plate import ColdPlate
from thermal.components.dry_cooler import DryCooler, Pad
from thermal.components.heat_pump import HeatPump
from thermal.components.pump import Pump
from thermal.components.store import Store
from thermal.components.tower import Tower
from thermal.exchanger import closing_ua_per_k
from thermal.facts import choice, number
from thermal.fluids import NAMES, freezing_c, volume_heat_kj_per_m3_k

LEAST_CHILLER = 0.01  # of rated heat; less would carry no more than rounding


@dataclass(frozen=True)
class LiquidLoop:
    """The loops, sized by the IT heat that they carry at rated IT power.

    Args:
        liquid_heat_share: Share of IT heat that leaves by liquid.
        supply_setpoint_c: Design temperature of the liquid to the racks, deg C; with the rule "held", what the controls
            hold where the weather allows.
        supply_limit_c: Highest liquid temperature to the racks, deg C; ASHRAE class W45 allows facility water of 45 C,
            and 45 C at the rack leaves the CDU's approach as margin to it.
        supply_least_c: Lowest liquid temperature to the racks that may be chosen, deg C; at most the setpoint counts.
        setpoint_rule: "held": the design setpoint; "chosen": per hour, what takes the least facility power with the
            chips' leakage counted.
        chip_leakage_pct_per_k: Rise of IT power per kelvin of the chips, %; 0: none is stated. It decides which
            setpoint is best, so it is the site's own value or nothing.
        sequence: "site": fans first, then chillers; "optimal": fans and chillers share the load at least power.
        loop_rise_k: Rack return minus rack supply at rated IT power without pump heat, K; 10 K is 1.5 L/min per kW.
        facility_rise_k: The same of the facility loop, K.
        rack_coolant: Coolant of the rack loop.
        facility_coolant: Coolant of the facility loop.
        cold_plate: The cold plates.
        rack_pump: Pumps of the rack loop, in the CDUs.
        facility_pump: Pumps of the facility loop.
        cdu: The coolant distribution units.
        rejection: Dry coolers or towers.
        pad: Pads before dry coolers.
        chiller: The chillers, if any.
        heat_pump: The heat pumps, if any.
        store: The tank, if any.
    """

    liquid_heat_share: float = number(0.945, "", 0.05, 1.0, "Frontier (RAPS configuration)", "datasheet")
    supply_setpoint_c: float = number(40.0, "C", 10.0, 60.0, "warm-water cooling, class W40")
    supply_limit_c: float = number(45.0, "C", 10.0, 70.0, "class W45 at the rack")
    supply_least_c: float = number(20.0, "C", 10.0, 60.0, "above the dew point of room air")
    setpoint_rule: str = choice("held", ("held", "chosen"), "what a site does that has no leakage value")
    chip_leakage_pct_per_k: float = number(0.0, "%/K", 0.0, 3.0, "0: none is stated; 0.3 is often named")
    sequence: str = choice("site", ("site", "optimal"), "what building controls do")
    loop_rise_k: float = number(10.0, "K", 2.0, 30.0, "OCP: 1.5 L/min per kW")
    facility_rise_k: float = number(10.0, "K", 2.0, 30.0, "like the rack loop")
    rack_coolant: str = choice("pg25", NAMES, "OCP OAI 2023", "datasheet")
    facility_coolant: str = choice("pg25", NAMES, "water outdoors would freeze")
    cold_plate: ColdPlate = field(default_factory=ColdPlate)
    rack_pump: Pump = field(default_factory=Pump)
    facility_pump: Pump = field(default_factory=Pump)
    cdu: Cdu = field(default_factory=Cdu)
    rejection: DryCooler | Tower = field(default_factory=DryCooler)
    pad: Pad = field(default_factory=Pad)
    chiller: Chiller = field(default_factory=Chiller)
    heat_pump: HeatPump = field(default_factory=HeatPump)
    store: Store = field(default_factory=Store)

    @cached_property
    def rack_volume_kj_per_m3_k(self) -> float:
        """Heat capacity of a cubic metre of the rack loop at the design setpoint, kJ/m3K."""
        return float(volume_heat_kj_per_m3_k(self.rack_coolant, self.supply_setpoint_c))

    @cached_property
    def facility_volume_kj_per_m3_k(self) -> float:
        """Heat capacity of a cubic metre of the facility loop at its design supply, kJ/m3K."""
        facility_c = self.supply_setpoint_c - self.cdu.approach_k
        return float(volume_heat_kj_per_m3_k(self.facility_coolant, facility_c))

    @cached_property
    def rack_pump_share(self) -> float:
        """Power of the rack loop's pumps at design flow over rated liquid heat."""
        return pump.design_power(self.rack_pump, self.rack_volume_kj_per_m3_k, self.loop_rise_k)

    @cached_property
    def facility_pump_share(self) -> float:
        """Power of the facility loop's pumps at design flow over rated liquid heat."""
        return pump.design_power(self.facility_pump, self.facility_volume_kj_per_m3_k, self.facility_rise_k)

    @cached_property
    def design_heat_share(self) -> float:
        """Heat of racks and all pumps at design over rated liquid heat."""
        return 1.0 + self.rack_pump_share + self.facility_pump_share

    @property
    def rack_rate_per_k(self) -> float:
        """Capacity rate of the rack loop at design flow over rated liquid heat, 1/K."""
        return 1.0 / self.loop_rise_k

    @property
    def facility_rate_per_k(self) -> float:
        """Capacity rate of the facility loop at design flow over rated liquid heat, 1/K."""
        return 1.0 / self.facility_rise_k

    @cached_property
    def cdu_ua_per_k(self) -> float:
        """Conductance of all CDUs over rated liquid heat, 1/K, so that the design point closes."""
        heat = 1.0 + self.rack_pump_share
        return closing_ua_per_k(heat, self.cdu.approach_k, self.rack_rate_per_k, self.facility_rate_per_k)

    @cached_property
    def rejection_ua_per_k(self) -> float:
        """Conductance of all coolers or cells over rated liquid heat, 1/K, so that the design point closes."""
        return self.rejection.closing_ua_per_k(self.design_heat_share, self.facility_rate_per_k)

    @cached_property
    def rejection_air_per_k(self) -> float:
        """What the air takes up per kelvin at full fans in the design point over rated liquid heat, 1/K."""
        return self.rejection.air_rate_per_k(self.design_heat_share, self.facility_rate_per_k)

    @property
    def module_flow_l_per_min(self) -> float:
        """Flow through one chip module's plate at design, L/min."""
        m3_per_s = self.cold_plate.module_kw / (self.rack_volume_kj_per_m3_k * self.loop_rise_k)
        return m3_per_s * 60_000.0

    @cached_property
    def design_plate_k(self) -> float:
        """Case of the chips minus liquid to the racks at rated IT power and design flow, K: the most there is."""
        flow = np.array(self.module_flow_l_per_min)
        return float(cold_plate.case_c(self.cold_plate, self.rack_coolant, np.array(0.0), np.array(1.0), flow))

    @property
    def full_fan_share(self) -> float:
        """Fan power at full speed over rated liquid heat, with the pad's resistance where there is a pad."""
        padded = isinstance(self.rejection, DryCooler) and self.pad.effectiveness > 0.0
        return self.rejection.fan_w_per_kw / 1000.0 * (1.0 + self.pad.fan_share * padded)

    @property
    def has_chiller(self) -> bool:
        """Whether there is a chiller."""
        return self.chiller.capacity_share > 0.0

    @property
    def frost_c(self) -> float:
        """Outdoor air below which a cooler whose flow stops may freeze, deg C."""
        return freezing_c(self.facility_coolant)


def check_loop(loop: LiquidLoop) -> None:
    """Refuse values of a loop that contradict each other (ValueError)."""
    if loop.supply_setpoint_c > loop.supply_limit_c:
        raise ValueError(
            f"supply_setpoint_c is {loop.supply_setpoint_c:g} C, above supply_limit_c of {loop.supply_limit_c:g} C; "
            "lower the setpoint or raise the limit"
        )
    hottest_c, case_limit_c = loop.supply_limit_c + loop.design_plate_k, loop.cold_plate.case_limit_c
    if hottest_c > case_limit_c:
        coolest = math.floor(10.0 * (case_limit_c - loop.design_plate_k)) / 10.0
        raise ValueError(
            f"supply_limit_c is {loop.supply_limit_c:g} C, and at rated IT power the cold plates add "
            f"{loop.design_plate_k:.1f} K: chip cases of {hottest_c:.1f} C, above cold_plate_case_limit_c of "
            f"{case_limit_c:g} C; lower supply_limit_c to {coolest:g} C, or loop_rise_k for more flow"
        )
    if loop.setpoint_rule == "chosen" and loop.chip_leakage_pct_per_k == 0.0:
        raise ValueError(
            'setpoint_rule is "chosen", but chip_leakage_pct_per_k is 0; give the site\'s leakage, which decides '
            'whether warmer or colder is better, or write setpoint_rule = "held"'
        )
    if 0.0 < loop.chiller.capacity_share < LEAST_CHILLER:
        raise ValueError(
            f"chiller_capacity_share is {loop.chiller.capacity_share:g}, below {LEAST_CHILLER:g}; one this small is "
            "none, write 0"
        )
    if loop.store.volume_m3 > 0.0 and loop.setpoint_rule == "chosen":
        raise ValueError(
            f'store_volume_m3 is {loop.store.volume_m3:g} m3 beside setpoint_rule = "chosen"; the tank keeps water of '
            'one temperature, write setpoint_rule = "held" or leave the tank out'
        )
    if loop.store.final_share > loop.store.initial_share:
        raise ValueError(
            f"store_final_share is {loop.store.final_share:g}, above store_initial_share of "
            f"{loop.store.initial_share:g}; a plan leaves the tank no fuller than it was, lower store_final_share"
        )
    for name, closing, fix in (
        ("cdu_approach_k", "cdu_ua_per_k", "raise it, or lower facility_rise_k"),
        (f"{rejection_prefix(loop)}approach_k", "rejection_ua_per_k", "raise it, or the flow of air"),
    ):
        try:
            getattr(loop, closing)
        except ValueError as error:
            raise ValueError(f"{name}: {error}; {fix}") from None


def rejection_prefix(loop: LiquidLoop) -> str:
    """Return what stands before the names of the rejection's settings in a site file."""
    return "cooler_" if isinstance(loop.rejection, DryCooler) else "tower_"
