"""A block's connection to the grid: feeders and transformers, what of them is firm, steps, outages and calls.

What the connection carries is the lowest of its kinds of units (all feeders together, all transformers together), with
the largest unit in service left out where the site plans for the loss of any one (N-1). Grid operators call that firm
capacity. Of it an interruptible part may be called off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    import numpy.typing as npt

    from power.contracts import Interruption

UnitKind = Literal["feeder", "transformer"]
UNIT_KINDS: tuple[UnitKind, ...] = ("feeder", "transformer")


@dataclass(frozen=True)
class GridUnit:
    """A feeder or a transformer.

    Args:
        name: Such as "T1".
        kind: "feeder" or "transformer".
        rating_kw: What it carries, kW.
        available_from: First instant of service, UTC, or None for always.
    """

    name: str
    kind: UnitKind
    rating_kw: float
    available_from: datetime | None = None


@dataclass(frozen=True)
class UnitOutage:
    """A span in which one unit is out for maintenance.

    Args:
        unit: Name of the unit.
        start: First instant, UTC.
        end: First instant after it, UTC.
        reason: For people.
    """

    unit: str
    start: datetime
    end: datetime
    reason: str = "maintenance"


@dataclass(frozen=True)
class CapacityStep:
    """A step in which a connection is commissioned.

    Args:
        since: First instant, UTC.
        capacity_kw: What it carries from then on, kW.
    """

    since: datetime
    capacity_kw: float


@dataclass(frozen=True)
class Smoothing:
    """A declared capability to smooth swings faster than any slot, such as of racks with capacitors; not decided.

    Args:
        power_kw: Swing that it takes, kW.
        up_to_s: Longest swing that it takes, s.
        means: What does it, such as "capacitors in racks".
    """

    power_kw: float
    up_to_s: float
    means: str


@dataclass(frozen=True)
class Connection:
    """What stands between a block and the grid.

    Args:
        units: Feeders and transformers; none of a kind means that the kind does not bind.
        n1: Whether power stays within what is left when the largest unit of each kind is lost.
        outages: Maintenance of units.
        steps: Capacity as the connection is commissioned, by rising time, none before the first; empty where it is
            whole.
        interruptible_kw: Part of the block's capacity that may be called off, kW.
        interruptions: Spans in which it is.
        notice_min: Minutes between a call and its earliest start.
        smoothing: Declared capability against fast swings, or None.
    """

    units: tuple[GridUnit, ...] = ()
    n1: bool = False
    outages: tuple[UnitOutage, ...] = ()
    steps: tuple[CapacityStep, ...] = ()
    interruptible_kw: float = 0.0
    interruptions: tuple[Interruption, ...] = ()
    notice_min: float = 0.0
    smoothing: Smoothing | None = None

    def firm_kw(self, at: datetime) -> float:
        """Return what the connection carries at an instant, kW; infinite where nothing limits it.

        Args:
            at: The instant, UTC.
        """
        limits_kw = [np.inf]
        out = {o.unit for o in self.outages if o.start <= at < o.end}
        for kind in UNIT_KINDS:
            built = [u for u in self.units if u.kind == kind]
            ratings_kw = [
                u.rating_kw for u in built if u.name not in out and (u.available_from is None or u.available_from <= at)
            ]
            if built:
                limits_kw.append(sum(ratings_kw) - (max(ratings_kw, default=0.0) if self.n1 else 0.0))
        if self.steps:
            limits_kw.append(next((step.capacity_kw for step in reversed(self.steps) if step.since <= at), 0.0))
        return float(min(limits_kw))

    def called_kw(self, at: datetime) -> float:
        """Return what of the interruptible part is called off at an instant, kW."""
        called = any(i.binding_from(self.notice_min) <= at < i.end for i in self.interruptions)
        return self.interruptible_kw if called else 0.0

    def changes(self) -> tuple[datetime, ...]:
        """Return every instant at which what it carries may change, UTC."""
        return (
            *(t for o in self.outages for t in (o.start, o.end)),
            *(u.available_from for u in self.units if u.available_from is not None),
            *(step.since for step in self.steps),
            *(t for i in self.interruptions for t in (i.binding_from(self.notice_min), i.end)),
        )


def carried_kw(
    connection: Connection, capacity_kw: float, starts: Sequence[datetime], slot: timedelta
) -> npt.NDArray[np.float64]:
    """Return the power that a block may take through its connection in each slot: the lowest at any instant of it.

    Args:
        connection: The connection.
        capacity_kw: Capacity of the block itself, kW.
        starts: Start of each slot, UTC, length T.
        slot: Length of a slot.

    Returns:
        Power in kW, shape (T,), 0 or more.
    """
    changes = sorted(set(connection.changes()))

    def at_kw(t: datetime) -> float:
        return max(0.0, min(capacity_kw, connection.firm_kw(t)) - connection.called_kw(t))

    found = np.empty(len(starts))
    for i, start in enumerate(starts):
        within = [t for t in changes if start < t < start + slot]
        found[i] = min(at_kw(t) for t in (start, *within))
    return found
