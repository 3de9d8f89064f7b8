"""A block's cooling power over IT power as the program takes it: per slot, one convex piece, or two and a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.envelope import fit_branches

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.envelope import CoolingEnvelope
    from thermal.plant import CoolingPlant

SEGMENTS = 8  # per piece: half of them would cost four times the error
HAIR = 1e-12


@dataclass(frozen=True)
class Curves:
    """Cooling power of one block, kW over kW of IT power: the highest segment of the piece in use.

    Args:
        slope: The lower piece, or the only one, shape (T, S).
        intercept_kw: kW, shape (T, S).
        upper_slope: The piece above `split_kw`, shape (T, S).
        upper_intercept_kw: kW, shape (T, S).
        split_kw: Largest IT power of the lower piece, kW; inf where there is one piece, shape (T,).
        rough: Whether the plant's curve over the loads asked for is not convex enough for one piece, shape (T,).
        hull_gap_kw: Largest distance between the plant's curve and its convex hull, kW, shape (T,).
        piece_gap_kw: The same within the pieces, kW, shape (T,).
        fit_error_kw: Largest distance between the plant's curve and the pieces, kW, shape (T,).
    """

    slope: npt.NDArray[np.float64]
    intercept_kw: npt.NDArray[np.float64]
    upper_slope: npt.NDArray[np.float64]
    upper_intercept_kw: npt.NDArray[np.float64]
    split_kw: npt.NDArray[np.float64]
    rough: npt.NDArray[np.bool_]
    hull_gap_kw: npt.NDArray[np.float64]
    piece_gap_kw: npt.NDArray[np.float64]
    fit_error_kw: npt.NDArray[np.float64]

    @property
    def chosen(self) -> npt.NDArray[np.bool_]:
        """Slots in which a binary chooses the piece, shape (T,)."""
        return np.isfinite(self.split_kw)

    def cooling_kw(self, it_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return cooling power for IT power, both in kW, shape (T,)."""
        lower = (self.slope * it_kw[:, None] + self.intercept_kw).max(axis=1)
        upper = (self.upper_slope * it_kw[:, None] + self.upper_intercept_kw).max(axis=1)
        return np.asarray(np.where(it_kw > self.split_kw, upper, lower))

    def within_kw(self, capacity_kw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the largest IT power that takes a capacity together with its cooling, kW, shape (T,)."""
        lower, upper = (
            ((capacity_kw[:, None] - intercept) / (1.0 + slope)).min(axis=1)
            for slope, intercept in (
                (self.slope, self.intercept_kw),
                (self.upper_slope, self.upper_intercept_kw),
            )
        )
        return np.asarray(np.where(lower < self.split_kw, lower, np.maximum(upper, self.split_kw)))

    def between(self, low_kw: npt.NDArray[np.float64], high_kw: npt.NDArray[np.float64]) -> Curves:
        """Return the curves for IT power between bounds, kW, shape (T,): with one piece where all of it lies on one.

        The error of the fit stays that of the whole span.
        """
        above = self.split_kw <= low_kw
        one = above | (self.split_kw >= high_kw)
        return Curves(
            slope=np.where(above[:, None], self.upper_slope, self.slope),
            intercept_kw=np.where(above[:, None], self.upper_intercept_kw, self.intercept_kw),
            upper_slope=self.upper_slope,
            upper_intercept_kw=self.upper_intercept_kw,
            split_kw=np.where(one, np.inf, self.split_kw),
            rough=self.rough,
            hull_gap_kw=self.hull_gap_kw,
            piece_gap_kw=self.piece_gap_kw,
            fit_error_kw=self.fit_error_kw,
        )


def fit_curves(
    plant: CoolingPlant,
    envelope: CoolingEnvelope,
    dry_bulb_c: npt.NDArray[np.float64],
    wet_bulb_c: npt.NDArray[np.float64],
    asked_kw: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    *,
    rejection_only: bool = False,
) -> Curves:
    """Return a plant's curves: its envelope, and two pieces in slots in which the envelope is not certified convex.

    Args:
        plant: The plant.
        envelope: Its envelope, with `SEGMENTS` segments.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        asked_kw: Least and largest IT power of the block, kW, shape (T,); those of the envelope.
        rejection_only: Whether the envelope is that of the heat rejection alone.
    """
    rough = ~envelope.convex
    lower_slope, lower_kw = envelope.slope.copy(), envelope.intercept_kw.copy()
    upper_slope, upper_kw = envelope.slope.copy(), envelope.intercept_kw.copy()
    split_kw = np.full(len(rough), np.inf)
    piece_gap_kw, fit_error_kw = envelope.hull_gap_kw.copy(), envelope.fit_error_kw.copy()
    if rough.any():
        low_kw, high_kw = asked_kw
        asked = (low_kw[rough], high_kw[rough])
        cut = fit_branches(plant, dry_bulb_c[rough], wet_bulb_c[rough], SEGMENTS, asked, rejection_only=rejection_only)
        lower_slope[rough], lower_kw[rough] = cut.off_slope, cut.off_intercept_kw
        upper_slope[rough], upper_kw[rough] = cut.on_slope, cut.on_intercept_kw
        split_kw[rough] = cut.split_kw
        piece_gap_kw[rough], fit_error_kw[rough] = cut.hull_gap_kw, cut.fit_error_kw
    return Curves(
        slope=lower_slope,
        intercept_kw=lower_kw,
        upper_slope=upper_slope,
        upper_intercept_kw=upper_kw,
        split_kw=split_kw,
        rough=rough,
        hull_gap_kw=envelope.hull_gap_kw,
        piece_gap_kw=piece_gap_kw,
        fit_error_kw=fit_error_kw,
    )


def highest_segments(
    slope: npt.NDArray[np.float64], intercept: npt.NDArray[np.float64], low: float, high: float
) -> list[tuple[float, float]]:
    """Return the segments that are the highest somewhere between two loads, by rising slope.

    Args:
        slope: Of each segment, shape (S,).
        intercept: Of each, shape (S,).
        low: Lowest load.
        high: Highest load.
    """
    lines = sorted(zip(slope.tolist(), intercept.tolist(), strict=True))
    if high <= low:
        return [max(lines, key=lambda line: line[0] * low + line[1])]
    kept: list[tuple[float, float]] = []
    since: list[float] = []
    for a, b in lines:
        start = low
        while kept:
            start = _overtakes(kept[-1], (a, b), low, high)
            if start > since[-1]:
                break
            kept.pop()
            since.pop()
            start = low
        if start < high:
            kept.append((a, b))
            since.append(start)
    return kept


def least_above(
    line: float, slope: npt.NDArray[np.float64], intercept: npt.NDArray[np.float64], low: float, high: float
) -> float:
    """Return the least of a piece less a line through the origin, between two loads: at an end, or where segments meet.

    Args:
        line: Slope of the line.
        slope: Of each segment of the piece, shape (S,).
        intercept: Of each, shape (S,).
        low: Lowest load.
        high: Highest load.
    """
    rise = slope[:, None] - slope[None, :]
    fall = intercept[None, :] - intercept[:, None]
    meet = np.divide(fall, rise, out=np.full_like(rise, low), where=np.abs(rise) > HAIR)
    at = np.concatenate([np.clip(meet.ravel(), low, high), [low, high]])
    return float(((slope * at[:, None] + intercept).max(axis=1) - line * at).min())


def _overtakes(one: tuple[float, float], steeper: tuple[float, float], low: float, high: float) -> float:
    """Return the load from which the steeper of two segments is the higher, within bounds."""
    rise = steeper[0] - one[0]
    if rise <= HAIR:
        return low if steeper[1] >= one[1] else high
    return min(max((one[1] - steeper[1]) / rise, low), high)
