"""The check of a calendar in force against what its plan may take: weather, plant and reserve change after a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thermal.alarms import PLANNING, ROUNDING_SHARE, Alarm, Level, told_kw
from thermal.derating import AIR, LIQUID, NONE
from thermal.limit import POWER, UNPOWERED

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.limit import PlanLimit

NAME = "Plan limit"
RATING = "rated IT power"
PASSED = (LIQUID, AIR, RATING, POWER, UNPOWERED)  # what is passed without any failure; reserves are passed by one


def plan_limit_alarm(plant: CoolingPlant, it_kw: npt.NDArray[np.float64], limit: PlanLimit, slot_h: float) -> Alarm:
    """Return the check of a calendar's IT power against the limit that a plan obeys.

    Args:
        plant: The plant.
        it_kw: IT power of the calendar in force, kW, shape (T,).
        limit: What a plan may take in this weather, with the site's reserve in hand.
        slot_h: Length of a slot, h.

    Returns:
        Green within the limit; amber where only a reserve is given up, red where a limit is passed without any failure.
    """
    left_kw = limit.it_kw - it_kw
    over = left_kw < -ROUNDING_SHARE * plant.rated_it_kw
    worst = int(np.argmin(left_kw))
    if not over.any():
        told = (
            f"The calendar in force stays within what a plan may take; {told_kw(left_kw[worst])} are left at the least."
        )
        return Alarm(NAME, Level.GREEN, told, "", PLANNING)
    causes = np.where(limit.cause == NONE, RATING, limit.cause)[over]
    hours = ", ".join(f"{name} in {slot_h * (causes == name).sum():g} h" for name in sorted(set(causes.tolist())))
    return Alarm(
        NAME,
        Level.RED if np.isin(causes, PASSED).any() else Level.AMBER,
        f"The calendar in force takes {told_kw(it_kw[worst])} of IT power where a plan may take "
        f"{told_kw(limit.it_kw[worst])}. What binds: {hours}.",
        f"Plan the week again; until then hold these hours' IT power down by up to {told_kw(-left_kw[worst])}.",
        PLANNING,
        int(np.argmax(over)),
        float(over.sum()) * slot_h,
    )
