"""Carbon of grid energy: one basis at a time, never mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def carbon_kg(
    ci_gco2_per_kwh: npt.NDArray[np.float64], import_kw: npt.NDArray[np.float64], slot_h: float
) -> npt.NDArray[np.float64]:
    """Return the location-based carbon of imported energy per slot.

    Args:
        ci_gco2_per_kwh: Average carbon intensity per slot, gCO2e/kWh, one basis (direct or lifecycle), shape (T,).
        import_kw: Import per slot, kW, shape (..., T).
        slot_h: Length of a slot, h.

    Returns:
        kgCO2e per slot, of import_kw's shape.
    """
    return ci_gco2_per_kwh * import_kw * slot_h / 1000.0
