"""A look that is taken again and again, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Repeated:
    """Takes a look, and the next one after the pause that it asks for.

    Args:
        name: Name of the thread.
        look: Takes one look; returns the pause until the next, s. It raises nothing.
        first_s: Pause before the first look, s.
    """

    def __init__(self, name: str, look: Callable[[], float], first_s: float = 0.0) -> None:
        self._look = look
        self._first_s = first_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_stopped(self) -> bool:
        """Whether it was told to take no further look."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take no further look."""
        self._stop.set()

    def _run(self) -> None:
        pause_s = self._first_s
        while not self._stop.wait(pause_s):
            pause_s = self._look()
