"""Two machines of which a few numbers are public, as plants: what is known, what is assumed, what is fitted."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from thermal.calibrate import Calibration, Telemetry, calibrate, changed
from thermal.fluids import volume_heat_kj_per_m3_k
from thermal.plant import cooling, tower_chiller
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.plant import CoolingState

L_PER_GALLON = 3.785411784  # US liquid gallon, exact

# Summit, 2020-01-31, chillers only
SUMMIT_PUE = 1.274
SUMMIT_IT_KW = 5_160.0
SUMMIT_SUPPLY_C = (70.9 - 32.0) / 1.8
SUMMIT_RETURN_C = (83.0 - 32.0) / 1.8
SUMMIT_WET_BULB_C = (45.5 - 32.0) / 1.8
SUMMIT_FLOW_L_PER_MIN = 4_344.0 * L_PER_GALLON
SUMMIT_CHILLER_COP = 3.516853 / 0.713  # kW per ton of refrigeration over the published kW per ton
SUMMIT_SETTINGS = ("facility_rise_k", "chiller_min_lift_k")
NO_TOWERS = ALL._replace(rejection=1e-6)  # valved off; a share of nothing is no share

# Frontier
FRONTIER_PUE = 1.03  # published for a year
FRONTIER_CDU_PUMP_KW = 25 * 8.47
FRONTIER_CDUS = 25
FOLLOWING_FLOOR = 0.3  # what pumps that follow the load by the affinity laws go down to


def summit() -> CoolingPlant:
    """Summit as the ready plant and public descriptions have it: one loop through towers and trim exchangers.

    Its water goes to the racks without CDUs and takes the air's heat too, in the rear doors; the trim exchangers get
    chilled water of some 6 C, which stands as the largest evaporator approach.
    """
    return tower_chiller(
        13_000.0,
        liquid_heat_share=1.0,
        supply_setpoint_c=SUMMIT_SUPPLY_C + 0.3,
        cdu_approach_k=0.5,
        rack_coolant="water",
        rack_pump_head_kpa=10.0,
        loop_rise_k=16.0,
        facility_rise_k=7.0,
        chiller_capacity_share=1.0,
        chiller_evaporator_approach_k=15.0,
        chiller_condenser_fan_w_per_kw=40.0,  # condenser pumps and tower fans
    )


def summit_readings(**other: float) -> Telemetry:
    """Return Summit's point as one reading; a signal may be given another value, or none (not a number)."""
    values = {
        "it_power_kw": SUMMIT_IT_KW,
        "dry_bulb_c": SUMMIT_WET_BULB_C,
        "wet_bulb_c": SUMMIT_WET_BULB_C,
        "facility_supply_temp_c": SUMMIT_SUPPLY_C,
        "facility_return_temp_c": SUMMIT_RETURN_C,
        "facility_flow_l_per_min": SUMMIT_FLOW_L_PER_MIN,
    } | other
    values["cooling_kw"] = (SUMMIT_PUE - 1.0) * values["it_power_kw"]
    time = np.array(["2020-01-31T00:00:00"], dtype="datetime64[s]")
    return Telemetry("Summit's published point", time, {name: np.array([v]) for name, v in values.items()})


def summit_loop_heat_kw() -> float:
    """Return the heat that Summit's flow and temperatures carry, kW."""
    volume_heat = float(volume_heat_kj_per_m3_k("water", 0.5 * (SUMMIT_SUPPLY_C + SUMMIT_RETURN_C)))
    return SUMMIT_FLOW_L_PER_MIN / 60_000.0 * volume_heat * (SUMMIT_RETURN_C - SUMMIT_SUPPLY_C)


@cache
def summit_by_power() -> tuple[Telemetry, Calibration]:
    """Return the reading that believes the power meters, not the flow, and the fit to it."""
    told = summit_readings(facility_flow_l_per_min=np.nan)
    return told, calibrate(summit(), told, settings=SUMMIT_SETTINGS, running=NO_TOWERS)


@cache
def summit_by_heat() -> tuple[Telemetry, Calibration]:
    """Return the reading that believes the loop, not the IT meter, and the fit to it."""
    plant = summit()
    pump_kw = float(cooling(plant, SUMMIT_IT_KW, 0.0, 0.0, running=NO_TOWERS).pump_kw)
    told = summit_readings(it_power_kw=summit_loop_heat_kw() - pump_kw)
    return told, calibrate(plant, told, settings=SUMMIT_SETTINGS, running=NO_TOWERS)


def summit_state(plant: CoolingPlant, told: Telemetry) -> CoolingState:
    """Return what a plant does at Summit's point."""
    return cooling(plant, told["it_power_kw"], told["dry_bulb_c"], told["wet_bulb_c"], running=NO_TOWERS)


@dataclass(frozen=True)
class FrontierDay:
    """A day of Frontier at 15 s; arrays of shape (N,).

    Args:
        it_kw: IT power, kW.
        wet_bulb_c: Outdoor wet bulb, deg C.
    """

    it_kw: npt.NDArray[np.float64]
    wet_bulb_c: npt.NDArray[np.float64]

    @property
    def dry_bulb_c(self) -> npt.NDArray[np.float64]:
        """Dry bulb, deg C: not in the file; 4 K above the wet bulb is half-dry spring air."""
        return self.wet_bulb_c + 4.0


def frontier_day(folder: Path) -> FrontierDay:
    """Return the day from the folder of real traces.

    The file does not say whether its wet bulb is in K or deg C: it lies between 2.9 and 13.2, so it is deg C.
    """
    with gzip.open(folder / "thermal" / "frontier_2024-04-07_15s.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
    wet = rows[:, -1]
    assert wet.min() > -40.0
    assert wet.max() < 40.0
    return FrontierDay(rows[:, 1:-1].sum(axis=1) / 1000.0, wet)


def frontier(floor: float) -> CoolingPlant:
    """Return Frontier as towers without chillers at 32 C, with one flow floor for the pumps of both loops."""
    return tower_chiller(
        28_000.0,
        supply_setpoint_c=32.0,
        supply_limit_c=40.0,
        cdu_count=FRONTIER_CDUS,
        chiller_capacity_share=0.0,
        facility_pump_flow_floor=floor,
        rack_pump_flow_floor=floor,
    )


def day_pue(plant: CoolingPlant, day: FrontierDay) -> float:
    """Return energy of IT and cooling over that of IT, over a day."""
    state = cooling(plant, day.it_kw, day.dry_bulb_c, day.wet_bulb_c)
    return 1.0 + float(state.cooling_kw.sum() / day.it_kw.sum())


def frontier_fitted(day: FrontierDay) -> CoolingPlant:
    """Return Frontier with the flow floor at which the day has the year's published PUE."""
    floor = brentq(lambda f: day_pue(frontier(f), day) - FRONTIER_PUE, 0.3, 1.0, xtol=1e-4)
    return changed(frontier(FOLLOWING_FLOOR), {"facility_pump_flow_floor": floor, "rack_pump_flow_floor": floor})
