"""Spans cut at fixed places, so that the same past is always asked for in the same words and found in the cache."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import AuthError, DataUnavailable, SchemaChanged, StaleData
from planner.sources.pages import fetch_pages
from planner.sources.request import Reply
from planner.sources.rows import NoValues, add_flag
from planner.sources.series import STALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.sources.http import Http
    from planner.sources.pages import Paging
    from planner.sources.request import Request
    from planner.sources.series import Series

_LOG = logging.getLogger(__name__)
_FORECAST = "forecast"
_STRAYS = timedelta(days=60)  # some providers give whole months, or days before and after
_HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """A part of a span and how its provider is asked for it.

    Args:
        first: Start, UTC.
        last: End, UTC.
        request: What is asked.
    """

    first: datetime
    last: datetime
    request: Request


def floor(t: datetime, step: timedelta) -> datetime:
    """Return the last whole multiple of `step` since 1970-01-01T00:00Z at or before `t`."""
    return t - (t - _EPOCH) % step


def spans(start: datetime, end: datetime, step: timedelta) -> Iterator[tuple[datetime, datetime]]:
    """Yield the whole spans of length `step` that cover [start, end), none where that is empty."""
    at = floor(start, step)
    while start < end and at < end:
        yield at, at + step
        at += step


def past_and_ahead(
    span: tuple[datetime, datetime],
    now: datetime,
    cut: tuple[timedelta, timedelta],
    past: Callable[[datetime, datetime], Request],
    ahead: Callable[[], Request],
) -> list[Window]:
    """Return the windows of a provider that has the past by spans and one forecast from this hour on.

    Args:
        span: Start and end of what is asked, UTC.
        now: The present time, UTC.
        cut: Length of a window of the past, and how far the forecast reaches.
        past: The request for a span of the past.
        ahead: The request for the forecast.
    """
    (start, end), (length, horizon) = span, cut
    this_hour = floor(now, _HOUR)
    windows = [
        Window(first, min(last, this_hour), past(first, last))
        for first, last in spans(start, min(end, this_hour), length)
    ]
    if end > this_hour and start < this_hour + horizon:
        windows.append(Window(this_hour, this_hour + horizon + _HOUR, ahead()))
    return windows


@dataclass(frozen=True)
class Fetched:
    """What all windows of a span hold.

    Args:
        rows: Rows of a series that start in the span.
        fetched_at: When the oldest of the answers came that may still change, UTC; where none may, the newest.
        issued_at: When the provider issued the newest of them, UTC, or None where it does not say.
    """

    rows: pd.DataFrame
    fetched_at: datetime
    issued_at: datetime | None


def fetch_windows(
    http: Http,
    windows: Iterable[Window],
    read: Callable[[Any], Series],
    start: datetime,
    end: datetime,
    *,
    nothing: NoValues,
    paging: Paging | None = None,
) -> Fetched:
    """Return the rows of all windows that start in [start, end).

    A window for which the provider has nothing is a gap. So is one that cannot be had while an earlier one is served
    stale: the network is known to fail then, and what is kept is worth more than nothing.

    Every forecast that comes is kept as issued, whole and before its answer takes the place of the last one: what stops
    the process after that takes nothing away.

    Args:
        http: How the network is used; one budget holds for all windows.
        windows: Parts of the span, by time.
        read: The series of a decoded answer; of the list of its pages where it comes in pages.
        start: Start of the span, UTC.
        end: End of the span, UTC.
        nothing: What to raise where no window has a row; the last window's own reason, where it gave one, is told with
            it.
        paging: How the provider turns pages, or None where an answer is one.

    Raises:
        NoValues: No window has a row.
        DataUnavailable: A window cannot be had (see `Http.get` for its kinds).
    """
    deadline = http.deadline()
    parts: list[pd.DataFrame] = []
    replies: list[Reply[Series]] = []
    stale, reason = False, None
    for window in windows:
        try:
            reply = _reply(http, window, read, deadline, paging)
        except NoValues as exc:
            reason = exc
            continue
        except (AuthError, SchemaChanged, StaleData):
            raise
        except DataUnavailable as exc:
            if not stale:
                raise
            _LOG.warning("%s from %s on is left out: %s", window.request.subject, window.first, exc.what)
            continue
        stale = stale or reply.stale
        rows = reply.value.rows
        rows = rows[(rows.t_start >= max(window.first, start)) & (rows.t_start < min(window.last, end))]
        parts.append(add_flag(rows, STALE) if reply.stale else rows)
        replies.append(reply)
    if not any(len(rows) for rows in parts):
        if reason is None:
            raise nothing
        why = "; ".join(said for said in (reason.what, nothing.why) if said)
        raise NoValues(nothing.what, why=why, fix=nothing.fix) from reason
    _keep_whole(http, replies)
    changing = [reply.fetched_at for reply in replies if not reply.settled]
    issued = [reply.value.issued_at for reply in replies if reply.value.issued_at is not None]
    return Fetched(
        pd.concat(parts, ignore_index=True),
        min(changing) if changing else max(reply.fetched_at for reply in replies),
        max(issued, default=None),
    )


def _reply(
    http: Http, window: Window, read: Callable[[Any], Series], deadline: float, paging: Paging | None
) -> Reply[Series]:
    issued = http.issued

    def note(series: Series, at: datetime) -> None:
        if issued is not None:
            issued.keep(replace(series, fetched_at=at))

    def checked(answer: Any) -> Series:
        series = read(answer)
        _check_years(series.rows, window)
        return series

    if paging is None:
        return http.get(window.request, checked, deadline, note)
    return fetch_pages(http, window.request, paging, deadline, checked, note)


def _keep_whole(http: Http, replies: list[Reply[Series]]) -> None:
    """Keep a forecast that several answers make together as the one issue that it was."""
    ahead = [reply for reply in replies if not reply.stale and (reply.value.rows.kind == _FORECAST).any()]
    if http.issued is None or len(ahead) < 2:
        return
    rows = pd.concat([reply.value.rows for reply in ahead], ignore_index=True)
    rows = rows.drop_duplicates("t_start", keep="last").sort_values("t_start", ignore_index=True)
    last = max(ahead, key=lambda reply: reply.fetched_at)
    http.issued.keep(replace(last.value, rows=rows, fetched_at=last.fetched_at))


def _check_years(rows: pd.DataFrame, window: Window) -> None:
    """Refuse rows of another time than was asked for: a provider that answers so has a fault in its years."""
    strange = rows[(rows.t_start < window.first - _STRAYS) | (rows.t_start > window.last + _STRAYS)]
    if len(strange):
        asked = f"{window.first:%Y-%m-%dT%H:%MZ} to {window.last:%Y-%m-%dT%H:%MZ}"
        raise SchemaChanged(
            f"{window.request.source}: {window.request.subject} has a row of {strange.t_start.iloc[0]:%Y-%m-%dT%H:%MZ};"
            f" asked was {asked}",
            why=f"{len(strange)} of {len(rows)} rows lie in another time",
            fix="try again later, or use another source",
        )
