"""An answer that comes in pages: asked for until it is whole, and begun anew where it changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from xml.etree import ElementTree as ET

from planner.errors import DataUnavailable, SchemaChanged
from planner.sources.request import Reply, Request
from planner.sources.rows import NoValues

if TYPE_CHECKING:
    from planner.sources.http import Http

_MOST_PAGES = 49  # ENTSO-E counts to an offset of 4,800
_T = TypeVar("_T")


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

    def more(self, pages: Sequence[Page]) -> bool:
        """Return whether another page follows these."""
        last, told = pages[-1], pages[-1].total
        follows = last.length == self.full if told is None else sum(page.length for page in pages) < told
        return follows and last.length > 0 and len(pages) < _MOST_PAGES


@dataclass(frozen=True)
class _Turned(Generic[_T]):
    """One answer of a page.

    Args:
        page: The page, or None where it is the one before once more.
        payload: Its decoded body.
        value: What all pages up to it say together where none follows, else None.
    """

    page: Page | None
    payload: Any
    value: _T | None


class _Changed(Exception):
    """The total is another one on a later page."""


def fetch_pages(
    http: Http,
    request: Request,
    paging: Paging,
    deadline: float,
    whole: Callable[[list[Page]], _T],
    note: Callable[[_T, datetime], None] | None = None,
) -> Reply[_T]:
    """Return what all pages of an answer say together; its age is that of the oldest.

    Where the total changes between two pages, rows have moved across their edge; where several pages make no sense
    together, one of them may be kept from a bad day. Then all are asked for once more, and none is taken from the
    cache.

    Args:
        http: How the network is used.
        request: That of the first page.
        paging: How pages are turned.
        deadline: When all must be done, from `Http.deadline()`.
        whole: Checks all pages together and returns what they say; a last page that it refuses is not kept.
        note: Told what a new answer says and when it came, before its last page takes the place of the one kept.

    Raises:
        DataUnavailable: A page cannot be had (see `Http.get` for its kinds), or the total has changed once more.
    """
    turned: list[Page] = []
    try:
        return _turn(http, request, paging, deadline, whole, note, turned)
    except (_Changed, SchemaChanged):
        if not turned:
            raise
    anew = replace(request, ttl=timedelta(0), settled_at=None)
    try:
        reply = _turn(http, anew, paging, deadline, whole, note, [])
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
    whole: Callable[[list[Page]], _T],
    note: Callable[[_T, datetime], None] | None,
    pages: list[Page],
) -> Reply[_T]:
    """Return what all pages say, and put the pages that came into `pages`, in turn."""
    replies: list[Reply[_Turned[_T]]] = []

    def read(payload: Any) -> _Turned[_T]:
        page = paging.read(payload)
        if pages and _same(payload, replies[-1].value.payload):
            return _Turned(None, payload, whole(pages))  # it does not turn pages
        if pages and page.total != pages[0].total:
            raise _Changed(f"of {pages[0].total} rows there are now {page.total}")
        together = [*pages, page]
        return _Turned(page, payload, None if paging.more(together) else whole(together))

    def tell(turned: _Turned[_T], at: datetime) -> None:
        if note is not None and turned.value is not None:
            note(turned.value, at)

    value = None
    while value is None:
        try:
            reply = http.get(paging.at(request, sum(page.length for page in pages)), read, deadline, tell)
        except NoValues:
            if not pages:
                raise
            value = whole(pages)  # a page behind the last one
            break
        value = reply.value.value
        if reply.value.page is not None:
            pages.append(reply.value.page)
            replies.append(reply)
    return Reply(
        value,
        min(reply.fetched_at for reply in replies),
        stale=any(reply.stale for reply in replies),
        settled=all(reply.settled for reply in replies),
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, ET.Element) and isinstance(other, ET.Element):
        return ET.tostring(one) == ET.tostring(other)
    return bool(one == other)
