"""The liquid chain in steady state: from chip case to outdoor air."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.circuit import circuit
from thermal.coil import coil, inlet_c_for
from thermal.components import chiller
from thermal.components.dry_cooler import LATENT_KJ_PER_KG, DryCooler, pad_water_l_per_kwh
from thermal.sequence import Split, fans_first, least_power
from thermal.tank import rejected

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.circuit import Circuit
    from thermal.loop import LiquidLoop
    from thermal.outdoors import Outdoors
    from thermal.units_out import Running

NO_FLOW = np.zeros(())
CONDENSER_LATENT_SHARE = 0.85  # of the heat of a wet condenser; the rest warms air (K)


class LoopState(NamedTuple):
    """The chain per kW of rated liquid heat; arrays of one shape.

    Args:
        fan: Power of the coolers' or towers' fans and of the chillers' condensers, all outdoors.
        rack_pump: Power of the rack loop's pumps.
        facility_pump: Power of the facility loop's pumps, those of the tank included.
        compressor: Power of the chillers.
        heat: Heat given to the outdoor air: racks, pumps and compressors, less what was taken for reuse, and with what
            fills the tank or goes into it; not the fans, which stand behind the coils.
        cooled: Heat that went through the chillers.
        supply_c: Liquid to the racks, deg C.
        case_c: Cases of the chips, deg C.
        rack_return_c: Liquid from the racks, deg C.
        facility_supply_c: Facility water to the CDUs, deg C.
        facility_return_c: Facility water into the heat rejection, deg C.
        fan_speed: Share of full speed; 0 where natural draught is enough.
        taken: Heat taken from the facility return for reuse.
        tank: Heat rejected to fill the tank with cold; below 0 the racks' heat that goes into it.
        water_l_per_h: Water that pads, towers and wet condensers take, bleed included, L/h.
    """

    fan: npt.NDArray[np.float64]
    rack_pump: npt.NDArray[np.float64]
    facility_pump: npt.NDArray[np.float64]
    compressor: npt.NDArray[np.float64]
    heat: npt.NDArray[np.float64]
    cooled: npt.NDArray[np.float64]
    supply_c: npt.NDArray[np.float64]
    case_c: npt.NDArray[np.float64]
    rack_return_c: npt.NDArray[np.float64]
    facility_supply_c: npt.NDArray[np.float64]
    facility_return_c: npt.NDArray[np.float64]
    fan_speed: npt.NDArray[np.float64]
    taken: npt.NDArray[np.float64]
    tank: npt.NDArray[np.float64]
    water_l_per_h: npt.NDArray[np.float64]


def loop_state(
    loop: LiquidLoop,
    load: npt.NDArray[np.float64],
    air: Outdoors,
    held_c: npt.NDArray[np.float64],
    running: Running,
    taken: npt.NDArray[np.float64],
    tank: npt.NDArray[np.float64] = NO_FLOW,
) -> LoopState:
    """Return the steady state of the chain; arguments broadcast against each other.

    The supply is held; where nothing can hold it any longer, it warms until full fans and all chillers carry the heat.
    In the cold a bypass holds it, so that no cooler or tower over-cools at little load.

    Args:
        loop: The loop.
        load: IT power over rated IT power, 0 or more, shape (...).
        air: The outdoor air.
        held_c: Rack supply that the controls hold, deg C, shape (...).
        running: Units that run.
        taken: Heat taken from the facility return for reuse, over rated liquid heat; more than there is counts as all.
        tank: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, over rated liquid
            heat; more than there is counts as all.

    Returns:
        Powers per kW of rated liquid heat and temperatures, each of shape (...).
    """
    closed = circuit(loop, load, running)
    out = rejected(loop, closed, taken, tank)
    rate_per_k, left = out.flow * loop.facility_rate_per_k, out.heat
    wanted_c = held_c - closed.cdu_k
    inlet_c = wanted_c + left / rate_per_k
    free = coil(loop, out.flow, inlet_c, air.sink_c, running.rejection)
    cop = chiller.cop(loop.chiller, wanted_c, air.condenser_c)
    sequence = least_power if loop.sequence == "optimal" and loop.has_chiller else fans_first
    split = sequence(free, left, cop, running.chiller)
    shape = np.broadcast_shapes(split.air_flow.shape, inlet_c.shape)
    facility_c = np.array(np.broadcast_to(wanted_c, shape))
    warm = np.broadcast_to(split.unmet > 0.0, shape)
    if warm.any():
        flow, by_air, sink_c, rate, heat = (
            np.broadcast_to(v, shape)[warm] for v in (out.flow, left - split.cooled, air.sink_c, rate_per_k, left)
        )
        facility_c[warm] = inlet_c_for(loop, flow, by_air, sink_c, running.rejection) - heat / rate
    supply_c = facility_c + closed.cdu_k
    natural = loop.rejection.natural_draught_share
    compressor = split.compressor
    values = LoopState(
        fan=split.fan + split.condenser_fan,
        rack_pump=closed.rack_pump,
        facility_pump=closed.facility_pump + out.pump,
        compressor=compressor,
        heat=left + compressor,
        cooled=split.cooled,
        supply_c=supply_c,
        case_c=supply_c + closed.plate_k,
        rack_return_c=supply_c + closed.rack_heat / (closed.rack_flow * loop.rack_rate_per_k),
        facility_supply_c=facility_c,
        facility_return_c=facility_c + left / rate_per_k,
        fan_speed=np.where(split.air_flow > natural * (1.0 + 1e-9), split.air_flow, 0.0),
        taken=out.taken,
        tank=out.tank,
        water_l_per_h=_water(loop, left, air, split, running),
    )
    return LoopState(*(np.broadcast_to(v, shape) for v in values))


def safe_at_limit(
    loop: LiquidLoop,
    load: npt.NDArray[np.float64],
    air: Outdoors,
    running: Running,
    tank: npt.NDArray[np.float64] = NO_FLOW,
) -> npt.NDArray[np.bool_]:
    """Return where full fans and all chillers hold the limits of rack supply and case; arguments as `loop_state`.

    Heat taken for reuse is not counted on: who takes it may stop.
    """
    closed = circuit(loop, load, running)
    out = rejected(loop, closed, NO_FLOW, tank)
    by_fans = fans_carry(loop, out.flow, out.heat, loop.supply_limit_c - closed.cdu_k, air, running)
    carried = by_fans + loop.chiller.capacity_share * running.chiller
    return np.asarray((carried >= out.heat) & cases_cool(loop, closed))


def cases_cool(loop: LiquidLoop, closed: Circuit) -> npt.NDArray[np.bool_]:
    """Return where the chips' cases stay within their limit with the warmest liquid that the racks may get."""
    return np.asarray(loop.supply_limit_c + closed.plate_k <= loop.cold_plate.case_limit_c)


