"""An answer that comes in pages: asked for until it is whole, and begun anew where it changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from planner.errors import DataUnavailable
from planner.sources.request import Reply, Request
from planner.sources.rows import NoValues

if TYPE_CHECKING:
    from planner.sources.http import Http

_MOST_PAGES = 49  # ENTSO-E counts to an offset of 4,800


@dataclass(frozen=True)
class Page:
    """One page of an answer.

    Args:
        items: What stands on it.
        length: How far the next page lies behind it, in the provider's own count.
        total: Length of the whole answer as the provider tells it, or None where it does not.
    """

    items: Sequence[Any]
    length: int
    total: int | None = None


@dataclass(frozen=True)
class Paging:
    """How a provider turns pages.

    Args:
        read: Returns the page that a decoded body is.
        full: Length of a full page; where no total is told, only after a full one another follows.
        parameter: Name of the parameter that says how many to pass over; the first page is asked for as it is.
    """

    read: Callable[[Any], Page]
    full: int
    parameter: str = "offset"

    def at(self, request: Request, offset: int) -> Request:
        """Return the request of the page that begins at an offset."""
        if offset == 0:
            return request
        others = tuple(pair for pair in request.params if pair[0] != self.parameter)
        return replace(request, params=(*others, (self.parameter, str(offset))))


class _Changed(Exception):
    """The total is another one on a later page."""


def fetch_pages(
    http: Http,
    request: Request,
    paging: Paging,
    deadline: float,
    note: Callable[[list[Page], datetime], None],
) -> Reply[list[Page]]:
    """Return all pages of an answer; its age is that of the oldest.

    Where the total changes between two pages, rows have moved across their edge: all pages are asked for once more, and
    none is taken from the cache.

    Args:
        http: How the network is used.
        request: That of the first page.
        paging: How pages are turned.
        deadline: When all must be done, from `Http.deadline()`.
        note: Told the pages so far, and when the last came, before a new answer takes the place of the one kept.

    Raises:
        DataUnavailable: A page cannot be had (see `Http.get` for its kinds), or the total has changed once more.
    """
    try:
        return _turn(http, request, paging, deadline, note)
    except _Changed:
        anew = replace(request, ttl=timedelta(0), settled_at=None)
        try:
            reply = _turn(http, anew, paging, deadline, note)
        except _Changed as exc:
            raise DataUnavailable(
                f"{request.source} changes its answer for {request.subject} while its pages are read",
                why=str(exc),
                fix="try again in some minutes, or use another source",
            ) from None
        return replace(reply, settled=request.settled(reply.fetched_at))


def _turn(
    http: Http,
    request: Request,
    paging: Paging,
    deadline: float,
    note: Callable[[list[Page], datetime], None],
) -> Reply[list[Page]]:
    pages: list[Page] = []
    replies: list[Reply[tuple[Page, Any]]] = []
    offset = 0
    while len(pages) < _MOST_PAGES:
        try:
            reply = http.get(
                paging.at(request, offset),
                lambda payload: (paging.read(payload), payload),
                deadline,
                lambda told, at: note([*pages, told[0]], at),
            )
        except NoValues:
            if not pages:
                raise
            break  # a page behind the last one
        page, payload = reply.value
        if replies and _same(payload, replies[-1].value[1]):
            break  # it does not turn pages
        if pages and page.total != pages[0].total:
            raise _Changed(f"of {pages[0].total} rows there are now {page.total}")
        pages.append(page)
        replies.append(reply)
        offset += page.length
        more = page.length == paging.full if page.total is None else offset < page.total
        if not more or page.length == 0:
            break
    return Reply(
        pages,
        min(reply.fetched_at for reply in replies),
        stale=any(reply.stale for reply in replies),
        settled=all(reply.settled for reply in replies),
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, ET.Element) and isinstance(other, ET.Element):
        return ET.tostring(one) == ET.tostring(other)
    return bool(one == other)
