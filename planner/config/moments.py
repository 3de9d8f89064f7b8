"""Date-times of a site file in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from planner.config.draft import Placed
from planner.config.lines import KeyPath
from planner.errors import ConfigError
from planner.timegrid import YEARS, to_utc


class Moments:
    """Reads date-times in site time and notes those that do not exist or exist twice.

    Args:
        tz: Site time zone.
    """

    def __init__(self, tz: ZoneInfo) -> None:
        self.tz = tz

    def utc(self, placed: Placed[Any], key: KeyPath, value: datetime | None) -> datetime | None:
        """Return `value` in UTC, or None where it is None or no instant (which is noted as a fault)."""
        if value is None:
            return None
        if value.year not in YEARS:
            placed.fault(key, f"{value} is not in the years {YEARS[0]} to {YEARS[-1]}", "correct the year")
            return None
        try:
            return to_utc(value, self.tz)
        except ConfigError as error:
            placed.fault(key, error.what, error.fix)
            return None

    def rising(self, placed: Placed[Any], at: KeyPath, since: Sequence[datetime], mend: str) -> None:
        """Note each step of a list of tables that does not begin after the one before it.

        Args:
            placed: The table in which the list stands.
            at: Path of the list.
            since: First instant of each step.
            mend: What mends steps out of order.
        """
        found = [self.utc(placed, (*at, i, "since"), value) for i, value in enumerate(since)]
        for i, (earlier, later) in enumerate(pairwise(found), start=1):
            if earlier is not None and later is not None and later <= earlier:
                placed.fault((*at, i, "since"), f"{since[i]} is not after {since[i - 1]} before it", mend)


def order_mend(start: datetime, end: datetime, *, optional: bool = False) -> str:
    """Return what mends a span that ends before it starts, or at once.

    Args:
        start: First instant, UTC.
        end: First instant after it, UTC; at or before `start`.
        optional: Whether either may be left out.
    """
    mend = "swap them" if start > end else "set a later end"
    return f"{mend} or leave one out" if optional else mend
