"""Stamps of a file to instants in UTC, with the two hours a year that clocks make or lose."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.timegrid import YEARS, to_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from zoneinfo import ZoneInfo

AMBIGUOUS = ("order", "first", "last")


def parse_stamps(cells: Sequence[object], time_format: str, name_row: Callable[[int], str]) -> list[datetime]:
    """Return stamps as times, aware where they carry an offset and naive where they do not.

    Args:
        cells: Text, or times as a Parquet file holds them.
        time_format: Format of `datetime.strptime`, or "" for ISO 8601.
        name_row: Gives the name of the row at a position, for errors.

    Raises:
        ConfigError: A stamp cannot be read (the first such row is named).
    """
    stamps = []
    for i, cell in enumerate(cells):
        try:
            if isinstance(cell, datetime):
                stamp = cell
            elif time_format:
                stamp = datetime.strptime(str(cell).strip(), time_format)  # noqa: DTZ007 - the zone is declared
            else:
                stamp = datetime.fromisoformat(str(cell).strip())
            if stamp.year not in YEARS:
                raise ValueError  # noqa: TRY301 - one message for every stamp that cannot be one
        except ValueError:
            raise ConfigError(
                f"{name_row(i)}: time {cell!r} cannot be read"
                f" as {f'time_format {time_format!r}' if time_format else 'ISO 8601'}"
                f" in the years {YEARS[0]} to {YEARS[-1]}",
                fix="write times as 2024-05-13T06:00:00Z, or declare time_format, such as %d.%m.%Y %H:%M",
            ) from None
        stamps.append(stamp)
    return stamps


def stamps_to_utc(
    stamps: Sequence[datetime], tz: ZoneInfo, ambiguous: str, name_row: Callable[[int], str]
) -> list[datetime]:
    """Return stamps in UTC; naive ones are read in `tz`.

    A local time that exists twice in autumn is resolved by the order of rows where the file has both: in a file that
    runs forward the first is summer time. Where one row only stands, nothing in the file says which it is.

    Args:
        stamps: Times in the order of the file.
        tz: Zone of naive times.
        ambiguous: "order" refuses a single row of a doubled hour; "first" reads it as summer time, the earlier instant,
            "last" as winter time. Pairs are always resolved by order.
        name_row: Gives the name of the row at a position, for errors.

    Raises:
        ConfigError: A local time does not exist there (spring), stands once where it exists twice and `ambiguous` is
            "order", stands twice in a file without an order, or stands three times.
    """
    if tz.key == "UTC":
        return [s.replace(tzinfo=UTC) if s.tzinfo is None else s.astimezone(UTC) for s in stamps]
    doubled: list[int] = []
    out: list[datetime] = []
    for i, stamp in enumerate(stamps):
        early = stamp.replace(tzinfo=tz).astimezone(UTC) if stamp.tzinfo is None else stamp.astimezone(UTC)
        out.append(early)
        if stamp.tzinfo is not None or early == stamp.replace(tzinfo=tz, fold=1).astimezone(UTC):
            continue
        if early.astimezone(tz).replace(tzinfo=None) == stamp.replace(fold=0):
            doubled.append(i)
            continue
        try:
            to_utc(stamp, tz)
        except ConfigError as exc:
            raise ConfigError(
                f"{name_row(i)}: {exc.what}",
                why=f"{exc.why}; a value there is made up, or the zone is not {tz.key}",
                fix="take the row out, declare the zone that the times have, or write times in UTC",
            ) from None
    if doubled:
        _resolve(stamps, out, doubled, tz, ambiguous, name_row)
    return out


def _resolve(
    stamps: Sequence[datetime],
    out: list[datetime],
    doubled: list[int],
    tz: ZoneInfo,
    ambiguous: str,
    name_row: Callable[[int], str],
) -> None:
    rest = [s.replace(tzinfo=None) for i, s in enumerate(stamps) if i not in set(doubled)]
    forward = all(a <= b for a, b in pairwise(rest))
    backward = all(a >= b for a, b in pairwise(rest)) and not forward
    count = Counter(stamps[i] for i in doubled)
    seen: Counter[datetime] = Counter()
    for i in doubled:
        stamp = stamps[i]
        seen[stamp] += 1
        late = seen[stamp] == (1 if backward else 2)
        if count[stamp] == 1:
            if ambiguous == "order":
                raise ConfigError(
                    f"{name_row(i)}: local time {stamp} exists twice in {tz.key} and the file has one row for it",
                    why="the clocks go back in that hour, so the row can mean either of two hours",
                    fix='set ambiguous = "first" (summer time) or "last" (winter time), or write times in UTC',
                )
            late = ambiguous == "last"
        elif count[stamp] > 2 or not (forward or backward):
            raise ConfigError(
                f"{name_row(i)}: local time {stamp} exists twice in {tz.key}, and {count[stamp]} rows have it"
                + ("" if count[stamp] > 2 else ", in no order"),
                why="which row is summer time can only be told from the order of rows",
                fix="sort the file by time, or write times in UTC",
            )
        out[i] = stamp.replace(tzinfo=tz, fold=int(late)).astimezone(UTC)
