"""Which records tell of GPU boards that another process metered at the same time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.ledger.tables import Telemetry

_NOTHING = timedelta(0)


class _Spans:
    """Stretches of time that do not touch, in order."""

    def __init__(self) -> None:
        self._starts: list[datetime] = []
        self._ends: list[datetime] = []

    def add(self, start: datetime, end: datetime) -> None:
        first, last = bisect_left(self._ends, start), bisect_left(self._starts, end)
        if last < len(self._starts) and self._starts[last] == end:
            last += 1
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def overlap(self, start: datetime, end: datetime) -> timedelta:
        found = _NOTHING
        for index in range(bisect_left(self._ends, start), len(self._starts)):
            if self._starts[index] >= end:
                break
            found += max(min(end, self._ends[index]) - max(start, self._starts[index]), _NOTHING)
        return found


def shares_not_told_before(records: Sequence[Telemetry]) -> list[float]:
    """Say how much of each record's board-time no record before it tells already.

    The processes of a node agree on one meter for each board; those that cannot see each other, as in two containers,
    may both meter it. A record's energy counts by the share of its boards' time that is told for the first time, its
    boards taken as equal.

    Args:
        records: Telemetry in any order; the earlier begin counts first, then the writer's name. One that was compared
            with records that are kept no more has its share already.

    Returns:
        Share of each record that counts, 0 to 1; 1 for records that name no boards.
    """
    shares = [1.0] * len(records)
    told: dict[str, _Spans] = {}
    order = sorted(range(len(records)), key=lambda i: (records[i].t_start, records[i].writer, records[i].sequence))
    for index in order:
        record = records[index]
        length = record.t_end - record.t_start
        boards = (record.boards or "").split()
        if not boards or length <= _NOTHING:
            continue
        before = sum(
            (told.setdefault(board, _Spans()).overlap(record.t_start, record.t_end) for board in boards), _NOTHING
        )
        not_told = 1.0 - before / (len(boards) * length)
        shares[index] = not_told if record.energy_share is None else record.energy_share
        for board in boards:
            told[board].add(record.t_start, record.t_end)
    return shares
