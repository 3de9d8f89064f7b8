"""The books of one Governor: stretches of time with their tokens, joules and adherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer_hooks.directive import planned
from trainer_hooks.meter import NO_ENERGY, EnergyMeter, TokenMeter
from trainer_hooks.report import GovernorReport
from trainer_hooks.telemetry import Record, new_writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from trainer_hooks.clock import Clock
    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.limits import LimitSet
    from trainer_hooks.telemetry import TelemetryWriter

# The states of a calendar's windows that a state of the Governor fulfils.
FULFILS: dict[str, frozenset[str]] = {
    "run": frozenset({"run"}),
    "save": frozenset({"run"}),
    "hold": frozenset({"hold"}),
    "wait": frozenset({"off"}),
    "exit": frozenset({"off"}),
    "safe": frozenset(),
}


class Journal:
    """Cuts time into stretches of one state and writes each down.

    Args:
        gpus: Boards to meter.
        clock: Time.
        telemetry: Where records go; None keeps sums only.
    """

    def __init__(self, gpus: Sequence[Gpu], clock: Clock, telemetry: TelemetryWriter | None) -> None:
        self.tokens = TokenMeter()
        self._clock = clock
        self._telemetry = telemetry
        self._writer = telemetry.writer if telemetry else new_writer()
        self._gpus = len(gpus)
        self._meter = EnergyMeter(gpus, clock.monotonic)
        self._sequence = 0
        self._since, self._since_s = clock.wall(), clock.monotonic()
        self._since_tokens = self._since_useful = 0
        self._energy = NO_ENERGY
        self._seconds: dict[str, float] = {}
        self._matching_s = self._covered_s = self._planned_tokens = 0.0

    def age_s(self) -> float:
        """Return the length of the open stretch, s, by the clock that nobody sets."""
        return self._clock.monotonic() - self._since_s

    def sample(self) -> None:
        """Read the boards, so that integrated power stays fine-grained."""
        self._energy = self._energy.then(self._meter.sample())

    def cut(self, run: str, state: str, calendar: RunCalendar | None, limits: LimitSet) -> OSError | None:
        """End the open stretch, write it down, and begin the next.

        Args:
            run: Name of the run.
            state: State the stretch was spent in, a key of FULFILS.
            calendar: Calendar followed in it.
            limits: Power limits of the boards.

        Returns:
            The error if the disk refused the record.
        """
        self.sample()
        now = self._clock.wall()
        # A wall clock that was set back gives a stretch without length, not a negative one.
        start = min(self._since, now)
        self._since, self._since_s = now, self._clock.monotonic()
        duration_s = (now - start).total_seconds()
        tokens = self.tokens.tokens - self._since_tokens
        useful = self.tokens.useful_tokens - self._since_useful
        if not duration_s and not tokens and not useful:
            return None
        self._seconds[state] = self._seconds.get(state, 0.0) + duration_s
        record = Record(
            run=run,
            calendar_id=calendar.calendar_id if calendar else None,
            writer=self._writer,
            sequence=self._sequence,
            t_start=start,
            t_end=now,
            state=state,
            tokens=tokens,
            useful_tokens=useful,
            position_tokens=self.tokens.position_tokens,
            energy_j=self._energy.energy_j,
            energy_error_j=self._energy.error_j,
            energy_source=self._energy.source,
            gpus=self._gpus,
            gpu_power_limit_w=limits.limit_w,
            enforced_limit_w=limits.enforced_w(),
            adherence=self._adherence(state, calendar, start, now),
        )
        self._sequence += 1
        self._energy = NO_ENERGY
        self._since_tokens, self._since_useful = self.tokens.tokens, self.tokens.useful_tokens
        return self._telemetry.write(record) if self._telemetry else None

    def report(self, run: str, calendar: RunCalendar | None) -> GovernorReport:
        """Sum up every stretch so far."""
        return GovernorReport(
            run=run,
            calendar_id=calendar.calendar_id if calendar else None,
            tokens=self.tokens.tokens,
            useful_tokens=self.tokens.useful_tokens,
            energy=self._meter.total,
            gpus=self._gpus,
            seconds=dict(self._seconds),
            adherence=self._matching_s / self._covered_s if self._covered_s else None,
            planned_tokens=self._planned_tokens,
        )

    def _adherence(self, state: str, calendar: RunCalendar | None, start: datetime, now: datetime) -> float | None:
        if calendar is None:
            return None
        plan = planned(calendar, FULFILS[state], start, now)
        self._matching_s += plan.matching_s
        self._covered_s += plan.covered_s
        self._planned_tokens += plan.tokens
        return plan.matching_s / plan.covered_s if plan.covered_s else None
