"""Planned and measured sums of each hour, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.contract import RunCalendar

HOUR = timedelta(hours=1)
_JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Sums:
    """What happened, or was to happen, in a stretch of time.

    Args:
        energy_kwh: Energy, kWh: of the IT where planned, of the boards that telemetry covers where measured.
        tokens: Tokens; where measured those that are kept.
        carbon_kg: Emissions, kg CO2e.
    """

    energy_kwh: float = 0.0
    tokens: float = 0.0
    carbon_kg: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.energy_kwh + other.energy_kwh, self.tokens + other.tokens, self.carbon_kg + other.carbon_kg)

    @property
    def tokens_per_joule(self) -> float | None:
        """Tokens per joule, or None without energy."""
        return self.tokens / (self.energy_kwh * _JOULES_PER_KWH) if self.energy_kwh > 0.0 else None


@dataclass(frozen=True)
class Measured:
    """What telemetry reports of one run in one hour.

    Args:
        start: The hour's start, UTC.
        until: End of the last record of it, UTC.
        sums: Its sums.
    """

    start: datetime
    until: datetime
    sums: Sums


def planned(run: RunCalendar, start: datetime, end: datetime) -> Sums:
    """Return what a run is to do from an instant to another, its windows taken as even."""
    found = Sums()
    for window in run.windows:
        inside = (min(window.end, end) - max(window.start, start)) / (window.end - window.start)
        if inside > 0.0:
            found += Sums(inside * window.energy_kwh, inside * window.tokens, inside * window.kgco2e)
    return found


def total(hours: Iterable[Measured]) -> Sums:
    """Return the sum of hours."""
    return sum((hour.sums for hour in hours), Sums())


def hours_between(start: datetime, end: datetime) -> tuple[datetime, ...]:
    """Return the starts of the whole hours that touch a stretch of time, UTC."""
    first = start.replace(minute=0, second=0, microsecond=0)
    return tuple(first + k * HOUR for k in range(-((first - end) // HOUR)))


def in_hour(hours: Mapping[str, Sequence[Measured]], start: datetime) -> tuple[Measured, ...]:
    """Return what runs report of one hour."""
    return tuple(hour for found in hours.values() for hour in found if hour.start == start)


def from_row(hour_s: int, until_s: float, energy_j: float, tokens: float, carbon_kg: float) -> Measured:
    """Return an hour as the ledger sums it.

    Args:
        hour_s: Its start, s since 1970.
        until_s: End of its last record.
        energy_j: Energy, J.
        tokens: Useful tokens.
        carbon_kg: Emissions, kg CO2e.
    """
    sums = Sums(energy_j / _JOULES_PER_KWH, tokens, carbon_kg)
    return Measured(datetime.fromtimestamp(hour_s, UTC), datetime.fromtimestamp(until_s, UTC), sums)
