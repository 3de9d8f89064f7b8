"""What a plan is worth against working without one: grams, money, and promises of power, heat and deadlines kept.

Grams alone say little: much of what a plan is worth is that it fits. So the three are never told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    from planner.evaluate import Evaluation
    from planner.outcome import Counterfactual
    from planner.week import Week

HEAT = ("cooling", "ride-through", "setpoint", "heat", "tank")
"""How kinds of the judge's findings begin that are about heat."""
POWER = (
    "capacity", "import", "ramp", "battery", "contract", "export", "event", "generat", "min-up", "min-down", "permit",
    "solar", "wind", "ppa",
)  # fmt: skip
"""How kinds begin that are about power."""


@dataclass(frozen=True)
class PromisesKept:
    """What a way of working keeps of its promises.

    Args:
        power_broken: Promises of power that it breaks: capacity, ramp, battery, contracts, export, events.
        heat_broken: Promises of heat that it breaks: cooling, reserve, setpoint, tank, heat sold.
        power_used_share: The most that any block takes of the power allowed to it.
        heat_used_share: The most that the IT power of any block takes of what its cooling allows.
        deadlines: Promises of work.
        deadlines_kept: Those that are kept.
        late_gpu_h: Work missing at deadlines, GPU-hours by priority, and again each further day.
    """

    power_broken: int
    heat_broken: int
    power_used_share: float
    heat_used_share: float
    deadlines: int
    deadlines_kept: int
    late_gpu_h: float


@dataclass(frozen=True)
class PlanWorth:
    """What a plan is worth against one way of working without it.

    Args:
        against: "asap" or "steady".
        saved_kg: Carbon that it spares, kgCO2e, or None where the work is not the same.
        saved_money: Money that it spares, or None likewise.
        reason: Why neither is stated, "" where they are.
        plan: What the plan keeps.
        other: What the other way keeps.
    """

    against: str
    saved_kg: float | None
    saved_money: float | None
    reason: str
    plan: PromisesKept
    other: PromisesKept


def plan_worth(week: Week, plan: Evaluation, others: Iterable[Counterfactual]) -> tuple[PlanWorth, ...]:
    """Return what a plan is worth against each way of working without it.

    Args:
        week: All inputs.
        plan: The judge's figures of the plan.
        others: The same work without a plan.
    """
    kept = promises_kept(week, plan)
    return tuple(
        PlanWorth(
            other.name,
            None if other.savings is None else other.evaluation.carbon_kg - plan.carbon_kg,
            None if other.savings is None else other.evaluation.cost - plan.cost,
            other.reason,
            kept,
            promises_kept(week, other.evaluation),
        )
        for other in others
    )


def promises_kept(week: Week, seen: Evaluation) -> PromisesKept:
    """Return what a way of working keeps of its promises.

    Args:
        week: All inputs.
        seen: The judge's figures of it.
    """
    kinds = [violation.kind for violation in seen.violations]
    return PromisesKept(
        power_broken=sum(kind.startswith(POWER) for kind in kinds),
        heat_broken=sum(kind.startswith(HEAT) for kind in kinds),
        power_used_share=max((_share(b.facility_kw, b.capacity_kw) for b in seen.blocks), default=0.0),
        heat_used_share=max((_share(b.it_kw, b.w_max_kw) for b in seen.blocks), default=0.0),
        deadlines=seen.deadlines,
        deadlines_kept=seen.deadlines - seen.deadlines_missed,
        late_gpu_h=late_gpu_h(week, seen),
    )


def late_gpu_h(week: Week, seen: Evaluation) -> float:
    """Return the work missing at deadlines as the plan's price counts it, without that price, GPU-h."""
    return seen.terms.lateness / week.prices.lateness_per_gpu_h


def _share(used_kw: npt.NDArray[np.float64], allowed_kw: npt.NDArray[np.float64]) -> float:
    """Return the largest share of what is allowed, over the slots in which anything is."""
    there = allowed_kw > 0.0
    return float((used_kw[there] / allowed_kw[there]).max()) if there.any() else 0.0
