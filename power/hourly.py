"""Series of whole hours, such as a farm's output or the residual mix, read for slots no longer than an hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class HourlyValues:
    """A series of whole hours.

    Args:
        start: First instant, UTC.
        values: One value per hour, shape (H,).
        source: Where it comes from.
    """

    start: datetime
    values: npt.NDArray[np.float64]
    source: str

    @property
    def end(self) -> datetime:
        """First instant after the last hour, UTC."""
        return self.start + len(self.values) * timedelta(hours=1)

    def covers(self, start: datetime, end: datetime) -> bool:
        """Return whether all hours from one instant to another are known."""
        return self.start <= start and end <= self.end

    def per_slot(self, start: datetime, slot_minutes: int, n_slots: int) -> npt.NDArray[np.float64]:
        """Return the value of the hour in which each slot lies.

        Args:
            start: Start of the first slot, UTC.
            slot_minutes: Length of a slot, min.
            n_slots: Count of slots, T.

        Returns:
            Shape (T,), in the series' unit.

        Raises:
            IndexError: An hour is not known.
        """
        end = start + n_slots * timedelta(minutes=slot_minutes)
        if not self.covers(start, end):
            raise IndexError(
                f"{self.source} has the hours from {self.start} to {self.end}, not all of {start} to {end}"
            )
        first_min = round((start - self.start) / timedelta(minutes=1))
        return np.asarray(self.values[(first_min + slot_minutes * np.arange(n_slots)) // 60])
