"""When a request is tried again, and when not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self, cast

from urllib3.exceptions import InvalidHeader, MaxRetryError, ResponseError
from urllib3.util.retry import Retry

if TYPE_CHECKING:
    from types import TracebackType

    from urllib3.connectionpool import ConnectionPool
    from urllib3.response import BaseHTTPResponse

TOO_MANY = 429
"""Status with which a provider refuses because it was asked too often."""
_RETRIED = (TOO_MANY, 500, 502, 503, 504)
_LONGEST_BACKOFF_S = 8.0


def wait_s(retry_after: str | None) -> float | None:
    """Return how long a Retry-After header asks to wait, s; None where it is absent or cannot be read."""
    if retry_after is None:
        return None
    try:
        return Retry().parse_retry_after(retry_after)
    except InvalidHeader:
        return None


def pause_s(status: int, retry_after: str | None, ban_s: float | None) -> float | None:
    """Return how long a provider is to be left alone after an answer, s; None where nobody says.

    Args:
        status: Status of the answer.
        retry_after: Its Retry-After header, or None.
        ban_s: How long the provider is known to refuse after a 429 that does not say it, s, or None.
    """
    asked_s = wait_s(retry_after)
    return ban_s if asked_s is None and status == TOO_MANY else asked_s


class BudgetRetry(Retry):
    """urllib3's Retry that gives up where a provider asks for too long a wait, or the budget would not last."""

    deadline = 0.0
    longest_wait_s = 0.0
    ban_s: float | None = None

    @classmethod
    def of(cls, deadline: float, longest_wait_s: float, backoff_s: float, ban_s: float | None = None) -> BudgetRetry:
        """Return the policy.

        Args:
            deadline: When all must be done, on the monotonic clock, s.
            longest_wait_s: Longest Retry-After that is waited for, s.
            backoff_s: First pause where none is asked for, s; it doubles up to 8 s.
            ban_s: How long the provider is known to refuse after a 429 that does not say it, s, or None.
        """
        retry = cls(
            total=3,
            connect=2,
            read=1,
            status=3,
            other=0,
            allowed_methods=frozenset({"GET"}),
            status_forcelist=_RETRIED,
            backoff_factor=backoff_s,
            backoff_max=_LONGEST_BACKOFF_S,
            raise_on_status=False,
        )
        retry.deadline, retry.longest_wait_s, retry.ban_s = deadline, longest_wait_s, ban_s
        return retry

    def new(self, **kw: Any) -> Self:
        """Return a copy with changes; urllib3 copies through this method only."""
        fresh = super().new(**kw)
        fresh.deadline, fresh.longest_wait_s, fresh.ban_s = self.deadline, self.longest_wait_s, self.ban_s
        return fresh

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the wait that a response asks for, s."""
        return pause_s(response.status, response.headers.get("Retry-After"), self.ban_s)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        """Return the policy for the next try.

        Raises:
            MaxRetryError: There is no next try.
        """
        fresh = super().increment(method, url, response, error, _pool, _stacktrace)
        asked_s = self.get_retry_after(response) if response is not None else None
        pause_s = fresh.get_backoff_time() if asked_s is None else asked_s
        if (asked_s or 0.0) > self.longest_wait_s or time.monotonic() + pause_s > self.deadline:
            reason = error or ResponseError("no time for another try")
            raise MaxRetryError(cast("ConnectionPool", _pool), url or "", reason) from error
        return fresh
