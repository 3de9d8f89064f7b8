"""The answer that nearly every node gets: nothing has changed. It is given before any routing, from memory."""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from planner.errors import GridpaceError
from trainer_hooks.publish import POINTER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from planner.service.state import ServiceState

_WAIT = re.compile(rb"wait=(\d{1,4})", re.ASCII)
_HELD = (b"preference-applied", b"wait")


class Unchanged:
    """Answers 304 where a caller has what is in force, and leaves everything else to the application.

    Who asks for the pointer with `Prefer: wait=50` (RFC 7240) is answered as soon as another calendar is in force, or
    after that many seconds. `Preference-Applied: wait` says that this is done; without it the caller asks again after a
    pause. The pointer and the runs' windows may be read in every role, so that whom the guard lets in is served here.

    Args:
        app: The application.
        state: What request handlers need.
    """

    def __init__(self, app: ASGIApp, state: ServiceState) -> None:
        self._app = app
        self._shelf = state.shelf
        self._waiting = state.waiting
        self._pointers = frozenset(f"{root}calendars/{POINTER}" for root in state.roots)
        self._runs = tuple(f"{root}runs/" for root in state.roots)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and scope["method"] == "GET":
            wait_s = self._wait_s(scope)
            if wait_s is not None:
                send = _noted(send)
                with suppress(GridpaceError):  # the application says that the database does not answer
                    if not self._shelf.fresh:
                        await run_in_threadpool(self._shelf.current)
            if wait_s and self._has(scope):
                tag = _header(scope).decode("ascii").strip('"')
                await self._waiting.until_changed(tag, wait_s, receive)
            if self._has(scope):
                headers = [(b"etag", _header(scope)), (b"cache-control", b"private, no-cache")]
                await send({"type": "http.response.start", "status": HTTPStatus.NOT_MODIFIED.value, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)

    def _has(self, scope: Scope) -> bool:
        """Return whether the caller has what is in force, as far as that is known without the database."""
        tag = self._tag(scope["path"])
        return tag is not None and _header(scope) == tag

    def _wait_s(self, scope: Scope) -> float | None:
        """Return for how long a caller would wait for another calendar, s; None where it would or can not."""
        if scope["path"] not in self._pointers or not self._waiting.has_room:
            return None
        found = next((_WAIT.fullmatch(value.strip()) for key, value in scope["headers"] if key == b"prefer"), None)
        return None if found is None else float(found[1])

    def _tag(self, path: str) -> bytes | None:
        if path in self._pointers:
            found = self._shelf.tag_at_hand(None)
        else:
            root = next((root for root in self._runs if path.startswith(root)), None)
            found = None if root is None else self._shelf.tag_at_hand(path[len(root) :])
        return None if found is None else f'"{found}"'.encode("ascii")


def _header(scope: Scope) -> bytes:
    return next((bytes(value) for key, value in scope["headers"] if key == b"if-none-match"), b"")


def _noted(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), _HELD]}
        await send(message)

    return sent
