"""Cooling curves as a linear program needs them: per slot, convex segments of cooling power over IT power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class CoolingEnvelope:
    """The cooling of one block over a horizon of T slots, with S segments each.

    In slot t, cooling power is the highest of `slope[t, s] * it_kw + intercept_kw[t, s]` over the segments, for IT
    power from 0 to `w_max_kw[t]`.

    Args:
        slope: kW of cooling per kW of IT, shape (T, S), rising along S.
        intercept_kw: kW, shape (T, S).
        w_max_kw: Largest IT power that the plant keeps within its limits, kW, shape (T,).
        water_l_per_kwh: Water used per kWh of IT energy, L/kWh, shape (T,).
        hull_gap_kw: Largest distance between the plant's curve and its convex hull, kW, shape (T,).
        fit_error_kw: Largest distance between the plant's curve and the segments, kW, shape (T,).
        supply_setpoint_c: Facility water or air supply temperature requested, deg C, shape (T,).
    """

    slope: npt.NDArray[np.float64]
    intercept_kw: npt.NDArray[np.float64]
    w_max_kw: npt.NDArray[np.float64]
    water_l_per_kwh: npt.NDArray[np.float64]
    hull_gap_kw: npt.NDArray[np.float64]
    fit_error_kw: npt.NDArray[np.float64]
    supply_setpoint_c: npt.NDArray[np.float64]

    def cooling_kw(self, it_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the segments' cooling power, kW, for IT power `it_kw` in kW, both of shape (T,)."""
        return np.asarray((self.slope * it_kw[:, None] + self.intercept_kw).max(axis=1))
