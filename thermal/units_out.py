"""Which units of a plant run: all, or all but one of a kind."""

from __future__ import annotations

from typing import NamedTuple


class Running(NamedTuple):
    """Shares of the units that run, each from 0 to 1.

    Args:
        rejection: Dry coolers or tower cells.
        cdu: Coolant distribution units, with the rack pumps in them.
        chiller: Chillers.
        room: Compressor units of the room.
    """

    rejection: float = 1.0
    cdu: float = 1.0
    chiller: float = 1.0
    room: float = 1.0


ALL = Running()
