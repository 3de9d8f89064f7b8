"""Seconds from each failure of the liquid loops to the limits of the chips' cases, over a horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.failure import seconds_to_limit
from thermal.transient import Event

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.hours import CoolingHours

THROTTLE_C = 85.0  # of the 83 to 90 C at which an H100 slows down by itself


@dataclass(frozen=True)
class Reach:
    """How long one failure takes to one limit.

    Args:
        event: What fails.
        limit_c: Highest case temperature, deg C.
        time_s: Seconds per slot, inf where the limit is never reached, not a number where the plant is not powered,
            shape (T,).
    """

    event: Event
    limit_c: float
    time_s: npt.NDArray[np.float64]


def reaches(
    plant: CoolingPlant, hours: CoolingHours, dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]
) -> tuple[Reach, ...]:
    """Return the seconds to the plant's case limit, and to throttling where that is higher, for each failure.

    Args:
        plant: The plant.
        hours: Its slots.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).

    Returns:
        One entry per failure and limit; none without a liquid loop.
    """
    if plant.loop is None:
        return ()
    limits_c = np.array(sorted({plant.loop.cold_plate.case_limit_c, THROTTLE_C}))
    limits_c = limits_c[limits_c >= plant.loop.cold_plate.case_limit_c]
    found = []
    for event in Event:
        time_s = seconds_to_limit(
            plant, event, hours.it_kw[:, None], dry_bulb_c[:, None], wet_bulb_c[:, None], limits_c
        )
        time_s[~hours.powered] = np.nan
        found += [Reach(event, float(limit_c), time_s[:, i]) for i, limit_c in enumerate(limits_c)]
    return tuple(found)
