"""Whether requests can be answered: a row is really written, however many ask once in some seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.errors import ExportError
from planner.ledger.jobs import prove_writable

if TYPE_CHECKING:
    from planner.ledger import Ledger

LOG = logging.getLogger("planner.service")
_FRESH_S = 5.0
_OLD_S = 15.0


class Readiness:
    """Proves that the database can be written, at most once in five seconds: whoever asks needs no token.

    A disk that is full, a database that was made read-only or a server that was replaced by its copy still answers
    whoever reads; an instance there can hand out calendars, but takes in no telemetry and no event.

    Args:
        ledger: The database.
        instance: Name of this instance.
        steady: Seconds of any steady clock.
    """

    def __init__(self, ledger: Ledger, instance: str, steady: Callable[[], float] = time.monotonic) -> None:
        self._ledger = ledger
        self._instance = instance
        self._steady = steady
        self._asking = threading.Lock()
        self._asked_s = -float("inf")
        self._found = False

    def is_ready(self) -> bool:
        """Return whether a row could be written when that was tried last; before the first time it is not known to."""
        # Of many who come at once one writes; the others do not wait for a database that may be slow to answer.
        if self._asking.acquire(blocking=False):
            try:
                if self._steady() - self._asked_s >= _FRESH_S:
                    self._found = self._written()
                    self._asked_s = self._steady()
            finally:
                self._asking.release()
        # Where the one who asks is kept waiting by the database, what was found before it is no answer for long.
        return self._found and self._steady() - self._asked_s < _OLD_S

    def _written(self) -> bool:
        try:
            with self._ledger.writing() as session:
                prove_writable(session, self._instance)
        except ExportError as error:
            LOG.warning("not ready: %s", error.what)
            return False
        return True
