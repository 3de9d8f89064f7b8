"""Files that many nodes ask for at once, as all do when a calendar is new: given before any routing, from memory."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from planner.ledger.issued import StoredFile
from planner.service.calendar_routes import JSON, MAY_CHANGE, NEVER_CHANGES, TEXT
from trainer_hooks.publish import POINTER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from planner.service.state import ServiceState

_FILE = re.compile(r"calendars/(?P<calendar>[^/]+)/(?P<path>calendar\.json|runs/[^/]+)")
_SIGNATURE = re.compile(r"calendars/(?P<calendar>[^/]+)\.sig")
_ONE_TAG = re.compile(rb'"[^",]*"')


class AtHand:
    """Answers what the shelf has in memory as the application would, and leaves everything else to it.

    All of it may be read in every role, so that whom the guard lets in is served here.

    Args:
        app: The application.
        state: What request handlers need.
    """

    def __init__(self, app: ASGIApp, state: ServiceState) -> None:
        self._app = app
        self._shelf = state.shelf
        self._roots = state.roots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        found = self._found(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        content, headers = found
        headers.append((b"content-length", str(len(content)).encode("ascii")))
        await send({"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _found(self, scope: Scope) -> tuple[bytes, list[tuple[bytes, bytes]]] | None:
        path = scope["path"]
        root = next((root for root in self._roots if path.startswith(root)), None)
        kept = None if root is None else self._kept(path[len(root) :])
        if kept is None:
            return None
        file, tag, kind = kept
        etag = f'"{tag}"'.encode("ascii")
        # What a caller has otherwise than as one tag is the application's to compare.
        has = [value for key, value in scope["headers"] if key == b"if-none-match"]
        if any(one == etag or not _ONE_TAG.fullmatch(one) for one in has):
            return None
        names = (b"etag", b"cache-control", b"content-type")
        values = (etag, *(one.encode("ascii") for one in reversed(kind)))
        return file.content, list(zip(names, values, strict=True))

    def _kept(self, path: str) -> tuple[StoredFile, str, tuple[str, str]] | None:
        if path == f"calendars/{POINTER}":
            current = self._shelf.tag_at_hand(None)
            return None if current is None else (StoredFile(f"{current}\n".encode(), ""), current, (TEXT, MAY_CHANGE))
        if asked := _FILE.fullmatch(path):
            file = self._shelf.file_at_hand(asked["calendar"], asked["path"])
            return None if file is None else (file, file.sha256, (JSON, NEVER_CHANGES))
        if asked := _SIGNATURE.fullmatch(path):
            file = self._shelf.file_at_hand(asked["calendar"], "sig")
            return None if file is None else (file, f"{file.sha256}-sig", (TEXT, MAY_CHANGE))
        if path.startswith("runs/"):
            file = self._shelf.run_at_hand(path.removeprefix("runs/"))
            return None if file is None else (file, file.sha256, (JSON, MAY_CHANGE))
        return None
