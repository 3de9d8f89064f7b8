"""Calendars from a web server; loaded only where there is one, because the libraries for it are large."""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

from trainer_hooks.agent.origin import Fetched
from trainer_hooks.agent.secret import Secret
from trainer_hooks.errors import AgentError, CalendarError

_CHUNK_BYTES = 64 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "gridpace"}
_SEE_SERVER = "See whether the server is up, and whether its certificate and this node's clock are right."


class HttpOrigin:
    """A web server.

    Args:
        url: Address of the published folder, http or https.
        token: Sent as a bearer token; only over https, or to this machine.
        ca_file: Certificates to trust instead of the system's; None trusts the system's.
        timeout_s: Longest time for a file, s.

    Raises:
        AgentError: The address is of another kind, carries a name or a query, or the token would go in the clear.
    """

    def __init__(
        self, url: str, token: Secret | None = None, ca_file: Path | None = None, timeout_s: float = 20.0
    ) -> None:
        try:
            parts = urlsplit(url)
            is_whole = parts.port is None or parts.port > 0
        except ValueError:
            parts, is_whole = urlsplit(""), False
        why = None
        if not is_whole or parts.scheme not in {"http", "https"} or not parts.hostname:
            why = f"{url[:80]!r} is no address of http or https."
        elif parts.username or parts.password or parts.query or parts.fragment:
            why = "it carries a user, a password or a query, which would be seen in logs."
        elif token is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            why = "the token would go over the network in the clear."
        if why:
            raise AgentError("calendar, key source", why, "Write https://host/path, and put a token into token_file.")
        self._url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        try:
            context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        except OSError as error:
            raise AgentError(
                f"calendar, ca_file {ca_file}", f"it cannot be used ({error}).", "Give a PEM file."
            ) from error
        # What is for this machine, a token perhaps, must not go by way of a proxy that the environment names.
        direct = (urllib.request.ProxyHandler({}),) if parts.hostname in _LOOPBACK else ()
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _SameServer(), *direct)

    def get(self, relative: str, limit_bytes: int, etag: str = "") -> Fetched | None:
        """See `Origin`."""
        address = f"{self._url}/{quote(relative)}"
        request = urllib.request.Request(address, headers=_HEADERS)  # noqa: S310  the scheme was checked at the start
        if etag:
            request.add_header("If-None-Match", etag)
        if self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token.content.decode('ascii', 'replace')}")
        deadline_s = time.monotonic() + self._timeout_s
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return Fetched(_read(answer, limit_bytes, deadline_s, address), answer.headers.get("ETag", "")[:200])
        except urllib.error.HTTPError as error:
            with error:
                if error.code == http.HTTPStatus.NOT_MODIFIED:
                    return None
                raise CalendarError(address, f"the server answers {error.code}.", _SEE_SERVER) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise CalendarError(address, f"it cannot be fetched ({reason}).", _SEE_SERVER) from None


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows a server only to itself: elsewhere a stranger would choose what nodes obey."""

    max_redirections = 3

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Refuse another scheme, host or port."""
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            fp.close()
            raise CalendarError(
                req.full_url,
                f"the server sends elsewhere, to {new.scheme}://{new.netloc}.",
                "Set the source to the address itself.",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(answer: IO[bytes], limit_bytes: int, deadline_s: float, address: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        part = answer.read1(_CHUNK_BYTES) if hasattr(answer, "read1") else answer.read(_CHUNK_BYTES)
        if not part:
            # read1 takes the end of a connection for the end of the file
            if getattr(answer, "length", None):
                raise CalendarError(address, f"it ended after {size} bytes, before its own length.", _SEE_SERVER)
            return b"".join(parts)
        size += len(part)
        parts.append(part)
        if size > limit_bytes:
            raise CalendarError(address, f"it is larger than the limit of {limit_bytes} bytes.", _SEE_SERVER)
        if time.monotonic() > deadline_s:
            raise CalendarError(address, "it did not come whole in time.", _SEE_SERVER)
