"""What weeks of the past came to by each way of planning, and by how much each fell short of perfect foresight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.backtest_kept import ORACLE, PlannedWeek, kept

if TYPE_CHECKING:
    from datetime import datetime

    from planner.backtest_kept import Kept

WEEK_AHEAD, ROLLING, STOCHASTIC = "week-ahead", "rolling", "stochastic-rolling"


@dataclass(frozen=True)
class ReplayedWeek:
    """One week by all ways of planning.

    Args:
        planned: What each came to on what came, beside the same work without a plan.
        deadlines: Deadlines in it.
        changed_gpu_h: Way -> GPU-hours that its plans turned on, off or over against what they had announced.
        thawed: Way -> plans that could not keep what was ordered.
    """

    planned: PlannedWeek
    deadlines: int
    changed_gpu_h: Mapping[str, float]
    thawed: Mapping[str, int]

    @property
    def origin(self) -> datetime:
        """Its start, UTC."""
        return self.planned.origin


@dataclass(frozen=True)
class Way:
    """What one way of planning came to over all weeks.

    Args:
        kept: Shares of the oracle's saving, savings, deadlines missed and weeks beyond a limit.
        figure: Sum over the weeks that can be compared: kgCO2e, or money.
        regret: By how much it is above that of perfect foresight.
        against_week_ahead: By how much it is below that of the plan carried out as it stands.
        late_share: Deadlines missed, share of all; None without any.
        changed_gpu_h: GPU-hours changed against what was announced, over all weeks.
        thawed: Plans that could not keep what was ordered.
    """

    kept: Kept
    figure: float
    regret: float
    against_week_ahead: float
    late_share: float | None
    changed_gpu_h: float
    thawed: int


@dataclass(frozen=True)
class Replay:
    """Weeks of the past replayed.

    Args:
        site: Name of the site.
        zone: Whose grid came.
        currency: Of its money.
        weight: What the plans made small: `planner.backtest_kept.CARBON` or MONEY.
        every_days: Days between two weeks' starts.
        model: Signal -> what forecast it.
        scenarios: Weighted paths of the stochastic plans.
        weeks: Every week.
        left_out: Weeks left out because hours of what came are not known.
        ways: One entry per way of planning, perfect foresight first.
    """

    site: str
    zone: str
    currency: str
    weight: str
    every_days: int
    model: Mapping[str, str]
    scenarios: int
    weeks: tuple[ReplayedWeek, ...]
    left_out: int
    ways: tuple[Way, ...]


def ways_of(weeks: Sequence[ReplayedWeek]) -> tuple[Way, ...]:
    """Return what each way of planning came to over all weeks; sums are compared, never shares of single weeks."""
    counted = [week.planned.plans for week in weeks if week.planned.compared]
    totals = {one.model: one for one in kept([week.planned for week in weeks])}
    figures = {name: sum(plans[i].figure for plans in counted) for i, name in enumerate(totals)}
    deadlines = sum(week.deadlines for week in weeks)
    return tuple(
        Way(
            kept=one,
            figure=figures[name],
            regret=figures[name] - figures[ORACLE],
            against_week_ahead=figures[WEEK_AHEAD] - figures[name],
            late_share=one.late / deadlines if deadlines else None,
            changed_gpu_h=sum(week.changed_gpu_h.get(name, 0.0) for week in weeks),
            thawed=sum(week.thawed.get(name, 0) for week in weeks),
        )
        for name, one in totals.items()
    )
