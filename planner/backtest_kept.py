"""How much of the saving of perfect foresight plans on forecasts keep: weeks as they came out, and their sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from planner.forecast.saving import share_of

ORACLE = "perfect-foresight"
CARBON, MONEY = "carbon", "money"
BASELINES = ("asap", "steady")


@dataclass(frozen=True)
class Came:
    """What one plan came to on what came.

    Args:
        name: Model whose forecast was planned on, or ORACLE.
        figure: By the weight: kgCO2e, or money really paid.
        usual: Baseline -> what the same work comes to without a plan.
        late: Deadlines missed.
        beyond: Whether a limit was broken.
        gap: Certified gap of the plan, share of the objective.
        reason: Why it cannot be compared with the baselines, "" where it can.
    """

    name: str
    figure: float
    usual: Mapping[str, float]
    late: int
    beyond: bool
    gap: float
    reason: str = ""

    def saved(self, baseline: str) -> float:
        """Return what the plan saves against a baseline."""
        return self.usual[baseline] - self.figure


@dataclass(frozen=True)
class PlannedWeek:
    """One week by one weight.

    Args:
        origin: Its start, UTC.
        weight: CARBON or MONEY.
        plans: The oracle's and each model's.
    """

    origin: datetime
    weight: str
    plans: tuple[Came, ...]

    @property
    def compared(self) -> bool:
        """Whether every plan can be compared with the same work without a plan."""
        return not any(one.reason for one in self.plans)


@dataclass(frozen=True)
class Kept:
    """What plans on one model's forecasts keep, over all weeks that can be compared.

    Args:
        weight: CARBON or MONEY.
        model: The model, or ORACLE.
        share: Baseline -> share of the oracle's saving that is kept; None where nothing could be saved.
        saved_pct: Baseline -> saving, % of the baseline's figure; None where that is not above 0.
        late: Deadlines missed, over all weeks.
        beyond: Weeks in which a limit was broken on what came, of all weeks.
        compared: Weeks compared.
        weeks: Weeks planned.
    """

    weight: str
    model: str
    share: Mapping[str, float | None]
    saved_pct: Mapping[str, float | None]
    late: int
    beyond: int
    compared: int
    weeks: int


@dataclass(frozen=True)
class Plans:
    """What forecasts are worth to the planner at one site.

    Args:
        site: Its name.
        currency: Of its money.
        every_days: Days between two weeks' starts.
        gap_target: Gap at which each search stopped, share of the objective.
        weather: Names of the weather signals that the plans saw.
        weeks: Every week by every weight.
        left_out: Weeks left out because hours of what came are not known.
        kept: One entry for each weight and model, the oracle first.
    """

    site: str
    currency: str
    every_days: int
    gap_target: float
    weather: tuple[str, ...]
    weeks: tuple[PlannedWeek, ...]
    left_out: int
    kept: tuple[Kept, ...]


def kept(weeks: Sequence[PlannedWeek]) -> tuple[Kept, ...]:
    """Return what each model's plans keep of the oracle's saving; sums over weeks are compared, never shares.

    Args:
        weeks: Weeks by one weight.
    """
    counted = [week.plans for week in weeks if week.compared]

    def saved(i: int, baseline: str) -> npt.NDArray[np.float64]:
        return np.array([plans[i].saved(baseline) for plans in counted])

    def usual(i: int, baseline: str) -> float:
        return sum(plans[i].usual[baseline] for plans in counted)

    return tuple(
        Kept(
            weight=weeks[0].weight,
            model=first.name,
            share={name: share_of(saved(i, name), saved(0, name)) for name in BASELINES},
            saved_pct={name: _pct(saved(i, name), usual(i, name)) for name in BASELINES},
            late=sum(week.plans[i].late for week in weeks),
            beyond=sum(week.plans[i].beyond for week in weeks),
            compared=len(counted),
            weeks=len(weeks),
        )
        for i, first in enumerate(weeks[0].plans if weeks else ())
    )


def _pct(saved: npt.NDArray[np.float64], usual: float) -> float | None:
    return 100.0 * float(saved.sum()) / usual if usual > 0.0 else None
