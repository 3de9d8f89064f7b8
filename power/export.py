"""Export to the grid: how much a block may give back, and what is paid for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class GridExport:
    """A block's right to export.

    Args:
        limit_kw: Largest export, kW.
        price_share: Share of the energy price that is paid, in [0, 1]; of a price below zero as much more is asked.
        fee_per_kwh: Taken off, money per kWh exported.
        fixed_per_kwh: Paid in place of a share of the energy price, money per kWh, or None.
    """

    limit_kw: float
    price_share: float = 1.0
    fee_per_kwh: float = 0.0
    fixed_per_kwh: float | None = None


def sale_price_per_kwh(price_per_kwh: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    """Return what a sale at a share of a price brings: what is kept back is a share of its size, whatever its sign.

    Args:
        price_per_kwh: Energy price, money per kWh, shape (T,).
        share: Share of a positive price that is paid, in [0, 1].

    Returns:
        Money per kWh, shape (T,), nowhere above the price: buying and selling at once never pays.
    """
    return np.asarray(price_per_kwh - (1.0 - share) * np.abs(price_per_kwh), dtype=np.float64)


def export_price_per_kwh(export: GridExport, price_per_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what a kWh exported brings per slot, money per kWh, shape (T,)."""
    if export.fixed_per_kwh is not None:
        return np.full(len(price_per_kwh), export.fixed_per_kwh - export.fee_per_kwh)
    return sale_price_per_kwh(price_per_kwh, export.price_share) - export.fee_per_kwh
