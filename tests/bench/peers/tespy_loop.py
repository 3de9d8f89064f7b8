"""The reference loops in TESPy: racks, CDU and dry cooler solved together; task in by stdin, answer out by stdout."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from reply import reply
from tespy.components import CycleCloser, HeatExchanger, Pump, SimpleHeatExchanger, Sink, Source
from tespy.connections import Connection
from tespy.networks import Network
from tespy.tools.characteristics import CharLine

SUPPLY_BAR = 5.0  # behind the pumps, so that their suction stays above the pressure of the air
FLOWS = np.linspace(0.02, 1.2, 1_000)  # over design: where the lines of conductance over flow are laid


class Loops:
    """Two closed water loops with their pumps, one exchanger between them and one to a stream of air."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.net = Network(iterinfo=False)
        self.net.units.set_defaults(
            temperature="degC",
            pressure="bar",
            pressure_difference="bar",
            heat="kW",
            power="kW",
            heat_transfer_coefficient="kW/K",
        )
        self.racks = SimpleHeatExchanger("racks")
        self.cdu, self.cooler = HeatExchanger("cdu"), HeatExchanger("cooler")
        self.rack_pump, self.facility_pump = Pump("rack pump"), Pump("facility pump")
        rack_end, facility_end = CycleCloser("rack end"), CycleCloser("facility end")
        self.rack_supply = Connection(rack_end, "out1", self.racks, "in1")
        self.rack_return = Connection(self.racks, "out1", self.rack_pump, "in1")
        into_cdu = Connection(self.rack_pump, "out1", self.cdu, "in1")
        out_of_cdu = Connection(self.cdu, "out1", rack_end, "in1")
        self.facility_supply = Connection(facility_end, "out1", self.cdu, "in2")
        out_of_racks = Connection(self.cdu, "out2", self.facility_pump, "in1")
        self.facility_return = Connection(self.facility_pump, "out1", self.cooler, "in1")
        out_of_cooler = Connection(self.cooler, "out1", facility_end, "in1")
        self.air = Connection(Source("outdoor air"), "out1", self.cooler, "in2")
        warmed = Connection(self.cooler, "out2", Sink("warmed air"), "in1")
        self.net.add_conns(
            self.rack_supply, self.rack_return, into_cdu, out_of_cdu, self.facility_supply, out_of_racks,
            self.facility_return, out_of_cooler, self.air, warmed,
        )  # fmt: skip
        design = task["design"]
        self.cdu.set_attr(dp1=0, dp2=0, UA=design["cdu_ua_kw_per_k"], design=["UA"], offdesign=["UA_char"])
        self.cooler.set_attr(dp1=0, dp2=0, UA=design["cooler_ua_kw_per_k"], design=["UA"], offdesign=["UA_char"])
        self.cdu.set_attr(UA_char1=_film(design["cdu_exponent"], 0.5), UA_char2=_film(design["cdu_exponent"], 0.5))
        water = design["water_resistance_share"]
        self.cooler.set_attr(
            UA_char1=_film(design["water_exponent"], water), UA_char2=_film(design["air_exponent"], 1.0 - water)
        )
        self.rack_pump.set_attr(eta_s=design["rack_pump_efficiency"])
        self.facility_pump.set_attr(eta_s=design["facility_pump_efficiency"])
        self.rack_supply.set_attr(fluid={"water": 1}, p=SUPPLY_BAR, T=design["supply_c"])
        self.facility_supply.set_attr(fluid={"water": 1}, p=SUPPLY_BAR)
        self.air.set_attr(fluid={"air": 1}, p=1.01325)
        self._set(design)
        # a first guess, near which the solver finds its way
        self.facility_supply.set_attr(T0=design["facility_supply_c"])
        self.air.set_attr(m0=design["air_kg_per_s"])
        self.net.solve("design", print_results=False)
        self._file = Path(tempfile.mkdtemp()) / "design.json"
        self.net.save(str(self._file))

    def solve(self, state: dict[str, Any]) -> None:
        """Solve for the air flow that holds the supply at a state's load and weather."""
        self._set(state)
        self.net.solve("offdesign", design_path=str(self._file), print_results=False)

    def told(self) -> dict[str, float]:
        """Return what the last solution found; the supply was given."""
        if self.net.status != 0:
            sys.exit(f"TESPy found no solution: its status is {self.net.status}")
        return {
            "rack_return_c": self.rack_return.T.val,
            "facility_supply_c": self.facility_supply.T.val,
            "facility_return_c": self.facility_return.T.val,
            "heat_rejected_kw": -self.cooler.Q.val,
            "rack_pump_kw": self.rack_pump.P.val,
            "facility_pump_kw": self.facility_pump.P.val,
            "air_kg_per_s": self.air.m.val,
        }

    def _set(self, state: dict[str, Any]) -> None:
        self.racks.set_attr(Q=state["heat_kw"], dp=state["rack_head_kpa"] / 100.0)
        self.rack_supply.set_attr(m=state["rack_kg_per_s"])
        self.facility_supply.set_attr(m=state["facility_kg_per_s"])
        self.cooler.set_attr(dp1=state["facility_head_kpa"] / 100.0)
        self.air.set_attr(T=state["dry_bulb_c"])


def _film(exponent: float, share: float) -> CharLine:
    """Return a line of a film with a share of the resistance, as 2 / (1 / f1 + 1 / f2) takes it."""
    return CharLine(x=FLOWS, y=FLOWS**exponent / (2.0 * share))


if __name__ == "__main__":
    reply("TESPy", ("tespy", "CoolProp", "pandas", "numpy"), Loops)
