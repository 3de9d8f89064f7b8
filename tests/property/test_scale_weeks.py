"""Drawn weeks, small and odd, planned by classes of like runs: calendars that the judge passes, bounds below them."""

from __future__ import annotations

import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from tests.weeks import random_week

SCALE = PlanOptions(gap_target=0.01, time_limit_s=600.0, method="scale")


@pytest.mark.parametrize("seed", range(12))
def test_the_judge_passes_every_calendar(seed):
    week = random_week(
        seed,
        n_runs=2 + seed % 6,
        n_slots=8 + 2 * seed,
        n_pools=1 + seed % 3,
        negative_prices=seed % 3 == 0,
        fill=(0.3, 0.7, 1.2)[seed % 3],
    )
    found = plan(week, SCALE)
    calendar = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls, options={}
    )
    verdict = evaluate(*calendar, week)
    assert [v.sentence for v in verdict.violations] == []
    assert [run.run for run in found.schedule.runs] == [run.name for run in week.runs]
    assert found.bound <= found.objective
    # a promise that the plan names as missed may hold by a hair: it counts lost time at the highest rate
    assert verdict.deadlines_missed <= len([s for s in found.shortfalls if s.deadline <= week.grid.end])
