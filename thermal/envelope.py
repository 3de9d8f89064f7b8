"""Cooling curves as a linear program needs them: per slot, convex segments of cooling power over IT power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.cut import best_cut
from thermal.kinks import chiller_start_kw, load_grid_kw
from thermal.plant import cooling, setpoint_c, w_max_kw, w_max_n1_kw
from thermal.secants import Secants, fit_secants
from thermal.split import own_kw

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
    power from 0 to `w_max_kw[t]`, or over the part of it that was asked for.

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
    """A cooling curve in two pieces for a program with one binary per slot, such as chillers off and chillers on.

    Args:
        split_kw: Largest IT power of the lower piece, kW, shape (T,).
        off_slope: kW per kW, shape (T, S): valid up to split_kw.
        off_intercept_kw: kW, shape (T, S).
        on_slope: kW per kW, shape (T, S): valid from split_kw to w_max_kw.
        on_intercept_kw: kW, shape (T, S).
        hull_gap_kw: Largest distance between a piece of the plant's curve and its convex hull, kW, shape (T,).
        fit_error_kw: Largest distance between the plant's curve and the segments of its piece, kW, shape (T,).
    """

    split_kw: npt.NDArray[np.float64]
    off_slope: npt.NDArray[np.float64]
    off_intercept_kw: npt.NDArray[np.float64]
    on_slope: npt.NDArray[np.float64]
    on_intercept_kw: npt.NDArray[np.float64]
    hull_gap_kw: npt.NDArray[np.float64]
    fit_error_kw: npt.NDArray[np.float64]


def fit_envelope(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    segments: int = 4,
    asked_kw: tuple[npt.ArrayLike, npt.ArrayLike] = (0.0, np.inf),
    *,
    rejection_only: bool = False,
) -> CoolingEnvelope:
    """Return convex segments that never promise less cooling power than the plant takes.

    Over the loads asked for, the segments are secants of the curve's convex hull, with breakpoints that make the
    largest error as small as the grid of candidates allows; a segment is raised where the curve lies above the hull.
    What is paid for it stands in `fit_error_kw` and `hull_gap_kw`.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb per slot, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb per slot, deg C, shape (T,).
        segments: Segments per slot, from 1 to 24.
        asked_kw: Least and largest IT power for which the segments must hold, kW, shape (T,) or one number; beyond
            w_max_kw they need not.
        rejection_only: Whether the segments are those of the heat rejection alone (`thermal.split.rejection_kw`).

    Returns:
        The envelope; in a slot with w_max_kw = 0 every segment is the constant power at zero IT power (for a loop,
        fans at full speed against the pumps' own heat). Water is what a pad takes at the largest load, per kWh.

    Raises:
        ValueError: `segments` is out of its range, or the two series differ in length.
    """
    hours = _like_hours(plant, dry_bulb_c, wet_bulb_c, segments, asked_kw)
    it_kw, cooling_kw, water_l_per_h = _curve(plant, hours, hours.low_kw, hours.high_kw, rejection_only)
    fit: Secants = fit_secants(it_kw, cooling_kw, segments, FINE_PER_COARSE)
    largest = it_kw[:, -1]
    water = np.divide(water_l_per_h[:, -1], largest, out=np.zeros_like(largest), where=largest > 0.0)
    of_slot = hours.of_slot
    return CoolingEnvelope(
        slope=fit.slope[of_slot],
        intercept_kw=fit.intercept[of_slot],
        w_max_kw=hours.w_max_kw[of_slot],
        w_max_n1_kw=w_max_n1_kw(plant, hours.dry_c, hours.wet_c)[of_slot],
        water_l_per_kwh=water[of_slot],
        hull_gap_kw=fit.hull_gap[of_slot],
        fit_error_kw=fit.error[of_slot],
        convex=fit.hull_gap[of_slot] <= CONVEX_SHARE * plant.rated_it_kw,
        supply_setpoint_c=hours.setpoint_c[of_slot],
    )


def fit_branches(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    segments: int = 4,
    asked_kw: tuple[npt.ArrayLike, npt.ArrayLike] = (0.0, np.inf),
    *,
    rejection_only: bool = False,
) -> Branches:
    """Return the curve cut in two where both pieces are nearest to convex; arguments as in `fit_envelope`.

    Where chillers start after the fans, the power jumps; where they are at their capacity and the supply warms, it
    flattens. No convex curve follows either, and one binary per slot that chooses the piece does.
    """
    hours = _like_hours(plant, dry_bulb_c, wet_bulb_c, segments, asked_kw)
    split = best_cut(*_curve(plant, hours, hours.low_kw, hours.high_kw, rejection_only)[:2])
    off = fit_secants(*_curve(plant, hours, hours.low_kw, split, rejection_only)[:2], segments, FINE_PER_COARSE)
    behind = np.where(split < hours.high_kw, np.nextafter(split, hours.high_kw), split)
    on = fit_secants(*_curve(plant, hours, behind, hours.high_kw, rejection_only)[:2], segments, FINE_PER_COARSE)
    of_slot = hours.of_slot
    return Branches(
        split_kw=split[of_slot],
        off_slope=off.slope[of_slot],
        off_intercept_kw=off.intercept[of_slot],
        on_slope=on.slope[of_slot],
        on_intercept_kw=on.intercept[of_slot],
        hull_gap_kw=np.maximum(off.hull_gap, on.hull_gap)[of_slot],
        fit_error_kw=np.maximum(off.error, on.error)[of_slot],
    )


def fit_own(
    plant: CoolingPlant, dry_bulb_c: npt.ArrayLike, segments: int, asked_kw: tuple[npt.ArrayLike, npt.ArrayLike]
) -> Secants:
    """Return segments of what follows the racks alone (`thermal.split.own_kw`); arguments as in `fit_envelope`."""
    series = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (dry_bulb_c, *asked_kw)))
    different, of_slot = np.unique(np.stack(series, axis=1), axis=0, return_inverse=True)
    dry, low, high = different.T
    it_kw = load_grid_kw(plant, low, np.maximum(low, high), None, COARSE_INTERVALS, FINE_PER_COARSE)
    fit = fit_secants(it_kw, own_kw(plant, it_kw, dry[:, None]), segments, FINE_PER_COARSE)
    return Secants(*(part[of_slot] for part in fit))


class _Hours(NamedTuple):
    """Each different hour, and which of them each slot has: like hours are fitted once; arrays of shape (N,).

    Args:
        dry_c: Outdoor dry bulb, deg C.
        wet_c: Outdoor wet bulb, deg C.
        low_kw: Least IT power, kW.
        high_kw: Largest IT power, kW.
        w_max_kw: What the plant carries, kW.
        setpoint_c: What it holds, deg C.
        of_slot: Hour of each slot, shape (T,).
    """

    dry_c: npt.NDArray[np.float64]
    wet_c: npt.NDArray[np.float64]
    low_kw: npt.NDArray[np.float64]
    high_kw: npt.NDArray[np.float64]
    w_max_kw: npt.NDArray[np.float64]
    setpoint_c: npt.NDArray[np.float64]
    of_slot: npt.NDArray[np.int64]


def _like_hours(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    segments: int,
    asked_kw: tuple[npt.ArrayLike, npt.ArrayLike],
) -> _Hours:
    if not 1 <= segments <= COARSE_INTERVALS:
        raise ValueError(f"segments is {segments}; a cooling curve is fitted with 1 to {COARSE_INTERVALS}")
    dry, wet = np.asarray(dry_bulb_c, dtype=np.float64), np.asarray(wet_bulb_c, dtype=np.float64)
    if dry.ndim != 1 or dry.shape != wet.shape:
        raise ValueError(f"dry_bulb_c has shape {dry.shape} and wet_bulb_c {wet.shape}; both must be (T,)")
    asked = [np.broadcast_to(np.asarray(kw, dtype=np.float64), dry.shape) for kw in asked_kw]
    different, of_slot = np.unique(np.stack([dry, wet, *asked], axis=1), axis=0, return_inverse=True)
    dry, wet, low, high = different.T
    w_max = w_max_kw(plant, dry, wet)
    high = np.minimum(high, w_max)
    return _Hours(dry, wet, np.minimum(low, high), high, w_max, setpoint_c(plant, dry, wet), of_slot)


def _curve(
    plant: CoolingPlant,
    hours: _Hours,
    low_kw: npt.NDArray[np.float64],
    high_kw: npt.NDArray[np.float64],
    rejection_only: bool,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return IT power, cooling power, both kW, and water, L/h, at the samples of each hour's curve, shape (N, P)."""
    start = chiller_start_kw(plant, hours.dry_c, hours.wet_c, hours.setpoint_c)
    it_kw = load_grid_kw(plant, low_kw, high_kw, start, COARSE_INTERVALS, FINE_PER_COARSE)
    held = None if plant.loop is None else hours.setpoint_c[:, None]
    state = cooling(plant, it_kw, hours.dry_c[:, None], hours.wet_c[:, None], supply_c=held)
    own = own_kw(plant, it_kw, hours.dry_c[:, None]) if rejection_only else 0.0
    return it_kw, state.cooling_kw - own, state.water_l_per_h
