"""Power blocks: how much facility power a part of the site may take, and how fast it may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from power.connection import carried_kw
from power.later import LATER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from power.connection import Connection


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
        ramp_fall_kw_per_min: Fastest fall where it is not that of the rise, kW per minute; None for `ramp_kw_per_min`.
        connection: What stands between it and the grid, or None where `capacity_kw` says it all.
        grid_kw: Largest grid import where it is less than `capacity_kw`, kW; the rest comes from behind the meter.
    """

    name: str
    capacity_kw: float
    available_from: datetime | None = None
    available_until: datetime | None = None
    deratings: tuple[Derating, ...] = ()
    ramp_kw_per_min: float | None = None
    ramp_window_min: float = 15.0
    ramp_fall_kw_per_min: float | None = field(default=None, metadata=LATER)
    connection: Connection | None = field(default=None, metadata=LATER)
    grid_kw: float | None = field(default=None, metadata=LATER)

    @property
    def rise_step_kw(self) -> float | None:
        """Largest rise of IT power between two neighbouring slots, kW, or None for no limit."""
        return None if self.ramp_kw_per_min is None else self.ramp_kw_per_min * self.ramp_window_min

    @property
    def fall_kw_per_min(self) -> float | None:
        """Fastest fall of IT power, kW per minute, or None for no limit."""
        return self.ramp_kw_per_min if self.ramp_fall_kw_per_min is None else self.ramp_fall_kw_per_min

    @property
    def fall_step_kw(self) -> float | None:
        """Largest fall of IT power between two neighbouring slots, kW, or None for no limit."""
        return None if self.fall_kw_per_min is None else self.fall_kw_per_min * self.ramp_window_min


def ramp_excess_kw(
    block: PowerBlock, change_kw: npt.NDArray[np.float64], share: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return by how much changes of IT power are above a share of the block's ramp steps, kW; below 0 within them.

    Args:
        block: The block.
        change_kw: Changes of IT power, kW, rises above zero, any shape.
        share: Share of the steps that is compared with.
    """
    rise_kw = np.inf if block.rise_step_kw is None else share * block.rise_step_kw
    fall_kw = np.inf if block.fall_step_kw is None else share * block.fall_step_kw
    return np.asarray(np.maximum(change_kw - rise_kw, -change_kw - fall_kw))


def import_limit_kw(block: PowerBlock, starts: Sequence[datetime], slot: timedelta) -> npt.NDArray[np.float64]:
    """Return the power the block may import in each slot: what its connection carries, within its capacity.

    Args:
        block: The block.
        starts: Start of each slot, UTC, length T.
        slot: Length of a slot.

    Returns:
        Power in kW, shape (T,): the lowest at any instant of the slot.
    """
    limit = capacity_kw(block, starts, slot)
    if block.connection is not None:
        limit = np.minimum(limit, carried_kw(block.connection, block.capacity_kw, starts, slot))
    return limit if block.grid_kw is None else np.minimum(limit, block.grid_kw)


def capacity_kw(block: PowerBlock, starts: Sequence[datetime], slot: timedelta) -> npt.NDArray[np.float64]:
    """Return the facility power the block may take in each slot, from the grid and from behind its meter.

    A slot that a commissioning date, an end of service or a derating touches takes the lowest capacity in it, so that
    no instant of the slot breaks the limit.

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
