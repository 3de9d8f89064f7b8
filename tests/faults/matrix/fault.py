"""What a fault of the matrix is."""

from __future__ import annotations

from typing import ClassVar

from tests.faults.matrix.cell import Cell


class Fault:
    """A fault: struck in a state, followed while it lasts, and healed.

    Attributes:
        name: Name in the table.
        means: Subject -> what happens to it.
        own_calendars: Subjects with which each rank reads a calendar of its own instead of asking the agent.
        more_s: What may be added to the lease time before a limit is given back, s.
    """

    name: ClassVar[str]
    means: ClassVar[dict[str, str]]
    own_calendars: ClassVar[frozenset[str]] = frozenset()
    more_s: ClassVar[float] = 0.0

    def strike(self, cell: Cell) -> None:
        raise NotImplementedError

    def follow(self, cell: Cell) -> None:
        """Wait for what comes of it while it lasts; the ranks are not kept in their callbacks any more."""

    def heal(self, cell: Cell) -> None:
        """End it."""

    def told(self, cell: Cell) -> None:
        """See that the record says what happened."""
        raise NotImplementedError