def fans_carry(
    loop: LiquidLoop,
    flow: npt.NDArray[np.float64],
    heat: npt.NDArray[np.float64],
    facility_c: npt.NDArray[np.float64],
    air: Outdoors,
    running: Running,
) -> npt.NDArray[np.float64]:
    """Return the heat that full fans carry where heat rejection is to give water of a temperature.

    Args:
        loop: The loop.
        flow: Flow through the heat rejection over the facility loop's design flow, shape (...).
        heat: Heat to be rejected over rated liquid heat, shape (...): it warms the water that comes in.
        facility_c: Water out of the heat rejection, deg C, shape (...).
        air: Outdoor air.
        running: Units that run.

    Returns:
        Heat over rated liquid heat, shape (...); below `heat` where they do not make the water so cold.
    """
    inlet_c = facility_c + heat / (flow * loop.facility_rate_per_k)
    return coil(loop, flow, inlet_c, air.sink_c, running.rejection).carried(1.0)


def free_carries(
    loop: LiquidLoop,
    load: npt.NDArray[np.float64],
    air: Outdoors,
    held_c: npt.NDArray[np.float64],
    running: Running,
) -> npt.NDArray[np.bool_]:
    """Return where full fans alone hold a rack supply, so that no chiller starts; arguments as `loop_state`."""
    closed = circuit(loop, load, running)
    carried = fans_carry(loop, closed.facility_flow, closed.heat, held_c - closed.cdu_k, air, running)
    return np.asarray(carried >= closed.heat)


def free_supply_c(
    loop: LiquidLoop, load: npt.NDArray[np.float64], air: Outdoors, running: Running
) -> npt.NDArray[np.float64]:
    """Return the coldest liquid that full fans alone give the racks, deg C; arguments as `loop_state`."""
    closed: Circuit = circuit(loop, load, running)
    rate_per_k = closed.facility_flow * loop.facility_rate_per_k
    inlet_c = inlet_c_for(loop, closed.facility_flow, closed.heat, air.sink_c, running.rejection)
    return np.asarray(inlet_c - closed.heat / rate_per_k + closed.cdu_k)


def _water(
    loop: LiquidLoop, heat: npt.NDArray[np.float64], air: Outdoors, split: Split, running: Running
) -> npt.NDArray[np.float64]:
    """Return water per kW of rated liquid heat, L/h."""
    if isinstance(loop.rejection, DryCooler):
        rate = loop.rejection_air_per_k * split.air_flow * running.rejection
        return pad_water_l_per_kwh(loop.pad, rate, air.dry_c - air.sink_c)
    air_kg_per_s = loop.rejection.air_kg_per_s(loop.facility_rate_per_k) * split.air_flow * running.rejection
    tower = loop.rejection.water_l_per_kwh(heat - split.cooled, air_kg_per_s, air.dry_c, air.wet_c)
    condensed = (split.cooled + split.compressor) * CONDENSER_LATENT_SHARE / LATENT_KJ_PER_KG * 3600.0
    return np.asarray(tower + condensed / (1.0 - 1.0 / loop.rejection.cycles_of_concentration))
