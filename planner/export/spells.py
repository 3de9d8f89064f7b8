"""Spans of a run's windows: spells, in which it trains without a pause, and stretches, in which it keeps its GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trainer_hooks.contract import RunCalendar, Window


@dataclass(frozen=True)
class Span:
    """Windows of one run that meet end to start.

    Args:
        run: Name of the run.
        number: 1 for the run's first span of its kind in the calendar.
        windows: The windows, in order, at least one.
    """

    run: str
    number: int
    windows: tuple[Window, ...]

    @property
    def start(self) -> datetime:
        """First instant, UTC."""
        return self.windows[0].start

    @property
    def end(self) -> datetime:
        """First instant after it, UTC."""
        return self.windows[-1].end

    @property
    def length_s(self) -> float:
        """Length, s."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True)
class Spell(Span):
    """Run windows of one run: a stretch of training.

    Args:
        resumes_at: Start of the run's next spell, UTC, or None if there is none in the calendar.
    """

    resumes_at: datetime | None

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
    """Return the spells of a run, in order; another pool or number of GPUs begins a new one."""
    groups = _joined((w for w in run.windows if w.state == "run"), lambda window: (window.pool, window.gpus))
    resumes: tuple[datetime | None, ...] = (*(group[0].start for group in groups[1:]), None)
    return tuple(
        Spell(run.run, number, tuple(group), resumes_at)
        for number, (group, resumes_at) in enumerate(zip(groups, resumes, strict=False), start=1)
    )


@dataclass(frozen=True)
class Stretch(Span):
    """Run and hold windows of one run in which it keeps the same GPUs."""

    @property
    def pool(self) -> str:
        """Pool that the GPUs belong to."""
        return self.windows[0].pool or ""

    @property
    def gpus(self) -> int:
        """GPUs held."""
        return self.windows[0].gpus


def stretches(run: RunCalendar) -> tuple[Stretch, ...]:
    """Return the stretches in which a run holds GPUs; another pool or number of GPUs begins a new one."""
    groups = _joined((w for w in run.windows if w.state != "off"), lambda window: (window.pool, window.gpus))
    return tuple(Stretch(run.run, number, tuple(group)) for number, group in enumerate(groups, start=1))


def _joined(windows: Iterable[Window], alike: Callable[[Window], object]) -> list[list[Window]]:
    """Group windows that meet end to start and are alike."""
    groups: list[list[Window]] = []
    for window in windows:
        last = groups[-1][-1] if groups else None
        if last and last.end == window.start and alike(last) == alike(window):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups
