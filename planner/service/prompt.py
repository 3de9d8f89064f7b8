"""A thread of its own for what must not wait behind a plan: events of the grid and of the halls."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from planner.errors import GridpaceError

if TYPE_CHECKING:
    from planner.service.bell import Bell

LOG = logging.getLogger("planner.service")
LOOK_S = 0.5
AGAIN_S = 20.0


class Prompt:
    """Works as soon as there is something new, however long the jobs of the schedule take.

    It looks when the bell is rung, and twice a second besides: another instance may have received the event.

    Args:
        mark: Returns what is another value as soon as there may be something to do.
        work: Does it; returns whether it could be done.
        bell: Rung when something came in to this instance.
        look_s: Pause between two looks, s.
        again_s: Pause after work that could not be done, s; the bell ends it.
        steady: Seconds of any steady clock.
    """

    def __init__(
        self,
        mark: Callable[[], Hashable],
        work: Callable[[], bool],
        bell: Bell,
        *,
        look_s: float = LOOK_S,
        again_s: float = AGAIN_S,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mark = mark
        self._work = work
        self._bell = bell
        self._look_s = look_s
        self._again_s = again_s
        self._steady = steady
        self._stop = threading.Event()
        self._seen: Hashable = None
        self._failed_s = -float("inf")
        self._thread = threading.Thread(target=self._run, name="gridpace-events", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, *, wait: bool) -> None:
        """Begin no further work; where it is said, wait for what is being done."""
        self._stop.set()
        self._bell.ring()
        if wait and self._thread is not threading.current_thread():
            self._thread.join()

    def look(self, *, rung: bool) -> None:
        """Look once, and work where there is something new.

        Args:
            rung: Whether the bell was: then work that failed is tried again at once.
        """
        found = self._mark()
        is_due = found != self._seen or (
            self._failed_s > -float("inf") and (rung or self._steady() - self._failed_s >= self._again_s)
        )
        if not is_due:
            return
        done = self._work()
        self._failed_s = -float("inf") if done else self._steady()
        # What came in meanwhile is another mark than this one, which was taken before.
        self._seen = found

    def _run(self) -> None:
        rung, said = True, ""
        while not self._stop.is_set():
            try:
                self.look(rung=rung)
                said = ""
            except GridpaceError as error:
                if error.what != said:  # a database that is away is so for many looks
                    LOG.warning("events wait: %s", error.what)
                said = error.what
            except Exception:
                LOG.exception("events wait")  # this thread is the only one that answers them
            rung = self._bell.heard(self._look_s)
