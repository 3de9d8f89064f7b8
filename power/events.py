"""What the grid asks of a site for a while: events, and the one thing that holds at each instant where they overlap."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST_PRIORITY = 1_000_000
"""Stands for an event that names no priority: every named one goes before it."""
SIMPLE_LEVELS = 3


class Asked(StrEnum):
    """What an event can ask for, by its OpenADR 3.1 payload type."""

    IMPORT_LIMIT = "IMPORT_CAPACITY_LIMIT"
    SETPOINT = "DISPATCH_SETPOINT"
    PRICE = "PRICE"
    GHG = "GHG"
    SIMPLE = "SIMPLE"
    EMERGENCY = "ALERT_GRID_EMERGENCY"


LOWER_IS_TIGHTER = frozenset({Asked.IMPORT_LIMIT, Asked.SETPOINT})


@dataclass(frozen=True)
class Ask:
    """One thing asked for over one stretch of time.

    Args:
        kind: What is asked for.
        start: First instant, UTC.
        end: First instant after it, UTC, or None where the event leaves it open.
        value: Limit or setpoint in kW, price in money per kWh, carbon in gCO2e/kWh, level 0 to 3; 1 for an emergency.
        event: The event that asks, for people.
        priority: 0 goes first; `LAST_PRIORITY` where the event names none.
        block: Block that it is about, or None for the whole site.
    """

    kind: Asked
    start: datetime
    end: datetime | None
    value: float
    event: str
    priority: int = LAST_PRIORITY
    block: str | None = None


@dataclass(frozen=True)
class GridEvent:
    """An event as its sender wrote it.

    Args:
        name: Its name, or its id, for people.
        event_id: Its id, or "".
        program: Id of the program that it belongs to.
        priority: 0 goes first; `LAST_PRIORITY` where it names none.
        targets: Whom it is for; empty: everybody.
        currency: Currency of its prices, or None where it names none.
        randomize: Span within which the start may be put off.
        asks: What it asks for, by rising start.
        notes: Sentences about what was assumed or left aside in reading it.
    """

    name: str
    event_id: str
    program: str
    priority: int
    targets: tuple[str, ...]
    currency: str | None
    randomize: timedelta
    asks: tuple[Ask, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportLimit:
    """Most that may be drawn from the grid over one stretch of time, at every instant of it.

    Args:
        start: First instant, UTC.
        end: First instant after it, UTC.
        limit_kw: Grid import, kW.
        block: Block that it is about, or None for the whole site.
        event: The event that asks, for people.
    """

    start: datetime
    end: datetime
    limit_kw: float
    block: str | None
    event: str


def put_off(event: GridEvent, site: str) -> GridEvent:
    """Return an event as one site follows it: its start put off by the site's own share of `randomize`.

    Sites that all start at once shake the grid, so each takes a share of its own: drawn from the names of event and
    site, evenly over the span and the same each time.

    Args:
        event: The event.
        site: Name of the site.
    """
    if not event.randomize:
        return event
    drawn = hashlib.sha256(f"{event.program}\n{event.event_id or event.name}\n{site}".encode()).digest()
    by = event.randomize * (int.from_bytes(drawn[:4]) / 2**32)
    by -= by % timedelta(seconds=1)
    asks = tuple(replace(a, start=a.start + by, end=None if a.end is None else a.end + by) for a in event.asks)
    note = f"Event {event.name!r} lets the start be put off by up to {event.randomize}; here it is put off by {by}."
    return replace(event, asks=asks, notes=(*event.notes, note))


def within(asks: Sequence[Ask], start: datetime, end: datetime) -> tuple[Ask, ...]:
    """Return what is asked for between two instants: each cut to that span, an open end closed."""
    return tuple(
        replace(a, start=max(a.start, start), end=min(a.end or end, end))
        for a in asks
        if a.start < end and (a.end is None or a.end > start)
    )


def in_force(asks: Sequence[Ask]) -> tuple[Ask, ...]:
    """Return what holds at each instant where asks of one kind about one subject overlap.

    The lowest priority number goes first; among equals the tightest: the lowest limit or setpoint, and the highest
    price, carbon or level.

    Args:
        asks: What is asked for; every end is given (`within`).

    Returns:
        Asks that do not overlap within a kind and block, by kind, block and start.
    """
    found: list[Ask] = []
    for kind, block in sorted({(a.kind, a.block) for a in asks}, key=lambda key: (key[0].value, key[1] or "")):
        same = [(a, a.end) for a in asks if (a.kind, a.block) == (kind, block) and a.end is not None]
        edges = sorted({a.start for a, _ in same} | {end for _, end in same})
        for begin, after in pairwise(edges):
            there = [a for a, end in same if a.start <= begin and end >= after]
            if not there:
                continue
            sign = 1.0 if kind in LOWER_IS_TIGHTER else -1.0
            first = min(there, key=lambda a: (a.priority, sign * a.value, a.event))
            if found and _goes_on(found[-1], first, begin):
                found[-1] = replace(found[-1], end=after)
            else:
                found.append(replace(first, start=begin, end=after))
    return tuple(found)


def _goes_on(before: Ask, ask: Ask, at: datetime) -> bool:
    told = (before.kind, before.block, before.value, before.event, before.priority)
    return before.end == at and told == (ask.kind, ask.block, ask.value, ask.event, ask.priority)
