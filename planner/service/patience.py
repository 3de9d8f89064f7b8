"""Connections on which nothing goes on, or whose headers never end, are closed: each would hold its place for good."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_MOST_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 8
"""What may stand around each byte of a body that comes in chunks."""


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, which drops callers that neither ask on nor read on, or whose headers have no end."""

    idle_s = 20.0
    """Longest time in which a request's headers have to come, and in which nothing of an answer is read, s."""

    def connection_made(self, transport: Any) -> None:
        """See asyncio."""
        super().connection_made(transport)
        self._since_s, self._unread, self._head_bytes = time.monotonic(), 0, 0
        self._looking = self.loop.call_later(self.idle_s / 4, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > _MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """See httptools."""
        # A connection that is kept may be between two answers whenever it is looked at.
        self._since_s = time.monotonic()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        self._head_bytes -= (1 + _CHUNK_BYTES) * len(body)
        super().on_body(body)

    @property
    def _answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _refuse(self) -> None:
        # The parser keeps headers and trailers until they are whole, however long they are.
        if self._answering:
            self.transport.abort()
        else:
            status = STATUS_LINE[HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE]
            self.transport.write(status + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def _look(self) -> None:
        now_s, unread = time.monotonic(), self.transport.get_write_buffer_size()
        if unread < self._unread or (self._answering and not unread):
            self._since_s = now_s
        self._unread = unread
        if now_s - self._since_s > self.idle_s:
            self.transport.abort()
            return
        self._looking = self.loop.call_later(self.idle_s / 4, self._look)
