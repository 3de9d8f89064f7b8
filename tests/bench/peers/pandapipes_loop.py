"""The reference loops in pandapipes: two circuits with supplies and heats given; task in by stdin, answer by stdout."""

from __future__ import annotations

import math
from typing import Any

import pandapipes
from reply import reply

KELVIN = 273.15
SUPPLY_BAR = 5.0
DIAMETER_M = 0.15  # of the exchanger that stands for a loop's resistance; its loss coefficient is set for the head


class Circuit:
    """A closed circuit: a pump that holds flow and supply temperature, and one exchanger with its heat and friction."""

    def __init__(self, net: Any, design: dict[str, Any], kg_per_s: str, head_kpa: str, supply_c: str) -> None:
        self.net, self._flow, self._supply = net, kg_per_s, supply_c
        self.behind, self.before = (
            pandapipes.create_junction(net, pn_bar=SUPPLY_BAR, tfluid_k=KELVIN + design[supply_c]) for _ in range(2)
        )
        self.pump = pandapipes.create_circ_pump_const_mass_flow(
            net, self.before, self.behind, p_flow_bar=SUPPLY_BAR, mdot_flow_kg_per_s=design[kg_per_s],
            t_flow_k=KELVIN + design[supply_c],
        )  # fmt: skip
        density = float(net.fluid.get_density(KELVIN + design[supply_c]))
        speed_m_per_s = design[kg_per_s] / density / (math.pi * DIAMETER_M**2 / 4.0)
        loss = 1000.0 * design[head_kpa] / (density * speed_m_per_s**2 / 2.0)
        self.exchanger = pandapipes.create_heat_exchanger(
            net, self.behind, self.before, qext_w=0.0, loss_coefficient=loss, inner_diameter_mm=1000.0 * DIAMETER_M
        )

    def set(self, state: dict[str, Any], heat_kw: float) -> None:
        """Give the circuit a state's flow, supply and heat."""
        self.net.circ_pump_mass.loc[self.pump, "mdot_flow_kg_per_s"] = state[self._flow]
        self.net.circ_pump_mass.loc[self.pump, "t_flow_k"] = KELVIN + state[self._supply]
        self.net.heat_exchanger.loc[self.exchanger, "qext_w"] = -1000.0 * heat_kw

    def return_c(self) -> float:
        """Return the temperature behind the exchanger, deg C."""
        return float(self.net.res_junction.t_k.at[self.before]) - KELVIN

    def pump_kw(self, efficiency: float) -> float:
        """Return the electric power that the flow takes against the friction, kW."""
        kg_per_s = abs(float(self.net.res_heat_exchanger.mdot_from_kg_per_s.at[self.exchanger]))
        drop_bar = float(self.net.res_junction.p_bar.at[self.behind] - self.net.res_junction.p_bar.at[self.before])
        density = float(self.net.fluid.get_density(float(self.net.res_junction.t_k.at[self.behind])))
        return kg_per_s / density * drop_bar * 100.0 / efficiency


class Loops:
    """Rack loop and facility loop in one net."""

    def __init__(self, task: dict[str, Any]) -> None:
        design = task["design"]
        self.design = design
        self.net = pandapipes.create_empty_network(fluid="water")
        self.racks = Circuit(self.net, design, "rack_kg_per_s", "rack_head_kpa", "supply_c")
        self.facility = Circuit(self.net, design, "facility_kg_per_s", "facility_head_kpa", "facility_supply_c")

    def solve(self, state: dict[str, Any]) -> None:
        """Solve flows, pressures and temperatures for a state's supplies and heats."""
        rack_kw = state["heat_kw"] + state["rack_pump_kw"]
        self.racks.set(state, rack_kw)
        self.facility.set(state, rack_kw + state["facility_pump_kw"])
        pandapipes.pipeflow(self.net, mode="sequential")

    def told(self) -> dict[str, float]:
        """Return what the last solution found; supplies and heats were given."""
        return {
            "rack_return_c": self.racks.return_c(),
            "facility_return_c": self.facility.return_c(),
            "rack_pump_kw": self.racks.pump_kw(self.design["rack_pump_efficiency"]),
            "facility_pump_kw": self.facility.pump_kw(self.design["facility_pump_efficiency"]),
        }


if __name__ == "__main__":
    reply("pandapipes", ("pandapipes", "pandapower", "pandas", "numpy"), Loops)
