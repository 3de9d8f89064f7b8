"""Seconds from a failure until the chip cases reach a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.polynomial import polyval

from thermal.halving import halved
from thermal.transient.operation import steady_loop
from thermal.transient.state_space import CASE, generator, rates, start
from thermal.transient.step import SERIES_TERMS, doubled, increments, short_s

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.transient.inertia import LoopInertia
    from thermal.transient.operation import LoopOperation
    from thermal.transient.state_space import Event

LONGEST_S = 2.0**22  # 48 days: what takes longer is no failure to ride through
BISECTIONS = 52  # halves the last step to rounding error


def time_to_limit_s(
    event: Event, inertia: LoopInertia, operation: LoopOperation, limit_c: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the time from a failure until the chip cases reach a limit.

    The case's temperature never turns (`thermal.transient.state_space.generator`), so the time is bracketed on the
    exact solution: exact steps of falling powers of two are taken as long as they end below the limit, and in the last
    step, shorter than the fastest part of the loops, the solution's own power series is bisected.

    Reference case: 1.5 m3/MW in the rack loop, 8 m3/MW in the facility loop, 1.5 L/min per kW, supplies of 40 and 36 C,
    full load, a case 21.7 K above the supply. A simpler chain with a single facility node, stepped by whole seconds,
    gives 5 / 9 s to 75 / 85 C (pump loss), 77 / 140 s (CDU loss) and 612 / 1,008 s (rejection loss). This model agrees
    within 5 %, pump loss read in whole seconds, if nearly all facility water starts at the supply temperature, as with
    a buffer on that side. With half of it in the return leg, 10 K warmer, less heat fits in until the limit, and
    rejection loss leaves 19 / 11 % less time. `python -m tests.bench transient` prints both.

    Args:
        event: What fails.
        inertia: The loops.
        operation: How they run before; its arguments broadcast to (...).
        limit_c: Highest case temperature, deg C; broadcasts against the operation.

    Returns:
        Seconds, shape of the operation and limit_c broadcast; 0 where the limit is reached already, inf where it never
        is or only after more than 48 days.

    Raises:
        ValueError: The operation is not possible (`LoopOperation`), or limit_c is not a number.
    """
    steady = steady_loop(inertia, operation)
    limit = np.asarray(limit_c, dtype=np.float64)
    if np.isnan(limit).any():
        raise ValueError("limit_c holds a value that is not a number; give the highest case temperature in C")
    shape = np.broadcast_shapes(steady.heat.shape, limit.shape)
    states, rate = start(steady), rates(steady)
    states = np.broadcast_to(states, (*shape, states.shape[-1])).reshape(-1, states.shape[-1])
    rate = np.broadcast_to(rate, (*shape, rate.shape[-1])).reshape(-1, rate.shape[-1])
    limits_k = np.broadcast_to(limit - steady.rack_supply_c, shape).ravel()
    # loads and ambients that share their flows share the matrix and its powers
    alike, of_state = np.unique(rate, axis=0, return_inverse=True)
    time_s = np.empty(limits_k.shape)
    for index, one in enumerate(alike):
        members = of_state == index
        time_s[members] = _crossing_s(generator(event, inertia, one), states[members], limits_k[members])
    return time_s.reshape(shape)


def _crossing_s(
    g: npt.NDArray[np.float64], state: npt.NDArray[np.float64], limit_k: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the seconds until the case of each state, shape (n, SIZE), reaches its limit, shape (n,)."""
    last_s = short_s(g)
    steps_s, steps = [last_s], [increments(g, last_s)]
    while steps_s[-1] < LONGEST_S:
        steps_s.append(2.0 * steps_s[-1])
        steps.append(doubled(steps[-1]))
    reached = state[:, CASE] >= limit_k
    never = (state + state @ steps[-1].T)[:, CASE] < limit_k
    time_s = np.zeros(limit_k.shape)
    for step_s, step in zip(reversed(steps_s), reversed(steps), strict=True):
        ahead = state + state @ step.T
        below = ahead[:, CASE] < limit_k
        state = np.where(below[:, None], ahead, state)
        time_s += np.where(below, step_s, 0.0)
    time_s += last_s * _crossing_share(g * last_s, state, limit_k)
    return np.where(reached, 0.0, np.where(never, np.inf, time_s))


def _crossing_share(
    g: npt.NDArray[np.float64], state: npt.NDArray[np.float64], limit_k: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return where in a step of length 1, from 0 to 1, the case crosses its limit, shape (n,)."""
    term = state
    coefficients = [term[:, CASE]]
    for order in range(1, SERIES_TERMS + 1):
        term = term @ g.T / order
        coefficients.append(term[:, CASE])
    series = np.array(coefficients)

    def below(share: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.asarray(polyval(share, series, tensor=False) < limit_k)

    _, crossed = halved(below, np.zeros(limit_k.shape), np.ones(limit_k.shape), BISECTIONS)
    return crossed
