"""The two parts of cooling power: what follows the racks, and what the heat to be rejected takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.circuit import circuit
from thermal.components.room import room_state
from thermal.plant import cooling
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.plant import CoolingPlant


def own_kw(
    plant: CoolingPlant, it_kw: npt.NDArray[np.float64], dry_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the power of the loops' pumps and of the room: it follows the IT power, whatever tank and heat pumps do.

    Args:
        plant: The plant; it has a liquid loop.
        it_kw: IT power, kW, shape (...).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (...).

    Returns:
        kW, shape (...).
    """
    assert plant.loop is not None
    load = it_kw / plant.rated_it_kw
    liquid_kw = plant.rated_it_kw * plant.liquid_heat_share
    closed = circuit(plant.loop, load, ALL)
    room = room_state(plant.room, load, dry_bulb_c, ALL.room)
    return np.asarray(
        liquid_kw * (closed.rack_pump + closed.facility_pump)
        + (plant.rated_it_kw - liquid_kw) * (room.room_fan + room.outdoor_fan + room.compressor)
    )


def rejection_kw(
    plant: CoolingPlant,
    it_kw: npt.NDArray[np.float64],
    weather_c: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    supply_c: npt.NDArray[np.float64],
    *,
    tank_kw: npt.ArrayLike = 0.0,
    taken_kw: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.float64]:
    """Return the power of fans outdoors and chillers of the loop: it follows the heat to be rejected.

    Args:
        plant: The plant; it has a liquid loop.
        it_kw: IT power, kW, shape (...).
        weather_c: Outdoor dry bulb and wet bulb, deg C, shape (...) each.
        supply_c: Liquid supply that is held, deg C, shape (...).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (...).
        taken_kw: Heat taken from the facility return for reuse, kW, shape (...).

    Returns:
        kW, shape (...).
    """
    assert plant.loop is not None
    state = cooling(plant, it_kw, *weather_c, supply_c=supply_c, heat_taken_kw=taken_kw, tank_kw=tank_kw)
    tank_pump_kw = plant.loop.store.pump_w_per_kw / 1000.0 * np.abs(state.tank_kw)
    return np.asarray(state.cooling_kw - own_kw(plant, it_kw, weather_c[0]) - tank_pump_kw)
