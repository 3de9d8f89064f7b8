"""Where a plant's cooling curve bends or jumps over the load, and the loads at which it is sampled."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thermal.chain import free_carries
from thermal.halving import halved
from thermal.outdoors import outdoors
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant

BISECTIONS = 50  # halves the span of 0 to rated IT power to rounding error
JUST_BELOW = 1e-12  # of rated IT power: rounding of the load does not start a chiller here
JUST_ABOVE = 1e-9  # of the span: from the last load before a jump to a load behind it


def chiller_start_kw(
    plant: CoolingPlant,
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    supply_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the largest IT power that full fans alone carry at a held supply.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        supply_c: Liquid supply that is held, deg C, shape (T,).

    Returns:
        IT power in kW, shape (T,), from 0 (not even the pumps' heat) to rated; rated where the power does not jump:
        without chillers, or where they and the fans share the load at their best.
    """
    high = np.ones_like(dry_bulb_c)
    if plant.loop is None or not plant.loop.has_chiller or plant.loop.sequence == "optimal":
        return plant.rated_it_kw * high
    air = outdoors(plant.loop, dry_bulb_c, wet_bulb_c)
    enough = partial(free_carries, plant.loop, air=air, held_c=supply_c, running=ALL)
    last, _ = halved(enough, np.zeros_like(high), high, BISECTIONS)
    return np.asarray(plant.rated_it_kw * np.where(enough(high), 1.0, np.maximum(last - JUST_BELOW, 0.0)))


def load_grid_kw(
    plant: CoolingPlant,
    low_kw: npt.NDArray[np.float64],
    high_kw: npt.NDArray[np.float64],
    jump_kw: npt.NDArray[np.float64] | None,
    intervals: int,
    fine: int,
) -> npt.NDArray[np.float64]:
    """Return rising IT powers from low to high per row: even steps, the kinks among them, and steps between.

    Args:
        plant: The plant.
        low_kw: First IT power, kW, shape (T,).
        high_kw: Last IT power, kW, shape (T,).
        jump_kw: IT power above which the curve jumps, kW, shape (T,), or None.
        intervals: Even steps.
        fine: Steps into which each is cut again.

    Returns:
        kW, shape (T, P) with P - 1 a multiple of `fine`; every `fine`-th is a candidate for a breakpoint.
    """
    even = np.linspace(0.0, 1.0, intervals + 1)
    span = high_kw - low_kw
    kinks = [np.full_like(span, floor * plant.rated_it_kw) for floor in _floors(plant)]
    if jump_kw is not None:
        kinks += [jump_kw, jump_kw + JUST_ABOVE * span]
    share = np.broadcast_to(even, (span.size, even.size))
    for k, kink_kw in enumerate(kinks):
        at = np.divide(kink_kw - low_kw, span, out=np.full_like(span, 2.0), where=span > 0.0)
        # a kink outside is none of this row: a spare candidate takes its place, within the first step
        spare = even[1] * (k + 1.0) / (len(kinks) + 1.0)
        share = np.concatenate([share, np.where((at > 0.0) & (at < 1.0), at, spare)[:, None]], axis=1)
    coarse = np.sort(share, axis=1)
    inner = np.arange(fine) / fine
    between = coarse[:, :-1, None] + np.diff(coarse, axis=1)[:, :, None] * inner
    all_shares = np.concatenate([between.reshape(span.size, -1), coarse[:, -1:]], axis=1)
    grid = low_kw[:, None] + span[:, None] * all_shares
    grid[:, -1] = high_kw
    return np.asarray(grid)


def _floors(plant: CoolingPlant) -> list[float]:
    """Return the loads below which fans and pumps slow down no further, over rated IT power."""
    floors = {plant.room.room_fan_floor}
    if plant.loop is not None:
        floors |= {plant.loop.rack_pump.flow_floor, plant.loop.facility_pump.flow_floor}
    return sorted(floors)
