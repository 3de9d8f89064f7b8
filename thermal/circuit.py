"""The closed side of the loops: flows, pumps, and what the racks ask of the heat rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.components import cdu, cold_plate, pump

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.loop import LiquidLoop
    from thermal.units_out import Running


class Circuit(NamedTuple):
    """The loops at a load, per kW of rated liquid heat; arrays of the load's shape.

    Args:
        rack_flow: Flow of the rack loop over its design flow.
        facility_flow: Flow of the facility loop over its design flow.
        rack_pump: Power of the rack loop's pumps.
        facility_pump: Power of the facility loop's pumps.
        rack_heat: Heat through the CDUs: racks and rack pumps.
        heat: Heat to be rejected: racks and all pumps.
        cdu_k: Rack supply minus facility supply, K.
        plate_k: Case minus rack supply, K.
    """

    rack_flow: npt.NDArray[np.float64]
    facility_flow: npt.NDArray[np.float64]
    rack_pump: npt.NDArray[np.float64]
    facility_pump: npt.NDArray[np.float64]
    rack_heat: npt.NDArray[np.float64]
    heat: npt.NDArray[np.float64]
    cdu_k: npt.NDArray[np.float64]
    plate_k: npt.NDArray[np.float64]


def circuit(loop: LiquidLoop, load: npt.NDArray[np.float64], running: Running) -> Circuit:
    """Return the loops at a load, IT power over rated IT power, 0 or more, shape (...); a CDU takes its pumps along."""
    rack_flow = pump.flow(loop.rack_pump, load, running.cdu)
    facility_flow = pump.flow(loop.facility_pump, load)
    rack_pump = pump.power(loop.rack_pump, loop.rack_pump_share, rack_flow, running.cdu)
    facility_pump = pump.power(loop.facility_pump, loop.facility_pump_share, facility_flow)
    rack_heat = load + rack_pump
    cdu_k = cdu.approach_k(
        loop.cdu_ua_per_k,
        (loop.rack_rate_per_k, loop.facility_rate_per_k),
        rack_heat,
        rack_flow,
        facility_flow,
        running.cdu,
    )
    plate_flow = loop.module_flow_l_per_min * rack_flow
    plate_k = cold_plate.case_c(loop.cold_plate, loop.rack_coolant, np.zeros_like(load), load, plate_flow)
    return Circuit(
        rack_flow, facility_flow, rack_pump, facility_pump, rack_heat, rack_heat + facility_pump, cdu_k, plate_k
    )
