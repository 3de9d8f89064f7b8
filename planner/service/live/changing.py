"""Whether the page would show something new, asked of the database once for all who watch."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from planner.service.live.look import mark

if TYPE_CHECKING:
    from planner.ledger import Ledger

_FRESH_S = 1.0


class Changing:
    """What the page would show, as a short text; however many watch, the database is asked once a second.

    Args:
        ledger: The database.
        site: The site.
        clock: Gives the present time, UTC.
        steady: Seconds of any steady clock.

    Attributes:
        is_over: Whether nobody is told of changes any more.
    """

    def __init__(
        self,
        ledger: Ledger,
        site: str,
        clock: Callable[[], datetime],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._site = site
        self._clock = clock
        self._steady = steady
        self._asking = asyncio.Lock()
        self._found = ""
        self._asked_s: float | None = None
        self.is_over = False

    def end(self) -> None:
        """Have streams of changes end by themselves: the service ends."""
        self.is_over = True

    async def seen(self) -> str:
        """Return a text that is another one as soon as the page would show something new.

        Raises:
            ExportError: The database does not answer.
        """
        async with self._asking:  # of many who come at once one asks, and the others wait for what it hears
            if self._asked_s is None or self._steady() - self._asked_s >= _FRESH_S:
                self._found = await run_in_threadpool(self._ask)
                self._asked_s = self._steady()
            return self._found

    def _ask(self) -> str:
        with self._ledger.reading() as session:
            return hashlib.sha256(mark(session, self._site, self._clock()).encode()).hexdigest()[:16]
