"""What is asked of a provider, and what it said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar
from urllib.parse import urlencode, urlsplit

from planner.sources.keys import Secret

_T = TypeVar("_T")


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
        form: What the body is agreed to be.
        absent: (status, text in the body) of answers that say that the provider has nothing; "" is in any body.
        secret_params: Parameters that no key, log, error or file may show.
        secret_headers: Headers likewise.
        keep: Whether an answer may be kept on disk; one that holds a token may not.
        ban_s: How long the provider is known to refuse after a 429 that does not say it, s; None where it is not known.
    """

    source: str
    subject: str
    url: str
    params: tuple[tuple[str, str], ...]
    ttl: timedelta
    settled_at: datetime | None = None
    form: Literal["json", "xml"] = "json"
    absent: tuple[tuple[int, str], ...] = ()
    secret_params: tuple[tuple[str, Secret], ...] = ()
    secret_headers: tuple[tuple[str, Secret], ...] = ()
    keep: bool = True
    ban_s: float | None = None

    @property
    def key(self) -> str:
        """The request as one text."""
        return f"GET {self.url}?{urlencode(sorted(self.params))}"

    @property
    def host(self) -> str:
        """Whom it goes to."""
        return urlsplit(self.url).netloc

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """All that must stay hidden."""
        return tuple(secret for _, secret in (*self.secret_params, *self.secret_headers))

    def settled(self, fetched_at: datetime) -> bool:
        """Return whether what came at `fetched_at` is what the provider will say for ever."""
        return self.settled_at is not None and self.settled_at <= fetched_at

    def fresh(self, fetched_at: datetime, now: datetime) -> bool:
        """Return whether an answer that came at `fetched_at` need not be asked for again."""
        return (self.settled(fetched_at) and fetched_at <= now) or timedelta(0) <= now - fetched_at < self.ttl


@dataclass(frozen=True)
class Reply(Generic[_T]):
    """What an answer says.

    Args:
        value: The answer as its reader returned it.
        fetched_at: When it came, UTC.
        stale: Whether it is the last good answer because no new one could be had.
        settled: Whether it no longer changes, so that its age says nothing.
    """

    value: _T
    fetched_at: datetime
    stale: bool
    settled: bool = False
