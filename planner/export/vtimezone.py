"""A time zone's rules as the VTIMEZONE component of RFC 5545, section 3.6.5.

Written here because icalendar 7.3 derives the onset of summer time from wall-clock arithmetic and lands one hour late.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import icalendar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

_Observance = icalendar.TimezoneDaylight | icalendar.TimezoneStandard
_STEP = timedelta(days=1)
_SECOND = timedelta(seconds=1)


def vtimezone(tz: ZoneInfo, start: datetime, end: datetime) -> icalendar.Timezone:
    """Return the rules of `tz` that hold from `start` to `end`.

    Args:
        tz: The zone.
        start: First instant covered, UTC.
        end: First instant no longer covered, UTC.
    """
    component = icalendar.Timezone()
    component.add("tzid", tz.key)
    component.add_component(_observance(tz, start, _offset(tz, start)))
    for onset in _changes(tz, start, end):
        component.add_component(_observance(tz, onset, _offset(tz, onset - _SECOND)))
    return component


def _observance(
    tz: ZoneInfo, onset: datetime, before: timedelta
) -> icalendar.TimezoneDaylight | icalendar.TimezoneStandard:
    there = onset.astimezone(tz)
    rule: _Observance = icalendar.TimezoneDaylight() if there.dst() else icalendar.TimezoneStandard()
    # The onset is told in the local time that held until then.
    rule.DTSTART = (onset + before).replace(tzinfo=None)
    rule.TZOFFSETFROM = before
    rule.TZOFFSETTO = _offset(tz, onset)
    rule.add("tzname", there.tzname())
    return rule


def _changes(tz: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    low = start.astimezone(UTC)
    while low < end:
        high = low + _STEP
        if _offset(tz, low) != _offset(tz, high):
            yield _first_after(tz, low, high)
        low = high


def _first_after(tz: ZoneInfo, low: datetime, high: datetime) -> datetime:
    before = _offset(tz, low)
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        if _offset(tz, middle) == before:
            low = middle
        else:
            high = middle
    return high


def _offset(tz: ZoneInfo, t: datetime) -> timedelta:
    offset = t.astimezone(tz).utcoffset()
    assert offset is not None
    return offset
