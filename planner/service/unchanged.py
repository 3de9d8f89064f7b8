"""The answer that nearly every node gets: nothing has changed. It is given before any routing, from memory."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from planner.folders import folder_name
from trainer_hooks.publish import POINTER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from planner.service.state import ServiceState


class Unchanged:
    """Answers 304 where a caller has what is in force, and leaves everything else to the application.

    The pointer and the runs' windows may be read in every role, so that whom the guard lets in is served here.

    Args:
        app: The application.
        state: What request handlers need.
    """

    def __init__(self, app: ASGIApp, state: ServiceState) -> None:
        self._app = app
        self._shelf = state.shelf
        roots = {f"/v1/sites/{name}/" for name in (state.site, folder_name(state.site))}
        self._pointers = frozenset(f"{root}calendars/{POINTER}" for root in roots)
        self._runs = tuple(f"{root}runs/" for root in roots)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and scope["method"] == "GET":
            tag = self._tag(scope["path"])
            if tag is not None and any(key == b"if-none-match" and value == tag for key, value in scope["headers"]):
                headers = [(b"etag", tag), (b"cache-control", b"private, no-cache")]
                await send({"type": "http.response.start", "status": HTTPStatus.NOT_MODIFIED.value, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)

    def _tag(self, path: str) -> bytes | None:
        if path in self._pointers:
            found = self._shelf.tag_at_hand(None)
        else:
            root = next((root for root in self._runs if path.startswith(root)), None)
            found = None if root is None else self._shelf.tag_at_hand(path[len(root) :])
        return None if found is None else f'"{found}"'.encode("ascii")
