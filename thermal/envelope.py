"""Cooling curves as a linear program needs them: per slot, convex segments of cooling power over IT power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.plant import cooling, setpoint_c, w_max_kw
from thermal.secants import Secants, fit_secants

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.plant import CoolingPlant

COARSE_INTERVALS = 24  # breakpoints are chosen among the ends of these, and the curve's known kinks
FINE_PER_COARSE = 4  # the fit is measured at this many steps within each


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


def fit_envelope(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    segments: int = 4,
) -> CoolingEnvelope:
    """Return convex segments that never promise less cooling power than the plant takes.

    Between 0 and w_max_kw, the segments are secants of the curve's convex hull, with breakpoints that make the largest
    error as small as the grid of candidates allows; a segment is raised where the curve lies above the hull. What is
    paid for it stands in `fit_error_kw` and `hull_gap_kw`.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb per slot, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb per slot, deg C, shape (T,).
        segments: Segments per slot, from 1 to 24.

    Returns:
        The envelope; in a slot with w_max_kw = 0 every segment is the constant power at zero IT power (for a loop,
        fans at full speed against the pumps' own heat). Water is what a pad takes at w_max_kw, per kWh.

    Raises:
        ValueError: `segments` is out of its range, or the two series differ in length.
    """
    if not 1 <= segments <= COARSE_INTERVALS:
        raise ValueError(f"segments is {segments}; a cooling curve is fitted with 1 to {COARSE_INTERVALS}")
    dry, wet = np.asarray(dry_bulb_c, dtype=np.float64), np.asarray(wet_bulb_c, dtype=np.float64)
    if dry.ndim != 1 or dry.shape != wet.shape:
        raise ValueError(f"dry_bulb_c has shape {dry.shape} and wet_bulb_c {wet.shape}; both must be (T,)")
    # the curve depends on the weather alone: like hours are fitted once
    weather, of_slot = np.unique(np.stack([dry, wet], axis=1), axis=0, return_inverse=True)
    dry_u, wet_u = weather[:, 0], weather[:, 1]
    w_max = w_max_kw(plant, dry_u, wet_u)
    it_kw = _fine_grid(plant, w_max)
    state = cooling(plant, it_kw, dry_u[:, None], wet_u[:, None])
    fit: Secants = fit_secants(it_kw, state.cooling_kw, segments, FINE_PER_COARSE)
    water = np.divide(state.water_l_per_h[:, -1], w_max, out=np.zeros_like(w_max), where=w_max > 0.0)
    setpoint = setpoint_c(plant, dry_u, wet_u)
    return CoolingEnvelope(
        slope=fit.slope[of_slot],
        intercept_kw=fit.intercept[of_slot],
        w_max_kw=w_max[of_slot],
        water_l_per_kwh=water[of_slot],
        hull_gap_kw=fit.hull_gap[of_slot],
        fit_error_kw=fit.error[of_slot],
        supply_setpoint_c=setpoint[of_slot],
    )


def _fine_grid(plant: CoolingPlant, w_max: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return rising IT powers from 0 to w_max per row, kW: even steps, the floors of pumps and fans, steps between."""
    even = np.linspace(0.0, 1.0, COARSE_INTERVALS + 1)
    floors = [plant.room.room_fan_floor] + ([] if plant.loop is None else [plant.loop.pump_flow_floor])
    share = np.broadcast_to(even, (w_max.size, even.size))
    top = w_max / plant.rated_it_kw
    for floor in floors:
        # a floor above w_max is no kink of this row: a spare candidate takes its place, in the middle of a step
        at = np.divide(floor, top, out=np.full_like(top, 2.0), where=top > 0.0)
        at = np.where(at < 1.0, at, even[1] / 2.0)
        share = np.concatenate([share, at[:, None]], axis=1)
    coarse = np.sort(share, axis=1)
    inner = np.arange(FINE_PER_COARSE) / FINE_PER_COARSE
    fine = coarse[:, :-1, None] + np.diff(coarse, axis=1)[:, :, None] * inner
    return np.asarray(w_max[:, None] * np.concatenate([fine.reshape(w_max.size, -1), coarse[:, -1:]], axis=1))
