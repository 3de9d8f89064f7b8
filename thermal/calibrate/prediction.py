"""What a plant's physics says that its meters and sensors would show."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.chain import loop_state
from thermal.circuit import circuit
from thermal.outdoors import outdoors
from thermal.plant import cooling
from thermal.setpoint import held_supply_c

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.loop import LiquidLoop
    from thermal.units_out import Running

PUMP_SIGNALS = frozenset(
    {"rack_flow_l_per_min", "facility_flow_l_per_min", "rack_pump_kw", "facility_pump_kw", "pump_kw"}
)


class Inputs(NamedTuple):
    """What drives a plant; arrays of shape (N,).

    Args:
        it_kw: IT power, kW.
        dry_c: Outdoor dry bulb, deg C.
        wet_c: Outdoor wet bulb, deg C; the dry bulb where it is not measured.
        held_c: Rack supply that the controls hold, deg C; not a number where it is the plant's own.
    """

    it_kw: npt.NDArray[np.float64]
    dry_c: npt.NDArray[np.float64]
    wet_c: npt.NDArray[np.float64]
    held_c: npt.NDArray[np.float64]


def inputs(telemetry: Telemetry, sensor_errors: Mapping[str, float] = MappingProxyType({})) -> Inputs:
    """Return what drives the plant, as measured, less what is known of the instruments' own errors.

    Args:
        telemetry: The readings.
        sensor_errors: Signal -> error in its unit; of a power, share of the value.
    """
    dry, wet = (telemetry[name] - sensor_errors.get(name, 0.0) for name in ("dry_bulb_c", "wet_bulb_c"))
    return Inputs(
        it_kw=telemetry["it_power_kw"] / (1.0 + sensor_errors.get("it_power_kw", 0.0)),
        dry_c=dry,
        wet_c=np.where(np.isfinite(wet), wet, dry),
        held_c=telemetry["supply_setpoint_c"] - sensor_errors.get("supply_setpoint_c", 0.0),
    )


def predict(
    plant: CoolingPlant, given: Inputs, wanted: frozenset[str], running: Running
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the signals that the plant would show.

    Args:
        plant: The plant.
        given: What drives it, shape (N,).
        wanted: Names of `thermal.calibrate.telemetry.SIGNALS`; those that the plant does not have are left out.
        running: Units that run.

    Returns:
        Signal -> values in its unit, shape (N,).
    """
    found = (
        {} if plant.loop is None else _loop(plant.loop, _liquid_kw(plant), plant.rated_it_kw, given, wanted, running)
    )
    if "cooling_kw" in wanted or plant.loop is None:
        held = None if plant.loop is None else _held_c(plant.loop, given)
        state = cooling(plant, given.it_kw, given.dry_c, given.wet_c, supply_c=held, running=running)
        found["cooling_kw"] = state.cooling_kw
        if plant.loop is None:
            found |= {"fan_kw": state.fan_kw, "chiller_kw": state.compressor_kw}
    return {name: values for name, values in found.items() if name in wanted}


def pumps_kw(plant: CoolingPlant, given: Inputs, running: Running) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the power of rack pumps and facility pumps, kW, each of shape (N,)."""
    assert plant.loop is not None
    closed = circuit(plant.loop, given.it_kw / plant.rated_it_kw, running)
    return _liquid_kw(plant) * closed.rack_pump, _liquid_kw(plant) * closed.facility_pump


def _liquid_kw(plant: CoolingPlant) -> float:
    return plant.rated_it_kw * plant.liquid_heat_share


def _held_c(loop: LiquidLoop, given: Inputs) -> npt.NDArray[np.float64]:
    asked = np.isfinite(given.held_c)
    if asked.all():
        return given.held_c
    return np.where(asked, given.held_c, held_supply_c(loop, outdoors(loop, given.dry_c, given.wet_c)))


def _loop(
    loop: LiquidLoop, liquid_kw: float, rated_kw: float, given: Inputs, wanted: frozenset[str], running: Running
) -> dict[str, npt.NDArray[np.float64]]:
    load = given.it_kw / rated_kw
    closed = circuit(loop, load, running)
    rack_l_per_min = 60_000.0 * liquid_kw / (loop.loop_rise_k * loop.rack_volume_kj_per_m3_k)
    facility_l_per_min = 60_000.0 * liquid_kw / (loop.facility_rise_k * loop.facility_volume_kj_per_m3_k)
    found = {
        "rack_flow_l_per_min": rack_l_per_min * closed.rack_flow,
        "facility_flow_l_per_min": facility_l_per_min * closed.facility_flow,
        "rack_pump_kw": liquid_kw * closed.rack_pump,
        "facility_pump_kw": liquid_kw * closed.facility_pump,
        "pump_kw": liquid_kw * (closed.rack_pump + closed.facility_pump),
    }
    if wanted <= PUMP_SIGNALS:
        return found
    air = outdoors(loop, given.dry_c, given.wet_c)
    state = loop_state(loop, load, air, _held_c(loop, given), running, np.zeros(()))
    return found | {
        "rack_supply_temp_c": state.supply_c,
        "rack_return_temp_c": state.rack_return_c,
        "facility_supply_temp_c": state.facility_supply_c,
        "facility_return_temp_c": state.facility_return_c,
        "fan_kw": liquid_kw * state.fan,
        # standing fans count as the draught that passes them, so that the model has no jump; readings of 0 do not count
        "fan_speed": np.maximum(state.fan_speed, loop.rejection.natural_draught_share),
        "chiller_kw": liquid_kw * state.compressor,
    }
