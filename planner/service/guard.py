"""What stands before every handler: who calls, from where, how often and with how much."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect

from planner.errors import GridpaceError
from planner.service.buckets import Buckets
from planner.service.cookie import LOGIN, token_of
from planner.service.live.rendering import KINDS
from planner.service.tokens import LOOPBACK, Principal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from planner.service.state import ServiceState
    from planner.service.tokens import TokenBook

LOG = logging.getLogger("planner.service")
OPEN_PATHS = frozenset({"/healthz", "/readyz", LOGIN, *(f"/live/{name}" for name in KINDS)})
"""Answered without a token: they tell nothing but whether the service works, and how its page is drawn."""

TELEMETRY_PATH = "/v1/telemetry"
_SAFE = frozenset({"GET", "HEAD"})
_BEARER = re.compile(r"Bearer +([A-Za-z0-9._~+/=-]{8,512})", re.ASCII)
_SINGLE = frozenset({b"authorization", b"content-length", b"content-type", b"host", b"origin", b"sec-fetch-site"})
_LONGEST_NUMBER = 18
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_BODY_LEFT = frozenset({HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_TIMEOUT})
"""Answers after which the rest of a body is not read."""

_GONE = 499
"""Who asked went away before the question was whole; nothing failed here."""

_FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # without one a browser would not say whose page a form stands on
)


class Refused(Exception):
    """A request that no handler sees.

    Args:
        status: HTTP status.
        what: Why, in one sentence.
        headers: Further headers of the answer.
    """

    def __init__(self, status: HTTPStatus, what: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.status = status
        self.what = what
        self.headers = headers
        super().__init__(what)


class Guard:
    """The outermost part of the application.

    Args:
        app: What it guards.
        state: Tokens, limits and counters.
    """

    def __init__(self, app: ASGIApp, state: ServiceState) -> None:
        limits = state.limits
        self._app = app
        self._state = state
        self._requests = Buckets(limits.requests_per_s, limits.request_burst)
        self._failures = Buckets(limits.failures_per_s, limits.failure_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun_s = time.perf_counter()
        answered = _Answered(send)
        name = "-"
        try:
            principal = self._admit(scope)
            name = principal.name if principal else "-"
            scope["state"] = {**scope.get("state", {}), "principal": principal}
            await self._app(scope, self._bounded(scope, receive), answered)
        except Refused as refusal:
            if not answered.status:
                await refuse(answered, _for_people(scope, refusal))
        except ClientDisconnect:
            answered.status = _GONE
        except Exception as error:
            # What it says may hold anything: the caller learns that it happened, the log where.
            LOG.exception("a request failed: %s", type(error).__name__)
            if not answered.status:
                failed = Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed; its log says where")
                await refuse(answered, failed)
        status = answered.status or 0
        if scope["path"] == LOGIN and status == HTTPStatus.FORBIDDEN:
            self._failures.take(_signing_in(_address(scope)))
        self._state.counts.add("http_requests", f"{status // 100}xx")
        # Thousands of nodes ask every minute whether something has changed; what they are told is counted, not written.
        level = logging.DEBUG if status == HTTPStatus.NOT_MODIFIED else logging.INFO
        if LOG.isEnabledFor(level):
            told = json.dumps(f"{scope['method']} {scope['path']}"[:300])  # escaped: no line of the log can be forged
            LOG.log(level, "%s %s by %s in %.1f ms", status, told, name, 1e3 * (time.perf_counter() - begun_s))

    def _admit(self, scope: Scope) -> Principal | None:
        headers: dict[bytes, bytes] = {}
        for key, value in scope["headers"]:
            if key in headers and key in _SINGLE:
                raise Refused(HTTPStatus.BAD_REQUEST, f"the header {key.decode('ascii')} stands twice")
            headers[key] = value
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            raise Refused(HTTPStatus.NOT_FOUND, "nothing here has a NUL in its name")  # no database takes one as text
        self._check_size(scope, headers)
        address = _address(scope)
        principal = None if scope["path"] in OPEN_PATHS else self._who(headers, address)
        if scope["method"] not in _SAFE:
            _check_origin(headers)
            if scope["path"] == LOGIN and self._failures.is_empty(_signing_in(address)):
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many wrong tokens", ((b"retry-after", b"60"),))
        wait_s = self._requests.take(f"{principal.name if principal else ''} {address}")
        if wait_s:
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", ((b"retry-after", _whole(wait_s)),))
        return principal

    def _who(self, headers: dict[bytes, bytes], address: str) -> Principal:
        tokens = self._state.tokens
        if tokens is None:
            # A proxy on this machine would make every caller one of this machine, and so would a page in a browser
            # whose name was made to resolve to it.
            forwarded = any(name in headers for name in _FORWARDED)
            if forwarded or not _is_loopback(address) or _host(headers.get(b"host", b"")) not in _LOOPBACK_HOSTS:
                raise Refused(HTTPStatus.FORBIDDEN, "without tokens only this machine itself is answered")
            return LOOPBACK
        bearer = _BEARER.fullmatch(headers.get(b"authorization", b"").decode("latin-1"))
        given = bearer[1] if bearer else token_of(headers.get(b"cookie", b""))
        refresh(tokens)
        # A good token is taken whatever others sent before: many nodes may call from one address.
        found = None if given is None else tokens.find(given)
        if found is None:
            if given is not None and self._failures.take(address):
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many wrong tokens", ((b"retry-after", b"60"),))
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "a bearer token is needed",
                ((b"www-authenticate", b'Bearer realm="gridpace"'),),
            )
        return found

    def _limit_bytes(self, scope: Scope) -> int:
        limits = self._state.limits
        return limits.telemetry_bytes if scope["path"] == TELEMETRY_PATH else limits.body_bytes

    def _check_size(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "bodies are taken as they are, not compressed")
        length = headers.get(b"content-length", b"0")
        said = length.lstrip(b"0") or b"0"
        if not length.isdigit() or len(said) > _LONGEST_NUMBER or int(said) > self._limit_bytes(scope):
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body may have {self._limit_bytes(scope)} bytes at most"
            )

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        limit, seen, more = self._limit_bytes(scope), 0, True
        until_s = time.monotonic() + self._state.limits.body_s

        async def counted() -> Message:
            nonlocal seen, more
            if not more:
                return await receive()
            try:
                async with asyncio.timeout(until_s - time.monotonic()):
                    message = await receive()
            except TimeoutError as error:
                raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the body did not come in time") from error
            more = bool(message.get("more_body", False))
            seen += len(message.get("body", b""))
            if seen > limit:
                raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body may have {limit} bytes at most")
            return message

        return counted


class _Answered:
    """Notes the status of an answer, and gives it the headers that all have."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            if self.status in _BODY_LEFT:
                message["headers"].append((b"connection", b"close"))
        await self._send(message)


