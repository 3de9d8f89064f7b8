"""Who buys heat from a block: what is paid, and how much is taken when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy.typing as npt

    from planner.timegrid import TimeGrid

ALL_DAY = (1.0,) * 24
ALL_YEAR = tuple(range(1, 13))


@dataclass(frozen=True)
class HeatBuyer:
    """A buyer as the site file tells.

    Args:
        price_per_kwh: What is paid, money per kWh of heat.
        demand_kw: Most that is taken, kW of heat.
        hour_share: Share of it in each hour of the day, site time, 24 of them.
        months: Calendar months, 1 to 12, in which any is taken.
    """

    price_per_kwh: float
    demand_kw: float
    hour_share: tuple[float, ...] = ALL_DAY
    months: tuple[int, ...] = ALL_YEAR

    def over(self, grid: TimeGrid, tz: ZoneInfo) -> HeatSale:
        """Return what the buyer takes in the slots of a horizon."""
        local = [start.astimezone(tz) for start in grid.starts]
        share = np.array([self.hour_share[t.hour] if t.month in self.months else 0.0 for t in local])
        return HeatSale(self.price_per_kwh, self.demand_kw * share)


@dataclass(frozen=True)
class HeatSale:
    """What a buyer takes in the slots of one horizon.

    Args:
        price_per_kwh: What is paid, money per kWh of heat.
        demand_kw: Most that is taken per slot, kW of heat, shape (T,).
    """

    price_per_kwh: float
    demand_kw: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        self.demand_kw.setflags(write=False)
