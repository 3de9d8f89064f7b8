"""The one place where time lives: UTC inside, slots left-closed, site time only at the edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from planner.errors import ConfigError

SLOT_MINUTES = (15, 30, 60)
MONTHS = 12
YEARS = range(1971, 2200)
"""Years in which any instant of a plan may lie: calendar arithmetic and time zones are sound there."""
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")


@dataclass(frozen=True)
class TimeGrid:
    """A row of equal, left-closed slots in UTC.

    Args:
        start: Start of the first slot, UTC, on a slot boundary.
        slot_minutes: 15, 30 or 60.
        n_slots: Count of slots, at least 1.
    """

    start: datetime
    slot_minutes: int
    n_slots: int

    def __post_init__(self) -> None:
        if self.slot_minutes not in SLOT_MINUTES:
            raise ConfigError(
                f"slot length is {self.slot_minutes} min; allowed are 15, 30 and 60 min",
                fix="set slot_minutes to 15, 30 or 60",
            )
        if self.start.utcoffset() != timedelta(0):
            raise ConfigError(f"grid start {self.start} is not in UTC", fix="convert it with to_utc first")
        if self.n_slots < 1:
            raise ConfigError(f"grid has {self.n_slots} slots; at least 1 is needed")
        if self.start.timestamp() % (60 * self.slot_minutes):
            raise ConfigError(
                f"grid start {iso(self.start)} is not on a {self.slot_minutes} min boundary",
                why="slots lie on UTC's boundaries; a site half an hour off UTC starts its week between two hours",
                fix="set slot_minutes to 30 where the site's time is off by half hours, to 15 where by quarters",
            )

    @property
    def slot_h(self) -> float:
        """Length of a slot in hours."""
        return self.slot_minutes / 60

    @property
    def slot(self) -> timedelta:
        """Length of a slot."""
        return timedelta(minutes=self.slot_minutes)

    @property
    def end(self) -> datetime:
        """End of the last slot, UTC."""
        return self.start + self.n_slots * self.slot

    @property
    def hours(self) -> float:
        """Length of the grid in hours."""
        return self.n_slots * self.slot_h

    @cached_property
    def starts(self) -> tuple[datetime, ...]:
        """Start of every slot, UTC, length n_slots."""
        return tuple(self.start + i * self.slot for i in range(self.n_slots))

    def position(self, t: datetime) -> float:
        """Return how many slots after the grid's start `t` lies (a real number, negative before)."""
        return (t - self.start) / self.slot

    def local_months(self, tz: ZoneInfo) -> npt.NDArray[np.int64]:
        """Return each slot's calendar month in site time, the first slot's being 0, shape (n_slots,)."""
        local = [t.astimezone(tz) for t in self.starts]
        first = local[0].year * 12 + local[0].month
        return np.array([t.year * 12 + t.month - first for t in local], dtype=np.int64)


