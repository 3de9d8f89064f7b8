"""Counter-flow heat exchangers in the form that has no case distinctions: what stands between the cold ends.

Heat and capacity rates may carry any common scale (kW and kW/K, or both over a rated heat).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_FAR = 600.0  # beyond this argument the approach is nil and the exponential near the end of the number range
_NEAR = 1e-6  # below it the series is exact to rounding


def exprel(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return (exp(x) - 1) / x, and its limit at 0; x at most 600 counts."""
    capped = np.minimum(x, _FAR)
    near = np.abs(capped) < _NEAR
    return np.asarray(np.where(near, 1.0 + 0.5 * capped, np.expm1(capped) / np.where(near, 1.0, capped)))


def cold_end_k(
    heat: npt.NDArray[np.float64],
    ua_per_k: npt.NDArray[np.float64],
    hot_rate_per_k: npt.NDArray[np.float64],
    cold_rate_per_k: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return hot outlet minus cold inlet, K.

    approach = heat / (UA exprel(UA (1/Ch - 1/Cc))), exact for every ratio of the capacity rates, so the hot side never
    leaves colder than the cold side comes in, and no heat means no approach.

    Args:
        heat: Heat carried, shape (...).
        ua_per_k: Conductance, above 0, shape (...).
        hot_rate_per_k: Capacity rate of the stream that is cooled, above 0, shape (...).
        cold_rate_per_k: Capacity rate of the stream that is warmed, above 0, shape (...).

    Returns:
        K, shape (...).

    Source:
        Effectiveness-NTU of counter flow (Kays and London 1984), rearranged.
    """
    return np.asarray(heat / (ua_per_k * exprel(ua_per_k * (1.0 / hot_rate_per_k - 1.0 / cold_rate_per_k))))


def closing_ua_per_k(heat: float, approach_k: float, hot_rate_per_k: float, cold_rate_per_k: float) -> float:
    """Return the conductance with which `heat` is carried at a cold end of `approach_k`.

    Raises:
        ValueError: No conductance is large enough (the cold stream warms past the hot one).
    """
    imbalance = 1.0 / hot_rate_per_k - 1.0 / cold_rate_per_k
    if heat * abs(imbalance) < 1e-9 * approach_k:
        return heat / approach_k
    grown = heat * imbalance / approach_k
    if grown <= -1.0:
        raise ValueError(f"an approach of {approach_k:g} K is out of reach; {-heat * imbalance:.3g} K is the least")
    return math.log1p(grown) / imbalance
