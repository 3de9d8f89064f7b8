"""A thread that sees a newer calendar or a lower limit at once, however long a step takes."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

from trainer_hooks.errors import HookError

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.clock import Clock
    from trainer_hooks.contract import RunCalendar

_LOG = logging.getLogger("trainer_hooks")


class Feed(Protocol):
    """Where newer calendars come from."""

    def poll(self) -> RunCalendar | None:
        """Return the calendar if it is another than at the last call, else None."""


class LimitWatch:
    """Polls the feed beside the training and lowers limits between steps; raising and pausing wait for a step boundary.

    Args:
        feed: Where newer calendars come from.
        clock: Time.
        lower: Called with a limit, W per GPU, that the present window asks for; lowers to it what stands higher.
        wake: Called when a newer calendar is there; makes the next step look up.
        watch_s: Time between two looks, s of real time.
    """

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        lower: Callable[[float], None],
        wake: Callable[[], None],
        watch_s: float,
    ) -> None:
        self._feed = feed
        self._clock = clock
        self._lower = lower
        self._wake = wake
        self._watch_s = watch_s
        self._calendar: RunCalendar | None = None
        self._newer: RunCalendar | None = None
        self._error: HookError | None = None
        self._end = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Look now, and again and again in a daemon thread until `close`."""
        self.look()
        threading.Thread(target=self._run, name="gridpace-watch", daemon=True).start()

    def close(self) -> None:
        """End the thread."""
        self._end.set()

    def poll(self) -> RunCalendar | None:
        """Return a calendar that came since the last call.

        Raises:
            HookError: At the last look the feed could not be read, and no calendar waits to be taken.
        """
        with self._lock:
            newer, self._newer = self._newer, None
            error, self._error = self._error, None
            if newer is not None:
                self._error = error  # for the next call: a calendar that came is not lost by a look that failed
            elif error is not None:
                raise error
        return newer

    def look(self) -> None:
        """Poll the feed once, and lower the limit if the present window asks for it."""
        try:
            newer = self._feed.poll()
        except HookError as error:
            with self._lock:
                self._error = error
        else:
            with self._lock:
                self._newer = newer or self._newer
            if newer is not None:
                self._calendar = newer
                self._wake()
        window = self._calendar.window_at(self._clock.wall()) if self._calendar else None
        if window is not None and window.gpu_power_limit_w is not None:
            self._lower(window.gpu_power_limit_w)

    def _run(self) -> None:
        while not self._end.wait(self._watch_s):
            self._look_safely()

    def _look_safely(self) -> None:
        try:
            self.look()
        except Exception:
            # The next look follows: without this thread no newer calendar would come any more.
            _LOG.exception("gridpace: a look at calendar and limit failed.")
