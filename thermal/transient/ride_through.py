"""What load may be on, so that a failure is mended before the chip cases reach their limit: rows for the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from thermal.transient.course import course

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.transient.inertia import LoopInertia
    from thermal.transient.operation import LoopOperation
    from thermal.transient.state_space import Event


def ride_through_s(
    q_kw: npt.ArrayLike, c_loop_kj_per_k: npt.ArrayLike, t_op_c: npt.ArrayLike, t_lim_c: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the time in which heat warms a well-mixed loop from its operating temperature to its limit.

    A real loop with much water in its warm return leg gets there sooner, one with a cold buffer later
    (`ride_through_row`).

    Args:
        q_kw: Heat, kW, 0 or more, shape (...).
        c_loop_kj_per_k: Heat capacity of the loop, kJ/K, shape (...).
        t_op_c: Temperature before the failure, deg C, shape (...).
        t_lim_c: Highest temperature, deg C, shape (...).

    Returns:
        Seconds t with q t = C (t_lim - t_op), shape (...); 0 at or above the limit, inf below it without heat.
    """
    q, c, room = np.broadcast_arrays(
        np.asarray(q_kw, dtype=np.float64),
        np.asarray(c_loop_kj_per_k, dtype=np.float64),
        np.asarray(t_lim_c, dtype=np.float64) - np.asarray(t_op_c, dtype=np.float64),
    )
    heat_kj = c * np.maximum(room, 0.0)
    endless = np.where(heat_kj > 0.0, np.inf, 0.0)
    return np.asarray(np.divide(heat_kj, q, out=endless, where=q > 0.0))


def ride_through_heat_kw(
    c_loop_kj_per_k: npt.ArrayLike, t_op_c: npt.ArrayLike, t_lim_c: npt.ArrayLike, restart_s: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the most heat with which a well-mixed loop stays below its limit until cooling is back.

    Args:
        c_loop_kj_per_k: Heat capacity of the loop, kJ/K, shape (...).
        t_op_c: Temperature before the failure, deg C, shape (...).
        t_lim_c: Highest temperature, deg C, shape (...).
        restart_s: Time until cooling is back, s, above 0, shape (...).

    Returns:
        Heat q in kW with q restart_s = C (t_lim - t_op), shape (...); 0 at or above the limit.
    """
    room_k = np.maximum(np.asarray(t_lim_c, dtype=np.float64) - np.asarray(t_op_c, dtype=np.float64), 0.0)
    return np.asarray(np.asarray(c_loop_kj_per_k, dtype=np.float64) * room_k / np.asarray(restart_s, dtype=np.float64))


@dataclass(frozen=True)
class RideThroughRow:
    """The linear row rise_k_per_kw * heat_kw <= room_k.

    Args:
        rise_k_per_kw: What a kW of liquid heat adds to the case's temperature by the time cooling is back, K/kW.
        room_k: The limit less the temperature that the case would have without heat, K.
    """

    rise_k_per_kw: npt.NDArray[np.float64]
    room_k: npt.NDArray[np.float64]


def ride_through_row(
    event: Event, inertia: LoopInertia, operation: LoopOperation, restart_s: float, limit_c: npt.ArrayLike
) -> RideThroughRow:
    """Return the row that keeps the case at or below its limit until cooling is back, exact at the given flows.

    At given flows and supply every temperature is linear in the heat, that of the steady state before the failure
    included. The case is warmest at the end, so one row is enough.

    Args:
        event: What fails.
        inertia: The loops.
        operation: How they run before; its `heat_kw` gives a shape but no value to the row.
        restart_s: Time until cooling is back, s, 0 or more.
        limit_c: Highest case temperature, deg C; broadcasts against the operation.

    Returns:
        The row, of the operation's shape (rise) and that of operation and limit_c broadcast (room).

    Raises:
        ValueError: The operation is not possible (`LoopOperation`), or restart_s is negative or not finite.
    """
    none_kw = np.zeros(np.shape(operation.heat_kw))
    idle, rated = (
        course(event, inertia, replace(operation, heat_kw=none_kw + heat_kw), restart_s).case_c[..., 0]
        for heat_kw in (0.0, inertia.rated_heat_kw)
    )
    return RideThroughRow((rated - idle) / inertia.rated_heat_kw, np.asarray(limit_c, dtype=np.float64) - idle)
