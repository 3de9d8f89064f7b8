"""The one way to the network: short timeouts, few retries, one budget, and the last good answer when all fails."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, MaxRetryError, ReadTimeoutError

from planner.errors import AuthError, DataUnavailable, RateLimited, SchemaChanged, StaleData
from planner.sources.cache import Answer
from planner.sources.retry import BudgetRetry, wait_s
from planner.sources.rows import NoValues
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.cache import ResponseCache

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_BODY_ATTEMPTS = 2  # urllib3 retries until the headers are there; a body cut short is asked for once more
_CHUNK_BYTES = 65_536
_TOO_LATE = "the answer did not come in time"
_MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """What is asked.

    Args:
        source: The provider, for people.
        subject: Signal and zone, for people.
        url: Address without parameters.
        params: Parameters by name; no secrets, for they are part of the cache's key.
        ttl: How long an answer counts as fresh.
        settled_at: From when on the provider's answer no longer changes, UTC: one that came later is fresh for good.
    """

    source: str
    subject: str
    url: str
    params: tuple[tuple[str, str], ...]
    ttl: timedelta
    settled_at: datetime | None = None

    @property
    def key(self) -> str:
        """The request as one text."""
        return f"GET {self.url}?{urlencode(sorted(self.params))}"

    def fresh(self, fetched_at: datetime, now: datetime) -> bool:
        """Return whether an answer that came at `fetched_at` need not be asked for again."""
        if self.settled_at is not None and self.settled_at <= fetched_at <= now:
            return True
        return timedelta(0) <= now - fetched_at < self.ttl


@dataclass(frozen=True)
class Reply(Generic[_T]):
    """What an answer says.

    Args:
        value: The answer as its reader returned it.
        fetched_at: When it came, UTC.
        stale: Whether it is the last good answer because no new one could be had.
    """

    value: _T
    fetched_at: datetime
    stale: bool


@dataclass(frozen=True)
class Http:
    """How the network is used.

    Args:
        cache: Answers kept from earlier, or None.
        offline: Whether to serve from the cache alone and never open a socket.
        clock: Gives the present time, UTC.
        budget_s: Longest time that all requests of one fetch may take together, s.
        connect_s: Longest wait for a connection, s.
        read_s: Longest silence of a provider, s.
        longest_wait_s: Longest wait that a provider may ask for (Retry-After) before it counts as refused, s.
        backoff_s: First pause between tries where the provider asks for none, s; it doubles.
        max_age: Greatest age of a last good answer that may still be served.
    """

    cache: ResponseCache | None
    offline: bool
    clock: Callable[[], datetime]
    budget_s: float = 60.0
    connect_s: float = 5.0
    read_s: float = 20.0
    longest_wait_s: float = 20.0
    backoff_s: float = 0.5
    max_age: timedelta = timedelta(days=7)

    def deadline(self) -> float:
        """Return when a fetch that starts now must be done, on the monotonic clock, s."""
        return time.monotonic() + self.budget_s

    def get(self, request: Request, read: Callable[[Any], _T], deadline: float) -> Reply[_T]:
        """Return a fresh kept answer, else a new one, else the last good one marked stale.

        Args:
            request: What is asked.
            read: Checks the decoded JSON and returns what it says. An answer that it refuses is not kept.
            deadline: When the fetch must be done, from `deadline()`.

        Raises:
            AuthError: The provider refused the key.
            SchemaChanged: The answer has not the agreed shape.
            StaleData: No answer came and the last good one is older than max_age.
            RateLimited: The provider asks to come back later, and no last good answer is there.
            NoValues: The provider has nothing, and no last good answer is there.
            DataUnavailable: No answer came and none is kept.
        """
        now = self.clock()
        kept = self.cache.get(request.key) if self.cache else None
        if kept and request.fresh(kept.fetched_at, now):
            # One that an older gridpace kept may be unreadable to this one: then it is asked for anew.
            with suppress(DataUnavailable):
                return Reply(read(_decode(kept, request)), kept.fetched_at, stale=False)
        failure: DataUnavailable
        try:
            payload, answer = self._ask(request, now, deadline)
        except AuthError:
            raise
        except DataUnavailable as exc:
            failure = exc
        else:
            try:
                value = read(payload)
            except NoValues as exc:
                failure = exc
            else:
                if self.cache:
                    self.cache.put(request.key, answer)
                return Reply(value, now, stale=False)
        return self._last_good(request, read, kept, now, failure)

    def _last_good(
        self,
        request: Request,
        read: Callable[[Any], _T],
        kept: Answer | None,
        now: datetime,
        failure: DataUnavailable,
    ) -> Reply[_T]:
        if kept is None:
            raise failure
        age_h = (now - kept.fetched_at) / timedelta(hours=1)
        if now - kept.fetched_at > self.max_age:
            raise StaleData(
                f"the last good answer of {request.source} for {request.subject} is {age_h:.0f} h old;"
                f" at most {self.max_age / timedelta(hours=1):.0f} h are allowed",
                why=failure.what,
                fix=failure.fix or "try again later, or use another source",
            ) from failure
        _LOG.warning(
            "%s: %s; the answer of %s (%.0f h old) is used and marked stale",
            request.subject,
            failure.what,
            iso(kept.fetched_at),
            age_h,
        )
        return Reply(read(_decode(kept, request)), kept.fetched_at, stale=True)

    def _ask(self, request: Request, now: datetime, deadline: float) -> tuple[Any, Answer]:
        if self.offline:
            raise DataUnavailable(
                f"{request.source} was not asked for {request.subject}, and no answer is kept",
                why="gridpace works offline",
                fix="run once with the network, or use data in a file or the demo",
            )
        answer = self._download(request, now, deadline)
        _check_status(answer, request)
        return _decode(answer, request), answer

    def _download(self, request: Request, now: datetime, deadline: float) -> Answer:
        failure: Exception | None = None
        for _ in range(_BODY_ATTEMPTS):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            retry = BudgetRetry.of(deadline, self.longest_wait_s, self.backoff_s)
            timeout = (min(self.connect_s, left_s), min(self.read_s, left_s))
            try:
                with requests.Session() as session:
                    session.mount("https://", HTTPAdapter(max_retries=retry))
                    session.mount("http://", HTTPAdapter(max_retries=retry))
                    session.headers["User-Agent"] = user_agent()
                    with session.get(request.url, params=request.params, timeout=timeout, stream=True) as response:
                        body = _body(response, request, deadline)
                        headers = {k.lower(): v for k, v in response.headers.items() if k.lower() != "set-cookie"}
                        return Answer(response.status_code, headers, body, now)
            except HTTPError as exc:
                failure = exc
            except requests.RequestException as exc:
                failure = exc
                break
        raise DataUnavailable(
            f"{request.source} did not answer for {request.subject}",
            why=_cause(failure, self.budget_s),
            fix="check the network, try again later, or use data in a file",
        ) from failure


@cache
def user_agent() -> str:
    """Return the name by which providers know gridpace, with its version."""
    try:
        return f"gridpace/{metadata.version('gridpace')}"
    except metadata.PackageNotFoundError:
        return "gridpace/checkout"


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


def _check_status(answer: Answer, request: Request) -> None:
    status = answer.status
    reason = _reason(answer.body)
    what = f"{request.source} answered {status} for {request.subject}"
    if status in {401, 403}:
        raise AuthError(what, why=reason or "access is refused", fix="check the key and what it may read")
    if status == 429:
        wait = wait_s(answer.headers.get("retry-after"))
        raise RateLimited(
            what,
            why=reason or "too many requests",
            fix=f"come back in {wait:.0f} s" if wait is not None else "come back later",
        )
    if status >= 500:
        raise DataUnavailable(what, why=reason or "the provider has a fault", fix="try again later")
    if status >= 400:
        raise DataUnavailable(what, why=reason or "the request is refused", fix="check the zone and the span")


def _reason(body: bytes) -> str:
    """Return the sentence in an error's JSON body, in the shapes providers use, or ""."""
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    for key in ("error", "reason", "message"):
        inner = found.get(key) if isinstance(found, dict) else None
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return inner[:200]
    return ""


def _decode(answer: Answer, request: Request) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError as exc:
        kind = answer.headers.get("content-type", "without a type")
        raise SchemaChanged(
            f"{request.source} answered {len(answer.body)} bytes of {kind} for {request.subject} where JSON is agreed",
            why="a proxy or a maintenance page may stand between",
            fix="try again later, and check that the network lets the provider through",
        ) from exc
