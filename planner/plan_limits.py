"""The IT power that the cooling lets a week's plan take, with what keeps it from taking more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.cold_flows import planned_flows
from thermal.hours import cooling_hours
from thermal.limit import plan_limit

if TYPE_CHECKING:
    from planner.week import Block, Week
    from thermal.limit import PlanLimit
    from trainer_hooks.contract import BlockPlan


def cooling_limit(week: Week, block: Block, plan: BlockPlan) -> PlanLimit:
    """Return what a block's cooling lets its plan take, with the reserve that the site asks for in hand.

    Args:
        week: The week that was planned.
        block: One of its blocks.
        plan: What the calendar says about it; drawing on its tank raises the limit.

    Returns:
        IT power and cause per slot; the power that the block has for both is not looked at.
    """
    signals = week.here(block).signals
    dry_c, wet_c = signals.dry_bulb_c, signals.wet_bulb_c
    powered = week.plant_powered(block)
    hours = cooling_hours(block.plant, np.array(plan.it_kw), dry_c, wet_c, powered, planned_flows(plan))
    return plan_limit(block.plant, block.reserve, hours, None, dry_c, wet_c)
