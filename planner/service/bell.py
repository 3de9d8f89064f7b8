"""What tells a thread that there is something to do, so that it need not look all the time."""

from __future__ import annotations

import threading


class Bell:
    """Rung by whoever has something to do, heard by the one thread that does it."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        """Have the thread look now."""
        self._rung.set()

    def heard(self, within_s: float) -> bool:
        """Wait to hear it.

        Args:
            within_s: Longest wait, s.

        Returns:
            Whether it was rung since it was heard last.
        """
        found = self._rung.wait(within_s)
        self._rung.clear()
        return found
