"""Spans cut at fixed places, so that the same past is always asked for in the same words and found in the cache."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def floor(t: datetime, step: timedelta) -> datetime:
    """Return the last whole multiple of `step` since 1970-01-01T00:00Z at or before `t`."""
    return t - (t - _EPOCH) % step


def windows(start: datetime, end: datetime, step: timedelta) -> Iterator[tuple[datetime, datetime]]:
    """Yield the whole windows of length `step` that cover [start, end)."""
    at = floor(start, step)
    while at < end:
        yield at, at + step
        at += step