def refresh(tokens: TokenBook) -> None:
    """Have tokens read again where their file has changed; callers are not told what is wrong with it."""
    try:
        tokens.refresh()
    except GridpaceError as error:
        LOG.error("tokens: %s", error.what)  # noqa: TRY400 - a sentence says it, a traceback adds nothing
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the service's tokens cannot be read") from error


async def refuse(send: Send, refusal: Refused) -> None:
    """Send the answer to a request that is refused."""
    body = json.dumps({"error": {"kind": "Refused", "what": refusal.what, "why": "", "fix": ""}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _for_people(scope: Scope, refusal: Refused) -> Refused:
    """Return where the page's visitor signs in, in place of the word that a token is missing."""
    if refusal.status is HTTPStatus.UNAUTHORIZED and scope["path"] == "/" and scope["method"] in _SAFE:
        return Refused(HTTPStatus.SEE_OTHER, "sign in", ((b"location", LOGIN.encode("ascii")),))
    return refusal


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """Refuse what a page of another site has a browser send."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    foreign = site is not None and site not in {b"same-origin", b"none"}
    if origin is not None:
        foreign |= _netloc(origin) != headers.get(b"host", b"").decode("latin-1").lower()
    if foreign:
        raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites may not call the service")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _signing_in(address: str) -> str:
    return f"{LOGIN} {address}"  # a bucket of its own: a node with an old token keeps nobody from signing in


def _netloc(origin: bytes) -> str | None:
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return None


def _host(header: bytes) -> str:
    try:
        return urlsplit(f"//{header.decode('latin-1')}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _whole(seconds: float) -> bytes:
    return str(int(seconds) + 1).encode()
