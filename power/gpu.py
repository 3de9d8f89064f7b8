"""Operating points of GPUs: what a power limit means in watts and in throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


@dataclass(frozen=True)
class OperatingPoint:
    """One measured point of a power-limit sweep.

    Args:
        gpu_power_limit_w: The limit set on the GPU, W.
        it_w_per_gpu: IT power drawn per GPU in training at that limit, W: the GPU and its share of the node.
        relative_throughput: Tokens per second over those at the highest point, in (0, 1].
    """

    gpu_power_limit_w: float
    it_w_per_gpu: float
    relative_throughput: float


@dataclass(frozen=True)
class GpuType:
    """A kind of GPU in its node.

    Args:
        name: Such as "H100-SXM".
        idle_w_per_gpu: IT power drawn per GPU with no job, W: the GPU and its share of the node.
        points: Measured operating points, by rising limit.
    """

    name: str
    idle_w_per_gpu: float
    points: tuple[OperatingPoint, ...]


def concave_points(points: Sequence[OperatingPoint], idle_w_per_gpu: float) -> tuple[OperatingPoint, ...]:
    """Return the points worth planning with: the upper concave hull of throughput over power, seen from idle.

    A point below the hull is beaten by time-sharing its neighbours, or by pausing where the neighbour is idle
    (the deep-cap region, below about half the highest limit).

    Args:
        points: Measured points, any order.
        idle_w_per_gpu: Power when nothing runs, W; the hull starts there with no throughput.

    Returns:
        The hull's points without the idle one, by rising power.
    """
    hull: list[tuple[float, float, OperatingPoint | None]] = [(idle_w_per_gpu, 0.0, None)]
    for point in sorted(points, key=lambda p: (p.it_w_per_gpu, -p.relative_throughput)):
        here = (point.it_w_per_gpu, point.relative_throughput, point)
        if here[1] <= hull[-1][1]:
            continue
        while len(hull) > 1:
            (x0, y0, _), (x1, y1, _) = hull[-2], hull[-1]
            if (here[1] - y0) * (x1 - x0) < (y1 - y0) * (here[0] - x0):
                break
            hull.pop()
        hull.append(here)
    return tuple(point for _, _, point in hull if point is not None)


def at_limit(
    points: Sequence[OperatingPoint], gpu_power_limit_w: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return power and throughput at any limit between the measured ones, by straight lines between points.

    Args:
        points: Measured points by rising limit, at least one.
        gpu_power_limit_w: Limits, W, any shape; outside the measured range the nearest point holds.

    Returns:
        IT power per GPU in W and relative throughput, both of the limits' shape.
    """
    asked_w = np.asarray(gpu_power_limit_w, dtype=np.float64)
    limits = [p.gpu_power_limit_w for p in points]
    watts = np.interp(asked_w, limits, [p.it_w_per_gpu for p in points])
    throughput = np.interp(asked_w, limits, [p.relative_throughput for p in points])
    return np.asarray(watts, dtype=np.float64), np.asarray(throughput, dtype=np.float64)
