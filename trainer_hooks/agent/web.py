"""Calendars from a web server; loaded only where there is one, because the libraries for it are large."""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, quote, urlsplit

from trainer_hooks.agent.origin import Fetched, Looked
from trainer_hooks.agent.secret import Secret
from trainer_hooks.errors import AgentError, CalendarError

_CHUNK_BYTES = 64 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "gridpace"}
_OF_PROXIES = frozenset({502, 503, 504})
"""What a proxy answers in place of a server that was too slow for it, or has gone."""
_SHORTEST_CUT_S = 1.0
_SEE_SERVER = "See whether the server is up, and whether its certificate and this node's clock are right."


def checked_address(url: str, token: Secret | None, subject: str) -> SplitResult:
    """Return the parts of a server's address.

    Args:
        url: The address, http or https.
        token: What is sent along; only over https, or to this machine.
        subject: Where the address stands, for errors.

    Raises:
        AgentError: The address is of another kind, carries a name or a query, or the token would go in the clear.
    """
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
        raise AgentError(subject, why, "Write https://host/path, and put a token into token_file.")
    return parts


def opener_to(
    parts: SplitResult, ca_file: Path | None, redirects: urllib.request.HTTPRedirectHandler, section: str
) -> urllib.request.OpenerDirector:
    """Return what opens connections to a server.

    Args:
        parts: Parts of its address.
        ca_file: Certificates to trust instead of the system's; None trusts the system's.
        redirects: What becomes of a server that sends elsewhere.
        section: Section of the configuration, for errors.

    Raises:
        AgentError: The certificates cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except OSError as error:
        raise AgentError(
            f"{section}, ca_file {ca_file}", f"it cannot be used ({error}).", "Give a PEM file."
        ) from error
    # What is for this machine, a token perhaps, must not go by way of a proxy that the environment names.
    direct = (urllib.request.ProxyHandler({}),) if parts.hostname in _LOOPBACK else ()
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), redirects, *direct)


def authorize(request: urllib.request.Request, token: Secret | None) -> None:
    """Give a request its bearer token, which no redirect carries on."""
    if token is not None:
        request.add_unredirected_header("Authorization", f"Bearer {token.content.decode('ascii', 'replace')}")


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
        parts = checked_address(url, token, "calendar, key source")
        self._url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        self._opener = opener_to(parts, ca_file, _SameServer(), "calendar")

    def get(self, relative: str, limit_bytes: int, etag: str = "") -> Fetched | None:
        """See `Origin`."""
        try:
            return self._fetch(relative, limit_bytes, etag, 0.0).pointer
        except _BrokenError as error:
            raise error.told from None

    def look(self, relative: str, limit_bytes: int, etag: str, wait_s: float) -> Looked:
        """See `Origin`."""
        begin_s = time.monotonic()
        try:
            return self._fetch(relative, limit_bytes, etag, wait_s)
        except _BrokenError as error:
            if etag and time.monotonic() - begin_s >= min(_SHORTEST_CUT_S, wait_s / 2.0) > 0.0:
                return Looked(None, was_cut=True)
            raise error.told from None

    def _fetch(self, relative: str, limit_bytes: int, etag: str, wait_s: float) -> Looked:
        address = f"{self._url}/{quote(relative)}"
        request = urllib.request.Request(address, headers=HEADERS)  # noqa: S310  the scheme was checked at the start
        if etag:
            request.add_header("If-None-Match", etag)
        if wait_s:
            request.add_header("Prefer", f"wait={wait_s:.0f}")
        authorize(request, self._token)
        timeout_s = self._timeout_s + wait_s
        deadline_s = time.monotonic() + timeout_s
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                content = _read(answer, limit_bytes, deadline_s, address)
                return Looked(Fetched(content, answer.headers.get("ETag", "")[:200]), _waits(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == http.HTTPStatus.NOT_MODIFIED:
                    return Looked(None, _waits(error.headers))
                told = CalendarError(address, f"the server answers {error.code}.", _SEE_SERVER)
                raise (_BrokenError(told) if error.code in _OF_PROXIES else told) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            told = CalendarError(address, f"it cannot be fetched ({reason}).", _SEE_SERVER)
            raise _BrokenError(told) from None


class _BrokenError(Exception):
    """The way to the server broke: a request that waited may only have been cut off."""

    def __init__(self, told: CalendarError) -> None:
        super().__init__(str(told))
        self.told = told


def _waits(headers: Message) -> bool:
    return headers.get("Preference-Applied", "").strip() == "wait"


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
