"""Least squares on a box: damped Gauss-Newton steps on the normal equations, far errors counted by their size.

There are many readings and few parameters: what a step needs is one small symmetric matrix, not a factorisation of all
readings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

OUTLIER = 3.0  # standard deviations beyond which an error counts by its size, not by its square
NOTHING = 0.05  # squared standard deviations: a fall of the loss that says nothing more, where the descent ends
MOST_STEPS = 40
FIRST_DAMPING = 1e-3  # of each coordinate's own curvature
MOST_DAMPING = 1e6  # a step that does not help even so is no step
SOFTER, HARDER = 0.2, 5.0


class Box(NamedTuple):
    """The points that are allowed.

    Args:
        low: Lowest value of each coordinate, shape (P,).
        high: Highest value of each, shape (P,).
    """

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def loss(residuals: npt.NDArray[np.float64], priors: int) -> float:
    """Return what a fit makes small: the sum of squares, in which far errors count by their size.

    Args:
        residuals: Errors in standard deviations, shape (N,); the last, those of the priors, count by their square.
        priors: How many those are.

    Returns:
        The loss; infinite where a residual is.
    """
    readings = len(residuals) - priors
    near, held = residuals[:readings] / OUTLIER, residuals[readings:]
    return float(OUTLIER**2 * np.sum(2.0 * (np.sqrt(1.0 + near**2) - 1.0)) + held @ held)


def least_loss(
    residuals: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    slopes: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    start: npt.NDArray[np.float64],
    box: Box,
) -> npt.NDArray[np.float64]:
    """Return the point of least loss that is reached from a start.

    Args:
        residuals: Point of shape (P,) -> errors of shape (N,), the last P of which are those of the priors.
        slopes: Point -> their derivatives, shape (N, P).
        start: Where the descent begins, shape (P,).
        box: The points that are allowed.

    Returns:
        The point, shape (P,).

    Source:
        Levenberg (1944) and Marquardt (1963); the loss is the pseudo-Huber one by weights anew at each step.
    """
    priors = len(start)
    point = np.clip(start, box.low, box.high)
    errors = residuals(point)
    least, damping = loss(errors, priors), FIRST_DAMPING
    for _ in range(MOST_STEPS):
        weights = np.ones_like(errors)
        weights[:-priors] = 1.0 / np.sqrt(1.0 + (errors[:-priors] / OUTLIER) ** 2)
        rise = slopes(point)
        weighted = rise * weights[:, None]
        curvature, uphill = weighted.T @ rise, weighted.T @ errors
        fell = 0.0
        while damping < MOST_DAMPING:
            tried = _step(point, curvature + damping * np.diag(np.diag(curvature)), uphill, box)
            found = residuals(tried)
            now = loss(found, priors)
            if now < least:
                fell, point, errors, least = least - now, tried, found, now
                damping *= SOFTER
                break
            damping *= HARDER
        if fell <= NOTHING:
            break
    return point


def _step(
    point: npt.NDArray[np.float64], curvature: npt.NDArray[np.float64], uphill: npt.NDArray[np.float64], box: Box
) -> npt.NDArray[np.float64]:
    """Return the next point within the box; coordinates that would leave it stay at its wall, the others go on."""
    at_wall = ((point <= box.low) & (uphill > 0.0)) | ((point >= box.high) & (uphill < 0.0))
    found = point.copy()
    for _ in range(len(point)):
        free = ~at_wall
        moved = found[at_wall] - point[at_wall]
        pull = uphill[free] + curvature[np.ix_(free, at_wall)] @ moved
        found[free] = point[free] - np.linalg.solve(curvature[np.ix_(free, free)], pull)
        out = free & ((found < box.low) | (found > box.high))
        if not out.any():
            break
        found = np.clip(found, box.low, box.high)
        at_wall |= out
    return found
