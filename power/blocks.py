"""Power blocks: how much facility power a part of the site may take, and how fast it may change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


@dataclass(frozen=True)
class Derating:
    """A span in which a block may take less than its capacity (maintenance, a limit from the grid).

    Args:
        start: First instant, UTC.
        end: First instant after it, UTC.
        capacity_kw: Facility power that remains allowed, kW, 0 or more.
        reason: For people, such as "transformer inspection".
    """

    start: datetime
    end: datetime
    capacity_kw: float
    reason: str


@dataclass(frozen=True)
class PowerBlock:
    """A part of the site behind one grid connection.

    Args:
        name: Such as "hall-a".
        capacity_kw: Largest facility power (IT and cooling) and largest grid import, kW.
        available_from: First instant of service, UTC, or None for always.
        available_until: First instant after service, UTC, or None for always.
        deratings: Spans with less capacity.
        ramp_kw_per_min: Fastest change of IT power, kW per minute, rise or fall; None for no limit.
        ramp_window_min: Minutes over which starts and stops are staggered at a change of slot.
    """

    name: str
    capacity_kw: float
    available_from: datetime | None = None
    available_until: datetime | None = None
    deratings: tuple[Derating, ...] = ()
    ramp_kw_per_min: float | None = None
    ramp_window_min: float = 15.0

    @property
    def ramp_step_kw(self) -> float | None:
        """Largest change of IT power between two neighbouring slots, kW, or None for no limit."""
        return None if self.ramp_kw_per_min is None else self.ramp_kw_per_min * self.ramp_window_min


def capacity_kw(block: PowerBlock, starts: Sequence[datetime], slot: timedelta) -> npt.NDArray[np.float64]:
    """Return the facility power the block may take in each slot.

    A slot that a commissioning date, an end of service or a derating touches takes the lowest capacity in it,
    so that no instant of the slot breaks the limit.

    Args:
        block: The block.
        starts: Start of each slot, UTC, length T.
        slot: Length of a slot.

    Returns:
        Capacity in kW, shape (T,).
    """
    capacity = np.full(len(starts), block.capacity_kw)
    for i, start in enumerate(starts):
        end = start + slot
        if block.available_from is not None and start < block.available_from:
            capacity[i] = 0.0
        if block.available_until is not None and end > block.available_until:
            capacity[i] = 0.0
        for derating in block.deratings:
            if start < derating.end and end > derating.start:
                capacity[i] = min(capacity[i], derating.capacity_kw)
    return capacity
