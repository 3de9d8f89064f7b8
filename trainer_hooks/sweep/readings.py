"""Readings at one power limit, and when there are enough of them: pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Reading:
    """What was measured over one stretch of steps.

    Attributes:
        gpu_draw_w: Mean draw of one GPU, W.
        rate_per_s: Tokens per second and GPU, or steps per second.
        duration_s: Length of the stretch, s.
    """

    gpu_draw_w: float
    rate_per_s: float
    duration_s: float


def spread_share(values: Sequence[float]) -> float:
    """Return the standard deviation of one value over the mean; 0 for a single value."""
    return stdev(values) / fmean(values) if len(values) > 1 else 0.0


def error_share(values: Sequence[float]) -> float:
    """Return the standard error of the mean over the mean; infinite for a single value."""
    return spread_share(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def enough(readings: Sequence[Reading], fewest: int, noise_share: float) -> tuple[Reading, ...] | None:
    """Return readings that are quiet enough, joined into longer ones where single ones are too noisy.

    Two conditions hold then: the mean's standard error is at most `noise_share`, and so is the spread from reading to
    reading, which is what the planner looks at. Joining neighbours in pairs is blocking (Flyvbjerg and Petersen 1989):
    it halves their number and evens out what fluctuates faster than a reading lasts.

    Args:
        readings: All readings of one limit, in the order taken.
        fewest: How many there have to be, at least 2.
        noise_share: Largest share allowed, such as 0.03.

    Returns:
        The readings, or None if more have to be taken.
    """
    blocks = tuple(readings)
    while len(blocks) >= fewest:
        rates = [block.rate_per_s for block in blocks]
        if error_share(rates) <= noise_share and spread_share(rates) <= noise_share:
            return blocks
        blocks = tuple(_joined(blocks[at], blocks[at + 1]) for at in range(0, len(blocks) - 1, 2))
    return None


def _joined(one: Reading, two: Reading) -> Reading:
    duration_s = one.duration_s + two.duration_s
    return Reading(
        (one.gpu_draw_w * one.duration_s + two.gpu_draw_w * two.duration_s) / duration_s,
        (one.rate_per_s * one.duration_s + two.rate_per_s * two.duration_s) / duration_s,
        duration_s,
    )