def zone(name: str) -> ZoneInfo:
    """Return the IANA time zone of that name.

    Raises:
        ConfigError: There is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ConfigError(f"time zone {name!r} is not known", fix="use an IANA name such as Europe/Berlin") from exc


def iso(t: datetime) -> str:
    """Return `t` in UTC as 2024-05-13T00:00:00Z."""
    return t.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_utc(t: datetime, tz: ZoneInfo | None = None) -> datetime:
    """Return `t` in UTC; a naive time is read in the zone `tz`.

    Args:
        t: An aware time, or a naive one together with `tz`.
        tz: Zone of a naive time.

    Raises:
        ConfigError: `t` is naive without a zone, does not exist there (spring) or exists twice (autumn).
    """
    if t.tzinfo is not None:
        return t.astimezone(UTC)
    if tz is None:
        raise ConfigError(f"time {t} has no zone", fix="write an offset, for instance 2024-05-13T06:00:00Z")
    early, late = (t.replace(tzinfo=tz, fold=fold).astimezone(UTC) for fold in (0, 1))
    if early == late:
        return early
    exists = early.astimezone(tz).replace(tzinfo=None) == t
    state = "exists twice" if exists else "does not exist"
    raise ConfigError(
        f"local time {t} {state} in {tz.key}",
        why="the clocks change in that hour",
        fix="write the time with its UTC offset",
    )


def local_midnight(day: date, tz: ZoneInfo) -> datetime:
    """Return the first instant of a local day in UTC, also where midnight itself is skipped by the clocks."""
    naive = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the zone is attached in the next line
    return naive.replace(tzinfo=tz, fold=0).astimezone(UTC)


def iso_week(text: str, tz: ZoneInfo, slot_minutes: int) -> TimeGrid:
    """Return the grid of a local ISO week: Monday 00:00 to Monday 00:00 site time, 167, 168 or 169 hours.

    Args:
        text: Such as "2024-W20".
        tz: Site time zone.
        slot_minutes: 15, 30 or 60.

    Raises:
        ConfigError: The text is no ISO week, or one outside the years 1971 to 2199, or the week is no whole number of
            slots long or does not start on one.
    """
    match = _WEEK.fullmatch(text)
    try:
        if match is None:
            raise ValueError  # noqa: TRY301 - one message for both ways to be wrong
        monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
    except ValueError:
        raise ConfigError(f"{text!r} is no ISO week", fix="write it as 2024-W20") from None
    if int(match[1]) not in YEARS:
        raise ConfigError(f"week {text} is not in the years {YEARS[0]} to {YEARS[-1]}", fix="correct the year")
    return _days(f"week {text}", monday, monday + timedelta(days=7), tz, slot_minutes)


def month_grid(text: str, tz: ZoneInfo, slot_minutes: int) -> TimeGrid:
    """Return the grid of a local month, from its first midnight in site time to that of the next month.

    Args:
        text: Such as "2024-05".
        tz: Site time zone.
        slot_minutes: 15, 30 or 60.

    Raises:
        ConfigError: The text is no month, or one outside the years 1971 to 2199, or the month is no whole number of
            slots long or does not start on one.
    """
    match = _MONTH.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= MONTHS:
        raise ConfigError(f"{text!r} is no month", fix="write it as 2024-05")
    year, month = int(match[1]), int(match[2])
    if year not in YEARS:
        raise ConfigError(f"month {text} is not in the years {YEARS[0]} to {YEARS[-1]}", fix="correct the year")
    return _days(f"month {text}", date(year, month, 1), _next_month(date(year, month, 1)), tz, slot_minutes)


def horizon_grid(text: str, tz: ZoneInfo, slot_minutes: int) -> TimeGrid:
    """Return the grid of a local month such as "2024-05", or else of an ISO week; see `month_grid` and `iso_week`."""
    named = month_grid if _MONTH.fullmatch(text) else iso_week
    return named(text, tz, slot_minutes)


def horizon_name(start: datetime, end: datetime, tz: ZoneInfo) -> str:
    """Return the month such as "2024-05" that a horizon spans in site time, or else the ISO week in which it starts."""
    first = start.astimezone(tz).date()
    whole = first.day == 1 and local_midnight(first, tz) == start and local_midnight(_next_month(first), tz) == end
    return f"{first:%Y-%m}" if whole else week_name(start, tz)


def _next_month(first: date) -> date:
    return date(first.year + first.month // MONTHS, first.month % MONTHS + 1, 1)


def _days(called: str, first: date, after: date, tz: ZoneInfo, slot_minutes: int) -> TimeGrid:
    start, end = local_midnight(first, tz), local_midnight(after, tz)
    if (end - start) % timedelta(minutes=slot_minutes):
        raise ConfigError(
            f"{called} is {(end - start) / timedelta(hours=1):g} h long in {tz.key}: no whole number of"
            f" {slot_minutes} min slots",
            why=f"the clocks change there by less than a slot in that {called.split(maxsplit=1)[0]}",
            fix="set slot_minutes to 30 or 15",
        )
    return TimeGrid(start, slot_minutes, (end - start) // timedelta(minutes=slot_minutes))


def week_name(t: datetime, tz: ZoneInfo) -> str:
    """Return the ISO week in which the instant `t` lies in site time, such as "2024-W20"."""
    year, week, _ = t.astimezone(tz).isocalendar()
    return f"{year}-W{week:02d}"


def coming_week(now: datetime, tz: ZoneInfo) -> str:
    """Return the name of the first ISO week that starts at or after `now` in site time."""
    # The finest slots, because not every zone is whole hours off UTC.
    this = iso_week(week_name(now, tz), tz, min(SLOT_MINUTES))
    return week_name(now if this.start == now.astimezone(UTC) else this.end, tz)
