"""The one way to the network: short timeouts, few retries, one budget, and the last good answer when all fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from planner.errors import AuthError, DataUnavailable, RateLimited, StaleData
from planner.sources.answers import check_status, decode
from planner.sources.breaker import Breakers
from planner.sources.flight import single_flight
from planner.sources.issued import IssuedForecasts
from planner.sources.request import Reply, Request
from planner.sources.retry import pause_s
from planner.sources.transport import Patience, download
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.cache import Answer, ResponseCache

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Http:
    """How the network is used.

    Args:
        cache: Answers kept from earlier, or None. Processes that share it ask once for what they all need, and leave a
            provider alone that has failed them.
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

    @property
    def issued(self) -> IssuedForecasts | None:
        """Where forecasts are kept as issued, or None where nothing is kept."""
        return None if self.cache is None else IssuedForecasts(self.cache.folder)

    def get(
        self,
        request: Request,
        read: Callable[[Any], _T],
        deadline: float,
        note: Callable[[_T, datetime], None] | None = None,
    ) -> Reply[_T]:
        """Return a fresh kept answer, else a new one, else the last good one marked stale.

        Args:
            request: What is asked.
            read: Checks the decoded body (JSON, or the root of an XML document) and returns what it says. An answer
                that it refuses is not kept.
            deadline: When the fetch must be done, from `deadline()`.
            note: Told what a new answer says and when it came, before the answer takes the place of the one kept.

        Raises:
            AuthError: The provider refused the key.
            SchemaChanged: The answer has not the agreed shape.
            StaleData: No answer came and the last good one is older than max_age.
            RateLimited: The provider asks to come back later, and no last good answer is there.
            NoValues: The provider has nothing, and no last good answer is there.
            DataUnavailable: No answer came and none is kept.
        """
        now = self.clock()
        kept = self._kept(request)
        reply = self._fresh(request, read, kept, now)
        if reply is not None:
            return reply
        with self._alone(request, deadline):
            again = self._kept(request)
            if again is not None and again != kept:  # another process has asked meanwhile
                kept = again
                reply = self._fresh(request, read, kept, now)
                if reply is not None:
                    return reply
            try:
                answer = self._ask(request, now, deadline)
                value = read(decode(answer, request))
            except AuthError:
                raise
            except DataUnavailable as exc:
                return self._last_good(request, read, kept, now, exc)
            if note is not None:
                note(value, now)
            if self.cache and request.keep:
                self.cache.put(request.key, answer, settled=request.settled(now))
            return Reply(value, now, stale=False, settled=request.settled(now))

    def _kept(self, request: Request) -> Answer | None:
        return self.cache.get(request.key) if self.cache and request.keep else None

    @contextmanager
    def _alone(self, request: Request, deadline: float) -> Iterator[None]:
        if self.cache is None or self.offline:
            yield
            return
        with single_flight(self.cache.folder, request.key, deadline):
            yield

    @staticmethod
    def _fresh(request: Request, read: Callable[[Any], _T], kept: Answer | None, now: datetime) -> Reply[_T] | None:
        if kept is not None and request.fresh(kept.fetched_at, now):
            # One that an older gridpace kept may be unreadable to this one: then it is asked for anew.
            with suppress(DataUnavailable):
                value = read(decode(kept, request))
                return Reply(value, kept.fetched_at, stale=False, settled=request.settled(kept.fetched_at))
        return None

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
        try:
            value = read(decode(kept, request))
        except DataUnavailable:
            raise failure from None  # an older gridpace kept it, and this one cannot read it
        _LOG.warning(
            "%s: %s; the answer of %s (%.0f h old) is used and marked stale",
            request.subject,
            failure.what,
            iso(kept.fetched_at),
            age_h,
        )
        return Reply(value, kept.fetched_at, stale=True)

    def _ask(self, request: Request, now: datetime, deadline: float) -> Answer:
        if self.offline:
            raise DataUnavailable(
                f"{request.source} was not asked for {request.subject}, and no answer is kept",
                why="gridpace works offline",
                fix="run once with the network, or use data in a file or the demo",
            )
        breakers = Breakers(self.cache.folder) if self.cache else None
        until = breakers.open_until(request.host, now) if breakers else None
        if until is not None:
            raise DataUnavailable(
                f"{request.source} is left alone until {iso(until)} and was not asked for {request.subject}",
                why="it failed several times in a row, or asked for a pause",
                fix="try again then, or name a fallback",
            )
        patience = Patience(self.budget_s, self.connect_s, self.read_s, self.longest_wait_s, self.backoff_s)
        try:
            answer = download(request, patience, now, deadline)
        except DataUnavailable:
            if breakers:
                breakers.failed(request.host, now)
            raise
        try:
            check_status(answer, request)
        except DataUnavailable as exc:
            if breakers and (isinstance(exc, RateLimited) or answer.status >= 500):
                asked_s = pause_s(answer.status, answer.headers.get("retry-after"), request.ban_s)
                breakers.failed(request.host, now, asked_s)
            raise
        if breakers:
            breakers.worked(request.host)
        return answer
