"""Connections on which nothing goes on any more are closed: each would hold its place, and its answer, for good."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

IDLE_S = 20.0


def patient_protocol(idle_s: float = IDLE_S) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, which drops callers that neither ask on nor read on.

    Args:
        idle_s: Longest time in which a request's headers have to come, and longest time in which nothing of an answer
            is read, s.
    """

    class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # which one it is depends on what is installed
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._since_s, self._unread = time.monotonic(), 0
            self._looking = self.loop.call_later(idle_s / 4, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._looking.cancel()
            super().connection_lost(exc)

        def _look(self) -> None:
            now_s, unread = time.monotonic(), self.transport.get_write_buffer_size()
            answering = self.cycle is not None and not self.cycle.response_complete
            if unread < self._unread or (answering and not unread):
                self._since_s = now_s
            self._unread = unread
            if now_s - self._since_s > idle_s:
                self.transport.abort()
                return
            self._looking = self.loop.call_later(idle_s / 4, self._look)

    return Patient
