"""Measured sweeps of power limits, cleaned of noise: what a limit means in watts and in throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from power.gpu import OperatingPoint

if TYPE_CHECKING:
    import numpy.typing as npt

FEWEST_POINTS = 3
MOST_NOISE = 0.03


class SweepRefused(ValueError):
    """A sweep from which no operating points can be taken; the text says why."""


@dataclass(frozen=True)
class SweepPoint:
    """What was measured at one power limit.

    Args:
        gpu_power_limit_w: The limit set on the GPU, W.
        gpu_draw_w: Power drawn by the GPU in training, mean of the repeats, W.
        throughput: Tokens or steps per second, mean of the repeats; one unit throughout a sweep.
        repeats: How often it was measured.
        noise_share: Standard deviation of one repeat's throughput over the mean; 0 where it was measured once.
    """

    gpu_power_limit_w: float
    gpu_draw_w: float
    throughput: float
    repeats: int = 1
    noise_share: float = 0.0


@dataclass(frozen=True)
class CleanSweep:
    """A sweep that rises with the limit, as physics has it.

    Args:
        gpu_power_limit_w: Limits, W, rising, shape (K,).
        gpu_draw_w: Power drawn by the GPU, W, never falling, shape (K,).
        relative_throughput: Throughput over that at the highest limit, never falling, shape (K,).
        residual_share: By how much the measurement departs from that: root mean square over its mean, the larger of
            draw and throughput.
        noise_share: Largest noise of a point.
    """

    gpu_power_limit_w: npt.NDArray[np.float64]
    gpu_draw_w: npt.NDArray[np.float64]
    relative_throughput: npt.NDArray[np.float64]
    residual_share: float
    noise_share: float


def clean(points: tuple[SweepPoint, ...]) -> CleanSweep:
    """Return a sweep with draw and throughput made to rise with the limit, by isotonic least squares.

    Args:
        points: What was measured, any order.

    Returns:
        The sweep by rising limit, with what was changed.

    Raises:
        SweepRefused: Fewer than three limits, a limit twice, a reading that is not above zero, noise or residual over
            3 %, or a throughput of which nothing is left below the highest limit.

    Source: pool adjacent violators (Barlow et al. 1972), weights by repeats.
    """
    if len(points) < FEWEST_POINTS:
        raise SweepRefused(f"it has {len(points)} power limits; at least {FEWEST_POINTS} are needed to see a curve")
    by_limit = sorted(points, key=lambda point: point.gpu_power_limit_w)
    limits = np.array([point.gpu_power_limit_w for point in by_limit])
    draws = np.array([point.gpu_draw_w for point in by_limit])
    speeds = np.array([point.throughput for point in by_limit])
    weights = np.array([float(point.repeats) for point in by_limit])
    same = np.flatnonzero(np.diff(limits) <= 0.0)
    if len(same):
        raise SweepRefused(f"{limits[same[0]]:g} W stands twice; give its readings as repeats of one point")
    if min(float(limits[0]), float(draws.min()), float(speeds.min())) <= 0.0:
        raise SweepRefused("a limit, a draw or a throughput is not above zero")
    noisiest = max(by_limit, key=lambda point: point.noise_share)
    if noisiest.noise_share > MOST_NOISE:
        raise SweepRefused(
            f"throughput at {noisiest.gpu_power_limit_w:g} W varies by {100 * noisiest.noise_share:.1f} % between "
            f"repeats; at most {100 * MOST_NOISE:g} % is taken: measure longer"
        )
    draw, draw_off = _rising(draws, weights)
    speed, speed_off = _rising(speeds, weights)
    off = max(draw_off, speed_off)
    if off > MOST_NOISE:
        raise SweepRefused(
            f"draw or throughput falls where the limit rises, by {100 * off:.1f} % from the nearest rising curve; at "
            f"most {100 * MOST_NOISE:g} % is taken: measure again, one limit at a time"
        )
    return CleanSweep(limits, draw, speed / speed[-1], off, noisiest.noise_share)


def _rising(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the nearest values that never fall, and how far they are: root mean square over the mean."""
    fitted = np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)
    square = float(np.average((fitted - values) ** 2, weights=weights))
    return fitted, float(np.sqrt(square) / np.average(values, weights=weights))


def operating_points(sweep: CleanSweep, overhead_w_per_gpu: float) -> tuple[OperatingPoint, ...]:
    """Return the operating points of a sweep: the GPU's draw and its share of the node beside it.

    Args:
        sweep: The sweep.
        overhead_w_per_gpu: IT power of the node beside its GPUs in training, W per GPU.

    Returns:
        One point per limit, by rising limit; the last has a relative throughput of 1.
    """
    return tuple(
        OperatingPoint(limit_w, round(draw_w + overhead_w_per_gpu, 1), relative)
        for limit_w, draw_w, relative in zip(
            sweep.gpu_power_limit_w.tolist(),
            sweep.gpu_draw_w.tolist(),
            sweep.relative_throughput.tolist(),
            strict=True,
        )
    )
