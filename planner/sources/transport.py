"""One answer over the network: within its budget, from the host that was asked, and with every secret hidden."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, MaxRetryError, ReadTimeoutError

from planner.errors import DataUnavailable, SchemaChanged
from planner.sources.cache import Answer
from planner.sources.keys import Secret, without
from planner.sources.retry import BudgetRetry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from planner.sources.request import Request

_BODY_ATTEMPTS = 2  # urllib3 retries until the headers are there; a body cut short is asked for once more
_CHUNK_BYTES = 65_536
_TOO_LATE = "the answer did not come in time"
_MOST_BYTES = 32 * 1024 * 1024
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Patience:
    """How long to wait for what.

    Args:
        budget_s: Longest time that all requests of one fetch may take together, s.
        connect_s: Longest wait for a connection, s.
        read_s: Longest silence of a provider, s.
        longest_wait_s: Longest wait that a provider may ask for (Retry-After) before it counts as refused, s.
        backoff_s: First pause between tries where the provider asks for none, s; it doubles.
    """

    budget_s: float
    connect_s: float
    read_s: float
    longest_wait_s: float
    backoff_s: float


def download(request: Request, patience: Patience, now: datetime, deadline: float) -> Answer:
    """Return the answer of a provider, whatever its status.

    Args:
        request: What is asked.
        patience: How long to wait.
        now: The present instant, UTC: when the answer came.
        deadline: When it must be there, on the monotonic clock, s.

    Raises:
        DataUnavailable: No answer came, or it leads to another host.
        SchemaChanged: It is far too long.
    """
    failure: Exception | None = None
    with _hidden_in_logs(request.secrets):
        for _ in range(_BODY_ATTEMPTS):
            if deadline <= time.monotonic():
                break
            try:
                return _ask(request, patience, now, deadline)
            except HTTPError as exc:
                failure = exc
            except requests.RequestException as exc:
                failure = exc
                break
    raise DataUnavailable(
        f"{request.source} did not answer for {request.subject}",
        why=_cause(failure, patience.budget_s),
        fix="check the network, try again later, or use data in a file",
    ) from (None if request.secrets else failure)  # texts of requests and urllib3 hold the whole address


@cache
def user_agent() -> str:
    """Return the name by which providers know gridpace, with its version."""
    try:
        return f"gridpace/{metadata.version('gridpace')}"
    except metadata.PackageNotFoundError:
        return "gridpace/checkout"


def _ask(request: Request, patience: Patience, now: datetime, deadline: float) -> Answer:
    url = request.url
    params = [*request.params, *((name, secret.text) for name, secret in request.secret_params)]
    with requests.Session() as session:
        session.headers["User-Agent"] = user_agent()
        session.headers.update({name: secret.text for name, secret in request.secret_headers})
        # A .netrc of the user's must not put in place of our header, nor be sent to a host that redirects.
        session.auth = _as_it_is
        for _ in range(_MOST_REDIRECTS + 1):
            left_s = max(0.001, deadline - time.monotonic())
            retry = BudgetRetry.of(deadline, patience.longest_wait_s, patience.backoff_s, request.ban_s)
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(max_retries=retry))
            timeout = (min(patience.connect_s, left_s), min(patience.read_s, left_s))
            with session.get(url, params=params, timeout=timeout, stream=True, allow_redirects=False) as response:
                if response.status_code in _REDIRECTS and response.headers.get("location"):
                    url = _next_url(request, url, response.headers["location"])
                    params = []
                    continue
                body = _body(response, request, deadline)
                return _answer(response, body, request, now)
    raise DataUnavailable(
        f"{request.source} redirects more than {_MOST_REDIRECTS} times for {request.subject}", fix="try again later"
    )


def _as_it_is(prepared: requests.PreparedRequest) -> requests.PreparedRequest:
    return prepared


def _next_url(request: Request, url: str, location: str) -> str:
    target = urlsplit(urljoin(url, location))
    asked = urlsplit(url)
    same = target.hostname == asked.hostname and (target.port, target.scheme) == (asked.port, asked.scheme)
    upgraded = target.hostname == asked.hostname and (asked.scheme, target.scheme) == ("http", "https")
    if not (same or upgraded):
        raise DataUnavailable(
            f"{request.source} redirects from {asked.netloc} to {target.scheme}://{target.netloc}"
            f" for {request.subject}",
            why="answers are taken from the host that was asked, and no key is sent to another one",
            fix="look for a newer gridpace, or check what stands between here and the provider",
        )
    return target.geturl()


def _answer(response: requests.Response, body: bytes, request: Request, now: datetime) -> Answer:
    headers = {k.lower(): without(v, request.secrets) for k, v in response.headers.items() if k.lower() != "set-cookie"}
    for secret in request.secrets:
        for spelling in secret.spellings:  # some providers repeat the whole request in their answers
            body = body.replace(spelling.encode(), b"***")
    return Answer(response.status_code, headers, body, now)


def _body(response: requests.Response, request: Request, deadline: float) -> bytes:
    # read1 returns what has come, so that a provider that drips bytes cannot outlast the budget.
    body = bytearray()
    while piece := response.raw.read1(_CHUNK_BYTES, decode_content=True):
        body += piece
        if len(body) > _MOST_BYTES:
            raise SchemaChanged(
                f"{request.source} answered more than {_MOST_BYTES // 1024**2} MiB for {request.subject}",
                fix="ask for a shorter span",
            )
        if time.monotonic() > deadline:
            raise requests.Timeout("the answer came too slowly")
    return bytes(body)


def _cause(failure: Exception | None, budget_s: float) -> str:
    # Texts of requests and urllib3 hold the whole URL; what went wrong is told by the class.
    if failure is None:
        return f"the budget of {budget_s:g} s is used up"
    inner = failure.args[0] if failure.args else None
    if isinstance(inner, MaxRetryError) and isinstance(inner.reason, ReadTimeoutError):
        return _TOO_LATE
    for kind, text in (
        (requests.ConnectTimeout, "no connection in time"),
        (requests.exceptions.SSLError, "the secure connection failed"),
        (requests.Timeout, _TOO_LATE),
        (HTTPError, "the answer was cut short"),
        (requests.ConnectionError, "no connection, or it broke"),
    ):
        if isinstance(failure, kind):
            return text
    return f"the request failed ({type(failure).__name__})"


class _Hide(logging.Filter):
    """Hides secrets in what urllib3 logs: it writes whole addresses."""

    def __init__(self, secrets: tuple[Secret, ...]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without(record.getMessage(), self._secrets), ()
        return True


@contextmanager
def _hidden_in_logs(secrets: tuple[Secret, ...]) -> Iterator[None]:
    if not secrets:
        yield
        return
    hide = _Hide(secrets)
    loggers = [logging.getLogger(name) for name in ("urllib3.connectionpool", "urllib3.util.retry")]
    for logger in loggers:
        logger.addFilter(hide)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(hide)
