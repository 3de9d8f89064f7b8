"""The program: a week in, the best plan found for it out, with its certified gap (docs/formulation.md)."""

from __future__ import annotations

from planner.optimize.search import PlanOptions, plan

__all__ = ["PlanOptions", "plan"]
