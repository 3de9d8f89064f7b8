"""Operating points of GPUs: what a power limit means in watts and in throughput."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from power.later import LATER

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
        held_w_per_gpu: IT power drawn per GPU with a job alive that waits at a step boundary, W, or None where it is
            not known: it then counts as idle.
        overhead_w_per_gpu: IT power of the node beside its GPUs in training, W per GPU, or None where it is not known.
    """

    name: str
    idle_w_per_gpu: float
    points: tuple[OperatingPoint, ...]
    held_w_per_gpu: float | None = field(default=None, metadata=LATER)
    overhead_w_per_gpu: float | None = field(default=None, metadata=LATER)

    @property
    def hold_w_per_gpu(self) -> float:
        """IT power per GPU of a gang on hold, W."""
        return self.idle_w_per_gpu if self.held_w_per_gpu is None else self.held_w_per_gpu


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


def left_out(points: Sequence[OperatingPoint], idle_w_per_gpu: float) -> tuple[tuple[OperatingPoint, str], ...]:
    """Return the points that are not worth planning with, each with the reason.

    Args:
        points: Measured points, any order.
        idle_w_per_gpu: Power when nothing runs, W.

    Returns:
        (point, reason), by rising limit: what does more at the same mean power, or as much at less.
    """
    kept = concave_points(points, idle_w_per_gpu)
    edges_w = [idle_w_per_gpu, *(point.it_w_per_gpu for point in kept)]
    speeds = [0.0, *(point.relative_throughput for point in kept)]
    told: list[tuple[OperatingPoint, str]] = []
    for point in sorted(set(points) - set(kept), key=lambda p: p.gpu_power_limit_w):
        above = int(np.searchsorted(edges_w, point.it_w_per_gpu))
        better = float(np.interp(point.it_w_per_gpu, edges_w, speeds))
        gain = f"gives {better:.3f} of full throughput at the same mean power, against {point.relative_throughput:.3f}"
        if above >= len(edges_w):
            told.append((point, f"draws more than {kept[-1].gpu_power_limit_w:g} W does and is no faster"))
        elif above <= 1:
            told.append((point, f"pausing between spells at {kept[0].gpu_power_limit_w:g} W {gain}"))
        else:
            lower, upper = kept[above - 2].gpu_power_limit_w, kept[above - 1].gpu_power_limit_w
            told.append((point, f"time shared between {lower:g} and {upper:g} W {gain}"))
    return tuple(told)


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
