"""Temperatures against their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.hours import CoolingHours


@dataclass(frozen=True)
class Margin:
    """The highest temperature of one kind against its limit.

    Args:
        name: "liquid supply", "chip case" or "room air".
        highest_c: Highest of the horizon, deg C.
        limit_c: Its limit, deg C.
        slot: The first slot in which it is that high.
    """

    name: str
    highest_c: float
    limit_c: float
    slot: int

    @property
    def margin_k(self) -> float:
        """Limit less highest, K; below 0 where the limit is passed."""
        return self.limit_c - self.highest_c


def margins(plant: CoolingPlant, hours: CoolingHours) -> tuple[Margin, ...]:
    """Return every kind of temperature that has a limit, in the order of the heat's way; none if never powered."""
    rows: list[tuple[str, npt.NDArray[np.float64], float]] = []
    if plant.loop is not None:
        rows += [
            ("chip case", hours.case_temp_c, plant.loop.cold_plate.case_limit_c),
            ("liquid supply", hours.supply_temp_c, plant.loop.supply_limit_c),
        ]
    if plant.liquid_heat_share < 1.0:
        rows.append(("room air", hours.air_supply_temp_c, plant.room.air_supply_limit_c))
    if not hours.powered.any():
        return ()
    return tuple(
        Margin(name, float(np.nanmax(temp_c)), limit_c, int(np.nanargmax(temp_c))) for name, temp_c, limit_c in rows
    )
