"""One week planned day by day: each plan goes on from the one before, by what is known on its day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.rolling.in_force import InForce
from planner.rolling.known import known_until
from planner.rolling.replan import replan
from planner.stochastic.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.optimize import PlanOptions
    from planner.schedule import Plan
    from planner.week import Week


@dataclass(frozen=True)
class Manner:
    """How plans go on.

    Args:
        frozen_h: Hours in which starts, stops and pools stay as announced, h.
        change_cost_per_gpu_h: What a GPU-hour turned on or off against what was announced costs, money.
        fresh_share: Weight of a new forecast of carbon intensity against the one that the plan in force was made on.
    """

    frozen_h: float
    change_cost_per_gpu_h: float
    fresh_share: float = 1.0


@dataclass(frozen=True)
class Rolled:
    """A week that was planned day by day.

    Args:
        week: The week as its last plan knew it: in each slot the signals by which that slot was planned last.
        plan: The last plan; its schedule holds all that was done.
        changed_gpu_h: GPU-hours that all plans together turned on, off or over against what was announced before.
        gap: Largest certified gap of any of them.
        thawed: Plans that could not keep what was ordered.
    """

    week: Week
    plan: Plan
    changed_gpu_h: float
    gap: float
    thawed: int


def rolled(days: Sequence[Week], manner: Manner, options: PlanOptions) -> Rolled:
    """Return a week planned day by day.

    Args:
        days: The same week as it is known at each of its days' starts; what lies before is not looked at.
        manner: How plans go on.
        options: Gap target and time limit of each plan.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    now = days[0]
    found = plan(now, options)
    changed_gpu_h, gap, thawed = 0.0, found.mip_gap, 0
    for fresh in days[1:]:
        slot = round(fresh.grid.position(fresh.issued_at))
        frozen = min(fresh.grid.n_slots, slot + round(manner.frozen_h / fresh.grid.slot_h))
        now = known_until(now, fresh, slot, manner.fresh_share)
        again = replan(now, InForce(found.schedule, slot, frozen, manner.change_cost_per_gpu_h), options)
        found = again.found
        changed_gpu_h, gap = changed_gpu_h + again.changed_gpu_h, max(gap, found.mip_gap)
        thawed += bool(again.note)
    return Rolled(now, found, changed_gpu_h, gap, thawed)
