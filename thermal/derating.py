"""Hours in which a plant carries less than its rated IT power, with the limit that is reached first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from thermal.plant import cooling, outages, w_max_kw

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant

LIQUID, AIR = "liquid supply", "room air"  # with all units on, chip cases keep their limit while the liquid does
NONE = ""
JUST_BEYOND = 1e-6  # of rated IT power: from the largest safe load to one that is not
CLOSE_K = 1e-9  # rounding of a temperature
CLOSE_SHARE = 1e-9  # rounding of a load


@dataclass(frozen=True)
class Derate:
    """A spell in which less than rated IT power is carried or allowed, for one reason.

    Args:
        first: Its first slot.
        after: The slot after its last.
        cause: The limit reached first: "liquid supply" or "room air"; of a plan's limit also those of
            `thermal.limit`.
        least_kw: Smallest IT power in it, kW.
        hottest_dry_bulb_c: Highest dry bulb in it, deg C.
        hottest_wet_bulb_c: Highest wet bulb in it, deg C.
    """

    first: int
    after: int
    cause: str
    least_kw: float
    hottest_dry_bulb_c: float
    hottest_wet_bulb_c: float


@dataclass(frozen=True)
class OneOut:
    """What a plant carries with its worst single unit out; arrays of shape (T,).

    Args:
        w_max_kw: Largest IT power, kW.
        unit: Kind of the worst unit: "rejection", "cdu", "chiller" or "room".
    """

    w_max_kw: npt.NDArray[np.float64]
    unit: npt.NDArray[np.str_]


def one_out(
    plant: CoolingPlant,
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    tank_kw: npt.ArrayLike = 0.0,
) -> OneOut:
    """Return what is carried with one unit out; arguments as in `limit_reached`."""
    kinds = outages(plant)
    carried = np.stack(
        [w_max_kw(plant, dry_bulb_c, wet_bulb_c, tank_kw=tank_kw, running=running) for running in kinds.values()]
    )
    return OneOut(carried.min(axis=0), np.array(list(kinds))[carried.argmin(axis=0)])


def limit_reached(
    plant: CoolingPlant,
    carried_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    tank_kw: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.str_]:
    """Return which limit keeps each slot's IT power down, and "" where the plant carries its rated power.

    Args:
        plant: The plant.
        carried_kw: Largest safe IT power, kW, shape (T,).
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (T,).

    Returns:
        Names of limits, shape (T,).
    """
    beyond_kw = carried_kw + JUST_BEYOND * plant.rated_it_kw
    held_c = None if plant.loop is None else plant.loop.supply_limit_c
    state = cooling(plant, beyond_kw, dry_bulb_c, wet_bulb_c, supply_c=held_c, tank_kw=tank_kw)
    cause = np.full(carried_kw.shape, AIR, dtype="U16")
    if plant.loop is not None:
        cause[state.supply_temp_c > plant.loop.supply_limit_c + CLOSE_K] = LIQUID
    cause[carried_kw >= plant.rated_it_kw * (1.0 - CLOSE_SHARE)] = NONE
    return cause


def derates(
    cause: npt.NDArray[np.str_],
    carried_kw: npt.NDArray[np.float64],
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
) -> tuple[Derate, ...]:
    """Return the spells of like cause in a row of slots, "" being none; arguments as in `limit_reached`."""
    edges = [0, *(np.flatnonzero(cause[1:] != cause[:-1]) + 1).tolist(), len(cause)]
    spells = []
    for first, after in pairwise(edges):
        if cause[first] != NONE:
            within = slice(first, after)
            spells.append(
                Derate(
                    first,
                    after,
                    str(cause[first]),
                    float(carried_kw[within].min()),
                    float(dry_bulb_c[within].max()),
                    float(wet_bulb_c[within].max()),
                )
            )
    return tuple(spells)
