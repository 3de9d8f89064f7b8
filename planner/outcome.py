"""All that is known about one planned week: what people are told is made from this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from planner.accounts import CarbonAccounts
    from planner.evaluate import Evaluation, Violation
    from planner.ledger.account import RunAccount
    from planner.optimize.explain import Explanation
    from planner.week import Provenance, Week
    from trainer_hooks.contract import Calendar, RunCalendar


@dataclass(frozen=True)
class Savings:
    """What the plan saves against another way of doing the same work, % of that way's figure; negative where it costs.

    Args:
        carbon_pct: Carbon of the grid import.
        cost_pct: Money really paid.
        energy_pct: Facility energy.
    """

    carbon_pct: float | None
    cost_pct: float | None
    energy_pct: float | None


@dataclass(frozen=True)
class Counterfactual:
    """What would have happened without the plan, on the same physics.

    Args:
        name: "asap" or "steady".
        evaluation: The judge's figures.
        savings: What the plan saves, or None where the work is not the same.
        reason: Why no savings are stated, "" where they are.
    """

    name: str
    evaluation: Evaluation
    savings: Savings | None
    reason: str = ""


@dataclass(frozen=True)
class Hindsight:
    """What the calendar came to on the series as they were.

    Args:
        evaluation: The judge's figures and verdict on those series.
        broken: Limits that the plan keeps by what it knew, and breaks on those series.
        provenance: Where they come from, one entry per signal.
        labels: Sentences that every output must show about them.
    """

    evaluation: Evaluation
    broken: tuple[Violation, ...]
    provenance: tuple[Provenance, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """A week, its calendar, and what the judge says of it.

    Args:
        week: The inputs.
        calendar: The header.
        runs: The windows of every run.
        evaluation: The judge's figures and verdict.
        counterfactuals: The same work without a plan.
        accounts: The plan beside what telemetry reports of it, one entry per run; empty before there is any.
        accounted_until: First instant that the accounts do not cover, UTC, or None without accounts.
        hindsight: The calendar on the series as they were, or None where nobody asked.
        carbon: The calendar's carbon accounts, or None where the week names nothing to keep them by.
        explanation: What is to be said of why the plan is as it is, or None where nobody asked.
    """

    week: Week
    calendar: Calendar
    runs: Sequence[RunCalendar]
    evaluation: Evaluation
    counterfactuals: tuple[Counterfactual, ...]
    accounts: tuple[RunAccount, ...] = ()
    accounted_until: datetime | None = None
    hindsight: Hindsight | None = None
    carbon: CarbonAccounts | None = None
    explanation: Explanation | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentences that every output must show: those of the inputs and those of the calendar, each once."""
        return tuple(dict.fromkeys((*self.week.labels, *self.calendar.notes)))
