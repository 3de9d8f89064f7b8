"""Cooling curves as a linear program needs them: per slot, convex segments of cooling power over IT power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.kinks import chiller_start_kw, load_grid_kw
from thermal.plant import cooling, setpoint_c, w_max_kw, w_max_n1_kw
from thermal.secants import Secants, fit_secants

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.plant import CoolingPlant

COARSE_INTERVALS = 24  # breakpoints are chosen among the ends of these, and the curve's known kinks
FINE_PER_COARSE = 4  # the fit is measured at this many steps within each
CONVEX_SHARE = 0.0025  # of rated IT power: a curve within this of its convex hull counts as convex


@dataclass(frozen=True)
class CoolingEnvelope:
    """The cooling of one block over a horizon of T slots, with S segments each.

    In slot t, cooling power is the highest of `slope[t, s] * it_kw + intercept_kw[t, s]` over the segments, for IT
    power from 0 to `w_max_kw[t]`.

    Args:
        slope: kW of cooling per kW of IT, shape (T, S), rising along S.
        intercept_kw: kW, shape (T, S).
        w_max_kw: Largest IT power that the plant keeps within its limits, kW, shape (T,).
        w_max_n1_kw: The same with the worst single unit out, kW, shape (T,).
        water_l_per_kwh: Water used per kWh of IT energy, L/kWh, shape (T,).
        hull_gap_kw: Largest distance between the plant's curve and its convex hull, kW, shape (T,).
        fit_error_kw: Largest distance between the plant's curve and the segments, kW, shape (T,).
        convex: Whether the hull gap is within 0.25 % of rated IT power, shape (T,); where it is not, the segments
            over-estimate by up to the fit error and the two branches of `fit_branches` do better.
        supply_setpoint_c: Facility water or air supply temperature requested, deg C, shape (T,).
    """

    slope: npt.NDArray[np.float64]
    intercept_kw: npt.NDArray[np.float64]
    w_max_kw: npt.NDArray[np.float64]
    w_max_n1_kw: npt.NDArray[np.float64]
    water_l_per_kwh: npt.NDArray[np.float64]
    hull_gap_kw: npt.NDArray[np.float64]
    fit_error_kw: npt.NDArray[np.float64]
    convex: npt.NDArray[np.bool_]
    supply_setpoint_c: npt.NDArray[np.float64]

    def cooling_kw(self, it_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the segments' cooling power, kW, for IT power `it_kw` in kW, both of shape (T,)."""
        return np.asarray((self.slope * it_kw[:, None] + self.intercept_kw).max(axis=1))


@dataclass(frozen=True)
class Branches:
    """A cooling curve in two pieces for a program with one binary per slot: chillers off, chillers on.

    Args:
        split_kw: Largest IT power without chillers, kW, shape (T,); w_max_kw where they are never needed.
        off_slope: kW per kW, shape (T, S): valid from 0 to split_kw.
        off_intercept_kw: kW, shape (T, S).
        on_slope: kW per kW, shape (T, S): valid from split_kw to w_max_kw; in slots without a need, as when off.
        on_intercept_kw: kW, shape (T, S).
        fit_error_kw: Largest distance between the plant's curve and the segments of its branch, kW, shape (T,).
    """

    split_kw: npt.NDArray[np.float64]
    off_slope: npt.NDArray[np.float64]
    off_intercept_kw: npt.NDArray[np.float64]
    on_slope: npt.NDArray[np.float64]
    on_intercept_kw: npt.NDArray[np.float64]
    fit_error_kw: npt.NDArray[np.float64]


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
    dry, wet, of_slot = _like_hours(dry_bulb_c, wet_bulb_c, segments)
    w_max = w_max_kw(plant, dry, wet)
    setpoint = setpoint_c(plant, dry, wet)
    start = chiller_start_kw(plant, dry, wet, setpoint)
    it_kw = load_grid_kw(plant, np.zeros_like(w_max), w_max, start, COARSE_INTERVALS, FINE_PER_COARSE)
    held = None if plant.loop is None else setpoint[:, None]
    state = cooling(plant, it_kw, dry[:, None], wet[:, None], supply_c=held)
    fit: Secants = fit_secants(it_kw, state.cooling_kw, segments, FINE_PER_COARSE)
    water = np.divide(state.water_l_per_h[:, -1], w_max, out=np.zeros_like(w_max), where=w_max > 0.0)
    return CoolingEnvelope(
        slope=fit.slope[of_slot],
        intercept_kw=fit.intercept[of_slot],
        w_max_kw=w_max[of_slot],
        w_max_n1_kw=w_max_n1_kw(plant, dry, wet)[of_slot],
        water_l_per_kwh=water[of_slot],
        hull_gap_kw=fit.hull_gap[of_slot],
        fit_error_kw=fit.error[of_slot],
        convex=fit.hull_gap[of_slot] <= CONVEX_SHARE * plant.rated_it_kw,
        supply_setpoint_c=setpoint[of_slot],
    )


def fit_branches(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    segments: int = 4,
) -> Branches:
    """Return the curve in two pieces, below and above the load at which chillers start; arguments as `fit_envelope`.

    Fans first, then chillers: the power jumps where they start, and no convex curve follows that. One binary per slot
    that chooses the piece does. Where a site runs both at their best, or has no chiller, the pieces are one.
    """
    dry, wet, of_slot = _like_hours(dry_bulb_c, wet_bulb_c, segments)
    w_max = w_max_kw(plant, dry, wet)
    setpoint = setpoint_c(plant, dry, wet)
    split = np.minimum(chiller_start_kw(plant, dry, wet, setpoint), w_max)
    held = None if plant.loop is None else setpoint[:, None]
    fits = []
    for low, high in ((np.zeros_like(split), split), (np.where(split < w_max, np.nextafter(split, w_max), 0.0), w_max)):
        it_kw = load_grid_kw(plant, low, high, None, COARSE_INTERVALS, FINE_PER_COARSE)
        state = cooling(plant, it_kw, dry[:, None], wet[:, None], supply_c=held)
        fits.append(fit_secants(it_kw, state.cooling_kw, segments, FINE_PER_COARSE))
    off, on = fits
    return Branches(
        split_kw=split[of_slot],
        off_slope=off.slope[of_slot],
        off_intercept_kw=off.intercept[of_slot],
        on_slope=on.slope[of_slot],
        on_intercept_kw=on.intercept[of_slot],
        fit_error_kw=np.maximum(off.error, on.error)[of_slot],
    )


def _like_hours(
    dry_bulb_c: npt.ArrayLike, wet_bulb_c: npt.ArrayLike, segments: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return dry and wet bulb of each different weather, and which of them each slot has.

    The curve depends on the weather alone: like hours are fitted once.
    """
    if not 1 <= segments <= COARSE_INTERVALS:
        raise ValueError(f"segments is {segments}; a cooling curve is fitted with 1 to {COARSE_INTERVALS}")
    dry, wet = np.asarray(dry_bulb_c, dtype=np.float64), np.asarray(wet_bulb_c, dtype=np.float64)
    if dry.ndim != 1 or dry.shape != wet.shape:
        raise ValueError(f"dry_bulb_c has shape {dry.shape} and wet_bulb_c {wet.shape}; both must be (T,)")
    weather, of_slot = np.unique(np.stack([dry, wet], axis=1), axis=0, return_inverse=True)
    return weather[:, 0], weather[:, 1], of_slot
