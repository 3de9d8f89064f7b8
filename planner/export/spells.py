"""Spells: the stretches in which a run trains without a pause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.contract import RunCalendar, Window


@dataclass(frozen=True)
class Spell:
    """Run windows of one run that meet end to start.

    Args:
        run: Name of the run.
        number: 1 for the run's first spell in the calendar.
        windows: Its run windows, in order, at least one.
        resumes_at: Start of the run's next spell, UTC, or None if there is none in the calendar.
    """

    run: str
    number: int
    windows: tuple[Window, ...]
    resumes_at: datetime | None

    @property
    def start(self) -> datetime:
        """First instant, UTC."""
        return self.windows[0].start

    @property
    def end(self) -> datetime:
        """First instant after it, UTC."""
        return self.windows[-1].end

    @property
    def tokens(self) -> float:
        """Tokens expected."""
        return sum(window.tokens for window in self.windows)

    @property
    def energy_kwh(self) -> float:
        """IT energy expected, kWh."""
        return sum(window.energy_kwh for window in self.windows)

    @property
    def carbon_kg(self) -> float:
        """Emissions expected, kg CO2e."""
        return sum(window.kgco2e for window in self.windows)

    @property
    def saves_at_end(self) -> bool:
        """Whether a checkpoint is asked for at the spell's end."""
        return self.windows[-1].checkpoint == "after"

    @property
    def limits_w(self) -> tuple[float, float] | None:
        """Lowest and highest power limit per GPU, W, or None where no window sets one."""
        limits = [w.gpu_power_limit_w for w in self.windows if w.gpu_power_limit_w is not None]
        return (min(limits), max(limits)) if limits else None


def spells(run: RunCalendar) -> tuple[Spell, ...]:
    """Return the spells of a run, in order."""
    groups: list[list[Window]] = []
    for window in run.windows:
        if window.state != "run":
            continue
        if groups and groups[-1][-1].end == window.start:
            groups[-1].append(window)
        else:
            groups.append([window])
    resumes: tuple[datetime | None, ...] = (*(group[0].start for group in groups[1:]), None)
    return tuple(
        Spell(run.run, number, tuple(group), resumes_at)
        for number, (group, resumes_at) in enumerate(zip(groups, resumes, strict=False), start=1)
    )
