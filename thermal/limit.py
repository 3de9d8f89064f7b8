"""The IT power that a plan may take at most in each hour, and what keeps it from taking more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.alarms import ROUNDING_SHARE, unit_name
from thermal.halving import halved
from thermal.plant import cooling, setpoint_c
from thermal.reserve import carried_it_kw
from thermal.reuse import NO_FLOWS, HeatFlows

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.hours import CoolingHours
    from thermal.reserve import Reserve

RIDE_THROUGH, POWER, UNPOWERED = "ride-through", "power of the block", "not powered"
BISECTIONS = 46  # halves rated IT power to rounding error


@dataclass(frozen=True)
class PlanLimit:
    """What a plan may take at most; arrays of shape (T,).

    Args:
        it_kw: IT power, kW.
        cause: What binds: a limit of the plant with all units ("liquid supply" or "room air"), "one ... out"
            with the unit, "ride-through", "power of the block" or "not powered"; "" where rated IT power is allowed.
    """

    it_kw: npt.NDArray[np.float64]
    cause: npt.NDArray[np.str_]


def it_limit_kw(
    plant: CoolingPlant,
    reserve: Reserve,
    powered: npt.NDArray[np.bool_],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    tank_kw: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.float64]:
    """Return the IT power that a plant allows a plan, with the site's reserve in hand; none where it is not powered.

    Args:
        plant: The plant.
        reserve: What the site holds back.
        powered: Whether the plant stands under power, shape (T,).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (T,).

    Returns:
        kW, shape (T,).

    Raises:
        ValueError: A restart time is given for a plant without a liquid loop.
    """
    return np.where(powered, carried_it_kw(plant, reserve, dry_bulb_c, wet_bulb_c, tank_kw=tank_kw), 0.0)


def within_power_kw(
    plant: CoolingPlant,
    most_kw: npt.NDArray[np.float64],
    capacity_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    flows: HeatFlows = NO_FLOWS,
) -> npt.NDArray[np.float64]:
    """Return the IT power that a capacity carries together with the power of its cooling and its heat pumps.

    Args:
        plant: The plant; its power rises with IT power.
        most_kw: IT power looked at at most, kW, shape (T,).
        capacity_kw: Power of IT and cooling at most, kW, shape (T,).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        flows: Heat of tank and heat pumps.

    Returns:
        kW, shape (T,), from 0 to `most_kw`.
    """
    held_c = None if plant.loop is None else setpoint_c(plant, dry_bulb_c, wet_bulb_c)

    def fits(it_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        state = cooling(
            plant,
            it_kw,
            dry_bulb_c,
            wet_bulb_c,
            supply_c=held_c,
            tank_kw=flows.tank_kw,
            heat_sold_kw=flows.sold_kw,
        )
        return np.asarray(it_kw + state.cooling_kw + state.heat_pump_kw <= capacity_kw)

    whole = fits(most_kw)
    if whole.all():
        return most_kw
    found_kw, _ = halved(fits, np.zeros_like(most_kw), most_kw, BISECTIONS)
    return np.where(whole, most_kw, found_kw)


def plan_limit(
    plant: CoolingPlant,
    reserve: Reserve,
    hours: CoolingHours,
    capacity_kw: npt.NDArray[np.float64] | None,
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
) -> PlanLimit:
    """Return the IT power that a plan may take at most, with what binds in each slot.

    Args:
        plant: The plant.
        reserve: What the site holds back.
        hours: The plant's slots.
        capacity_kw: Power that the block has for IT and cooling, kW, shape (T,); None: not looked at.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).

    Raises:
        ValueError: A restart time is given for a plant without a liquid loop.
    """
    limit_kw = it_limit_kw(plant, reserve, hours.powered, dry_bulb_c, wet_bulb_c, hours.tank_kw)
    rounding_kw = ROUNDING_SHARE * plant.rated_it_kw
    cause = hours.cause.astype("U32")
    left_kw = hours.w_max_kw
    if reserve.one_out:
        binds = hours.w_max_n1_kw < left_kw - rounding_kw
        units = [f"one {unit_name(plant, str(unit))} out" for unit in hours.worst_unit]
        cause = np.where(binds, np.array(units), cause)
        left_kw = hours.w_max_n1_kw
    cause = np.where(limit_kw < left_kw - rounding_kw, RIDE_THROUGH, cause)
    if capacity_kw is not None:
        flows = HeatFlows(hours.tank_kw, hours.heat_sold_kw)
        within_kw = within_power_kw(plant, limit_kw, capacity_kw, dry_bulb_c, wet_bulb_c, flows)
        cause = np.where(within_kw < limit_kw - rounding_kw, POWER, cause)
        limit_kw = within_kw
    return PlanLimit(limit_kw, np.where(hours.powered, cause, UNPOWERED))
