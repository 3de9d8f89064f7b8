"""What grid energy costs: the energy price and the demand charge on the month's peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Tariff:
    """The site's contract for energy.

    Args:
        adder_per_kwh: Fees on top of the energy price, money per kWh.
        demand_charge_per_kw_month: Money per kW of each calendar month's highest import (site total, slot average).
        month_to_date_peak_kw: Highest import already billed in the month in which the horizon starts, kW.
    """

    adder_per_kwh: float = 0.0
    demand_charge_per_kw_month: float = 0.0
    month_to_date_peak_kw: float = 0.0


def energy_cost(
    tariff: Tariff,
    price_per_kwh: npt.NDArray[np.float64],
    import_kw: npt.NDArray[np.float64],
    slot_h: float,
) -> float:
    """Return the money paid for imported energy; prices may be negative.

    Args:
        tariff: The contract.
        price_per_kwh: Energy price per slot, money per kWh, shape (T,).
        import_kw: Site import per slot, kW, shape (T,).
        slot_h: Length of a slot, h.
    """
    return float(np.sum((price_per_kwh + tariff.adder_per_kwh) * import_kw) * slot_h)


def demand_cost(tariff: Tariff, import_kw: npt.NDArray[np.float64], month: npt.NDArray[np.int64]) -> float:
    """Return what the horizon adds to the months' demand charges.

    Only what a month's peak rises above the peak already billed is new money; a month that starts within the
    horizon starts from zero.

    Args:
        tariff: The contract.
        import_kw: Site import per slot, kW, shape (T,).
        month: Index of each slot's calendar month in site time, 0 for the first slot's, shape (T,).
    """
    added = 0.0
    for m in np.unique(month):
        billed = tariff.month_to_date_peak_kw if m == 0 else 0.0
        added += max(0.0, float(import_kw[month == m].max()) - billed)
    return added * tariff.demand_charge_per_kw_month
