"""Planning many gangs at once: classes of like runs, prices, whole gangs placed by them, and a Lagrangian bound."""

from __future__ import annotations

from planner.optimize.scale.plan import ManyGangs, plan_many
from planner.optimize.scale.supported import check_supported, unsupported

__all__ = ["ManyGangs", "check_supported", "plan_many", "unsupported"]
