"""A week planned to its end, against the least cost that another way finds."""

from __future__ import annotations

import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar

EXACT = PlanOptions(gap_target=0.0, time_limit_s=600.0)


def check_optimum(week, least_cost):
    """Assert that a plan of a week costs the least, and that the judge finds its calendar clean."""
    found = plan(week, EXACT)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(least_cost, rel=1e-6, abs=1e-6)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=0.0, shortfalls=found.shortfalls
    )
    assert evaluate(calendar, runs, week).clean
