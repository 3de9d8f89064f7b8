"""What fails in a block: how much of it is left, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Outage:
    """A span in which a block carries less than it was built for. One of `capacity_kw` and `cdus_out` is given.

    Args:
        name: What its sender calls it, by which later word of it is known.
        block: The block.
        start: First instant, UTC.
        end: First instant after it, UTC, or None while nobody knows.
        cause: For people, such as "CDU 7 leaks".
        capacity_kw: What the block may still draw, IT and cooling, kW; 0 where it is dark.
        cdus_out: Coolant distribution units that are out.
    """

    name: str
    block: str
    start: datetime
    end: datetime | None
    cause: str
    capacity_kw: float | None = None
    cdus_out: int | None = None
