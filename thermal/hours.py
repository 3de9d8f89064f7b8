"""What the cooling of one block does over a horizon, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.circuit import circuit
from thermal.components.dry_cooler import DryCooler
from thermal.derating import NONE, limit_reached, one_out
from thermal.outdoors import outdoors
from thermal.plant import cooling, setpoint_c, w_max_kw
from thermal.reuse import NO_FLOWS, HeatFlows
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.plant import CoolingState

OFF, FREE, PAD, CHILLER, COMPRESSOR = "off", "free cooling", "pad", "chiller", "compressor"
FLOW_L_PER_MIN = 60_000.0  # in one m3/s


@dataclass(frozen=True)
class CoolingHours:
    """Every slot of one block's cooling; arrays of shape (T,).

    Figures of liquid are not a number where there is no liquid, temperatures are not where the plant is not powered.

    Args:
        it_kw: IT power, kW.
        cooling_kw: All electric power of cooling, kW.
        fan_kw: Outdoor and room fans, kW.
        pump_kw: Pumps of both loops, kW.
        compressor_kw: Compressors of chillers and room, kW.
        w_max_kw: Largest IT power within all limits, kW.
        w_max_n1_kw: The same with the worst single unit out, kW.
        setpoint_temp_c: Supply temperature to request, deg C.
        supply_temp_c: What the racks get: liquid, or air where there is no liquid, deg C.
        rack_return_temp_c: Liquid from the racks, deg C.
        case_temp_c: Cases of the chips, deg C.
        air_supply_temp_c: Room air to the racks, deg C.
        facility_supply_temp_c: Facility water to the CDUs, deg C.
        facility_return_temp_c: Facility water to the heat rejection, deg C.
        sink_temp_c: What free cooling can reach at best: air before the coils, or wet bulb at towers, deg C.
        flow_l_per_min: Flow of the rack loop, L/min.
        head_kpa: Head of the rack loop's pumps, kPa.
        cdu_load_share: Heat through the CDUs over their heat at rated IT power.
        fan_speed: Speed of coolers' or towers' fans over the full speed.
        water_l_per_h: Make-up water, L/h.
        heat_taken_kw: Heat taken for reuse, kW.
        heat_sold_kw: Heat that the heat pumps give, kW.
        heat_pump_kw: Power of the heat pumps, kW; it is none of cooling_kw.
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW.
        residual_kw: Heat out of the plant minus heat and power into it: what the model does not account for, kW.
        mode: "off", "free cooling", "pad" (wetted), "chiller" (of the loop) or "compressor" (of a room without loop).
        cause: Limit that keeps IT power below rated: "liquid supply" or "room air"; "" where none does.
        worst_unit: Kind of the unit whose loss leaves least: "rejection", "cdu", "chiller" or "room".
    """

    it_kw: npt.NDArray[np.float64]
    cooling_kw: npt.NDArray[np.float64]
    fan_kw: npt.NDArray[np.float64]
    pump_kw: npt.NDArray[np.float64]
    compressor_kw: npt.NDArray[np.float64]
    w_max_kw: npt.NDArray[np.float64]
    w_max_n1_kw: npt.NDArray[np.float64]
    setpoint_temp_c: npt.NDArray[np.float64]
    supply_temp_c: npt.NDArray[np.float64]
    rack_return_temp_c: npt.NDArray[np.float64]
    case_temp_c: npt.NDArray[np.float64]
    air_supply_temp_c: npt.NDArray[np.float64]
    facility_supply_temp_c: npt.NDArray[np.float64]
    facility_return_temp_c: npt.NDArray[np.float64]
    sink_temp_c: npt.NDArray[np.float64]
    flow_l_per_min: npt.NDArray[np.float64]
    head_kpa: npt.NDArray[np.float64]
    cdu_load_share: npt.NDArray[np.float64]
    fan_speed: npt.NDArray[np.float64]
    water_l_per_h: npt.NDArray[np.float64]
    heat_taken_kw: npt.NDArray[np.float64]
    heat_sold_kw: npt.NDArray[np.float64]
    heat_pump_kw: npt.NDArray[np.float64]
    tank_kw: npt.NDArray[np.float64]
    residual_kw: npt.NDArray[np.float64]
    mode: npt.NDArray[np.str_]
    cause: npt.NDArray[np.str_]
    worst_unit: npt.NDArray[np.str_]

    @property
    def powered(self) -> npt.NDArray[np.bool_]:
        """Whether the plant is powered, shape (T,)."""
        return np.asarray(self.mode != OFF)


def cooling_hours(
    plant: CoolingPlant,
    it_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    powered: npt.NDArray[np.bool_],
    flows: HeatFlows = NO_FLOWS,
) -> CoolingHours:
    """Return what a plant does in every slot.

    Args:
        plant: The plant.
        it_kw: IT power, kW, shape (T,).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        powered: Whether the plant stands under power; elsewhere it takes none and carries none, shape (T,).
        flows: Heat of tank and heat pumps.

    Returns:
        The slots, in order.
    """
    tank_kw, sold_kw = (np.where(powered, kw, 0.0) for kw in flows)
    it_kw = np.where(powered, it_kw, 0.0)
    held_c = setpoint_c(plant, dry_bulb_c, wet_bulb_c)
    supply_c = None if plant.loop is None else held_c
    state = cooling(plant, it_kw, dry_bulb_c, wet_bulb_c, supply_c=supply_c, heat_sold_kw=sold_kw, tank_kw=tank_kw)
    carried_kw = w_max_kw(plant, dry_bulb_c, wet_bulb_c, tank_kw=tank_kw)
    reserve = one_out(plant, dry_bulb_c, wet_bulb_c, tank_kw)

    def power(kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.where(powered, kw, 0.0)

    def temp(temp_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.where(powered, temp_c, np.nan)

    into_kw = it_kw + state.pump_kw + state.room_fan_kw + state.compressor_kw + state.tank_kw
    return CoolingHours(
        it_kw=it_kw,
        cooling_kw=power(state.cooling_kw),
        fan_kw=power(state.fan_kw),
        pump_kw=power(state.pump_kw),
        compressor_kw=power(state.compressor_kw),
        w_max_kw=power(carried_kw),
        w_max_n1_kw=power(reserve.w_max_kw),
        setpoint_temp_c=temp(held_c),
        supply_temp_c=temp(state.supply_temp_c),
        rack_return_temp_c=temp(state.rack_return_temp_c),
        case_temp_c=temp(state.case_temp_c),
        air_supply_temp_c=temp(state.air_supply_temp_c),
        facility_supply_temp_c=temp(state.facility_supply_temp_c),
        facility_return_temp_c=temp(state.return_temp_c),
        **_loop_figures(plant, it_kw, dry_bulb_c, wet_bulb_c, powered),
        fan_speed=power(state.fan_speed),
        water_l_per_h=power(state.water_l_per_h),
        heat_taken_kw=power(state.heat_taken_kw),
        heat_sold_kw=power(state.heat_sold_kw),
        heat_pump_kw=power(state.heat_pump_kw),
        tank_kw=power(state.tank_kw),
        residual_kw=power(state.heat_rejected_kw + state.heat_taken_kw - into_kw),
        mode=_mode(plant, state, powered),
        cause=np.where(powered, limit_reached(plant, carried_kw, dry_bulb_c, wet_bulb_c, tank_kw), NONE),
        worst_unit=reserve.unit,
    )


def _loop_figures(
    plant: CoolingPlant,
    it_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    powered: npt.NDArray[np.bool_],
) -> dict[str, npt.NDArray[np.float64]]:
    names = ("sink_temp_c", "flow_l_per_min", "head_kpa", "cdu_load_share")
    if plant.loop is None:
        return dict.fromkeys(names, np.full_like(it_kw, np.nan))
    loop = plant.loop
    closed = circuit(loop, it_kw / plant.rated_it_kw, ALL)
    liquid_kw = plant.rated_it_kw * plant.liquid_heat_share
    design_l_per_min = liquid_kw / (loop.rack_volume_kj_per_m3_k * loop.loop_rise_k) * FLOW_L_PER_MIN
    pump = loop.rack_pump
    figures = (
        outdoors(loop, dry_bulb_c, wet_bulb_c).sink_c,
        design_l_per_min * closed.rack_flow,
        pump.head_kpa * (pump.static_share + (1.0 - pump.static_share) * closed.rack_flow**2),
        closed.rack_heat / (1.0 + loop.rack_pump_share),
    )
    return {name: np.where(powered, values, np.nan) for name, values in zip(names, figures, strict=True)}


def _mode(plant: CoolingPlant, state: CoolingState, powered: npt.NDArray[np.bool_]) -> npt.NDArray[np.str_]:
    if plant.loop is None:
        mode = np.where(state.compressor_kw > 0.0, COMPRESSOR, FREE)
    else:
        # what a tower takes is no pad's water
        wetted = (state.water_l_per_h > 0.0) & isinstance(plant.loop.rejection, DryCooler)
        mode = np.where(state.chiller_heat_kw > 0.0, CHILLER, np.where(wetted, PAD, FREE))
    return np.where(powered, mode, OFF)
