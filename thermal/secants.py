"""Convex piecewise-linear over-estimates of sampled curves, many curves at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    import numpy.typing as npt

JUMP_SHARE = 1e-8  # of a curve's span: a step no wider is a jump
SLOPE_NOISE = 1e-9  # a smaller fall of slope from step to step is rounding, not concavity


class Secants(NamedTuple):
    """Segments of N curves; the estimate of curve n at x is the highest of `slope[n] * x + intercept[n]`.

    Args:
        slope: Rising along the segments, shape (N, S).
        intercept: In the curve's unit, shape (N, S).
        error: Largest distance between segments and curve, shape (N,).
        hull_gap: Largest distance between the curve and its lower convex hull, shape (N,).
    """

    slope: npt.NDArray[np.float64]
    intercept: npt.NDArray[np.float64]
    error: npt.NDArray[np.float64]
    hull_gap: npt.NDArray[np.float64]


def fit_secants(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], segments: int, fine_per_coarse: int) -> Secants:
    """Return segments that lie nowhere below the curves.

    Args:
        x: Samples of each curve's argument, rising, shape (N, P); a row of one repeated value is a curve of one point.
        y: The curves at x, shape (N, P).
        segments: Segments per curve.
        fine_per_coarse: Steps between candidates for breakpoints, counted in samples; P - 1 is a multiple of it.

    Returns:
        The segments, with their errors. Between samples, a curve that bends smoothly or once is allowed for.
    """
    hull = _hull(x, y)
    candidates = slice(None, None, fine_per_coarse)
    ends = _breakpoints(x[:, candidates], hull[:, candidates], segments) * fine_per_coarse
    x_end, y_end = np.take_along_axis(x, ends, axis=1), np.take_along_axis(hull, ends, axis=1)
    slope = _filled_slopes(np.diff(x_end, axis=1), np.diff(y_end, axis=1))
    intercept = y_end[:, :-1] - slope * x_end[:, :-1]
    above, below = _bends(x, y)
    step = np.arange(x.shape[1] - 1)
    for s in range(segments):
        inside = (step >= ends[:, s, None]) & (step < ends[:, s + 1, None])
        short = y - (slope[:, s, None] * x + intercept[:, s, None])
        missing = np.maximum(short[:, :-1], short[:, 1:]) + above
        intercept[:, s] += np.max(np.where(inside, missing, 0.0), axis=1, initial=0.0)
    estimate = np.max(slope[:, None, :] * x[:, :, None] + intercept[:, None, :], axis=2)
    excess = estimate - y
    error = np.max(np.maximum(excess[:, :-1], excess[:, 1:]) + below, axis=1)
    return Secants(slope, intercept, error, np.max(y - hull, axis=1))


def hull_gap(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """Return the largest distance between one curve and its lower convex hull, for rising samples of shape (P,)."""
    return float(np.max(y - _hull_of_one(x, y)))


def _hull(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the lower convex hull of each curve at its samples; a convex curve is its own hull."""
    hull = y.copy()
    dx = np.diff(x, axis=1)
    slope = np.divide(np.diff(y, axis=1), dx, out=np.zeros_like(dx), where=dx > 0.0)
    for n in np.flatnonzero((np.diff(slope, axis=1) < -SLOPE_NOISE).any(axis=1)):
        hull[n] = _hull_of_one(x[n], y[n])
    return hull


def _hull_of_one(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the lower hull at the samples of one curve (monotone chain, Andrew 1979)."""
    xs, ys = x.tolist(), y.tolist()
    kept: list[int] = []
    for i in range(len(xs)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (ys[b] - ys[a]) * (xs[i] - xs[a]) < (ys[i] - ys[a]) * (xs[b] - xs[a]):
                break
            kept.pop()
        kept.append(i)
    return np.minimum(np.interp(x, x[kept], y[kept]), y)


def _breakpoints(x: npt.NDArray[np.float64], hull: npt.NDArray[np.float64], segments: int) -> npt.NDArray[np.int64]:
    """Return the candidates' indices, shape (N, segments + 1), that make the largest secant error smallest.

    Source:
        Optimal piecewise-linear fit by dynamic programming (Bellman and Roth 1969), for all curves together.
    """
    n_curves, n = x.shape
    worst = np.full((n_curves, n, n), np.inf)
    for length in range(1, n):
        xs, ys = sliding_window_view(x, length + 1, axis=1), sliding_window_view(hull, length + 1, axis=1)
        rise, span = ys[..., -1] - ys[..., 0], xs[..., -1] - xs[..., 0]
        slope = np.divide(rise, span, out=np.zeros_like(span), where=span > 0.0)
        chord = ys[..., :1] + slope[..., None] * (xs - xs[..., :1])
        start = np.arange(n - length)
        worst[:, start, start + length] = np.max(chord - ys, axis=-1)
    best = worst[:, 0, :]
    came_from = []
    for _ in range(segments - 1):
        through = np.maximum(best[:, :, None], worst)
        came_from.append(np.argmin(through, axis=1))
        best = np.min(through, axis=1)
    ends = np.empty((n_curves, segments + 1), dtype=np.int64)
    ends[:, segments] = n - 1
    for s in range(segments - 1, 0, -1):
        ends[:, s] = np.take_along_axis(came_from[s - 1], ends[:, s + 1, None], axis=1)[:, 0]
    ends[:, 0] = 0
    return ends


def _filled_slopes(dx: npt.NDArray[np.float64], dy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return dy / dx; a segment without length takes the slope of its neighbour, or 0 where none has length."""
    slope = np.divide(dy, dx, out=np.full_like(dx, np.nan), where=dx > 0.0)
    for s in range(1, dx.shape[1]):
        slope[:, s] = np.where(np.isnan(slope[:, s]), slope[:, s - 1], slope[:, s])
    for s in range(dx.shape[1] - 2, -1, -1):
        slope[:, s] = np.where(np.isnan(slope[:, s]), slope[:, s + 1], slope[:, s])
    return np.nan_to_num(slope, nan=0.0)


def _bends(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return how far each curve may lie above and below its chord within each step between samples.

    Where slopes fall by d to the next step, a curve that bends smoothly, or once and sharply, lies at most h d / 2
    above its chord over a step of width h; where they rise, below it.
    """
    dx = np.diff(x, axis=1)
    slope = np.divide(np.diff(y, axis=1), dx, out=np.zeros_like(dx), where=dx > 0.0)
    # a step next to nothing wide holds a jump, and neither side of it tells how the other bends
    jump = dx <= JUMP_SHARE * (x[:, -1:] - x[:, :1])
    change = np.where(jump[:, :-1] | jump[:, 1:], 0.0, np.diff(slope, axis=1))
    fall = np.maximum(0.0, np.maximum(_pad(-change, left=True), _pad(-change, left=False)))
    rise = np.maximum(0.0, np.maximum(_pad(change, left=True), _pad(change, left=False)))
    return dx * fall / 2.0, dx * rise / 2.0


def _pad(change: npt.NDArray[np.float64], *, left: bool) -> npt.NDArray[np.float64]:
    return np.pad(change, ((0, 0), (1, 0) if left else (0, 1)))
