"""The quarter hours of a horizon in site time: what tariffs and contracts are looked up in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    import numpy.typing as npt

QUARTER_MIN = 15
QUARTER = timedelta(minutes=QUARTER_MIN)
HOUR_MIN = 60


@dataclass(frozen=True)
class Quarters:
    """Quarter hours of T slots, N = T x `per_slot` of them, arrays of shape (N,).

    Clocks change by whole quarters everywhere, so that no quarter lies on both sides of a change.

    Args:
        starts: Start of each, UTC.
        per_slot: Quarters in a slot.
        month: Calendar month in site time, 1 to 12.
        month_index: Months since that of the first quarter.
        weekday: Weekday in site time, 1 (Monday) to 7.
        minute: Minute of the day on the site's clocks.
        offset_min: Minutes that the site's clocks are ahead of UTC.
    """

    starts: tuple[datetime, ...]
    per_slot: int
    month: npt.NDArray[np.int64]
    month_index: npt.NDArray[np.int64]
    weekday: npt.NDArray[np.int64]
    minute: npt.NDArray[np.int64]
    offset_min: npt.NDArray[np.int64]

    @property
    def week_hour(self) -> npt.NDArray[np.int64]:
        """Hour of the local week on the site's clocks, 0 (Monday 00:00) to 167, shape (N,)."""
        return (self.weekday - 1) * 24 + self.minute // HOUR_MIN

    def within(self, start: datetime | None, end: datetime | None) -> npt.NDArray[np.bool_]:
        """Return which quarters lie in a span, shape (N,).

        Args:
            start: First instant, UTC, on a quarter hour; None for no beginning.
            end: First instant after it, UTC, on a quarter hour; None for no end.
        """
        inside = [(start is None or start <= t) and (end is None or t < end) for t in self.starts]
        return np.array(inside, dtype=np.bool_)

    def slot_mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the slot means, shape (T,), of a value per quarter, shape (N,)."""
        return np.asarray(values.reshape(-1, self.per_slot).mean(axis=1))

    def any_in_slot(self, values: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return for which slots any quarter says yes, shape (T,)."""
        return np.asarray(values.reshape(-1, self.per_slot).any(axis=1))


def quarters(starts: Sequence[datetime], slot: timedelta, tz: tzinfo) -> Quarters:
    """Return the quarter hours of a horizon.

    Args:
        starts: Start of each slot, UTC, on a quarter hour, length T.
        slot: Length of a slot, whole quarter hours.
        tz: Site time.
    """
    per_slot = slot // QUARTER
    instants = tuple(start + i * QUARTER for start in starts for i in range(per_slot))
    local = [t.astimezone(tz) for t in instants]
    months = np.array([t.year * 12 + t.month for t in local], dtype=np.int64)
    offsets = [offset for t in local if (offset := t.utcoffset()) is not None]
    return Quarters(
        starts=instants,
        per_slot=per_slot,
        month=np.array([t.month for t in local], dtype=np.int64),
        month_index=months - months[0],
        weekday=np.array([t.isoweekday() for t in local], dtype=np.int64),
        minute=np.array([t.hour * HOUR_MIN + t.minute for t in local], dtype=np.int64),
        offset_min=np.array([offset // timedelta(minutes=1) for offset in offsets], dtype=np.int64),
    )
