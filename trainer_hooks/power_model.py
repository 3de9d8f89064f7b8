"""What a board draws when nothing can be read of it: the last resort, from its limit and whether it works."""

from __future__ import annotations

from typing import NamedTuple

# Source: NVIDIA, DGX H100/H200 user guide and published measurements: 10.2 kW rated; nodes in heavy training draw from
# about 76 % of the rating up to their limit. Valid for boards at work under a limit of half their highest or more.
BUSY_SHARE, BUSY_ERROR_SHARE = 0.88, 0.12
# Source: published idle powers: H100 69 to 79 W of 700 W, A100 about 50 W of 400 W.
IDLE_SHARE, IDLE_ERROR_SHARE = 0.12, 0.06


class ModelledPower(NamedTuple):
    """A power that was not measured.

    Attributes:
        power_w: Power, W.
        error_w: Half-width of its uncertainty, W.
    """

    power_w: float
    error_w: float


def modelled_power(busy: bool, limit_w: float | None, highest_w: float | None) -> ModelledPower | None:
    """Return the power of a board by its operating point.

    Args:
        busy: Whether the training works.
        limit_w: Power limit of the calendar's window, W; None without one.
        highest_w: Highest limit that the board takes, W; None if unknown.

    Returns:
        Its power; None where neither limit nor board is known.
    """
    if busy:
        rated_w = min(limit for limit in (limit_w, highest_w) if limit is not None) if limit_w or highest_w else None
        return None if rated_w is None else ModelledPower(BUSY_SHARE * rated_w, BUSY_ERROR_SHARE * rated_w)
    rated_w = highest_w or limit_w
    return None if rated_w is None else ModelledPower(IDLE_SHARE * rated_w, IDLE_ERROR_SHARE * rated_w)
