"""Fronts of weeks drawn by chance: every plan judged, no plan on a front beaten."""

from __future__ import annotations

import pytest

from planner.export import frontier_view
from planner.frontier.points import beats
from planner.frontier.sweep import frontier
from planner.frontier.task import point_of
from planner.objective import CARBON, COST, LATENESS, WATER
from planner.optimize import PlanOptions
from tests.weeks import random_week

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("seed", range(20))
def test_no_point_of_a_front_beats_another_and_all_are_judged(seed):
    week = random_week(seed, n_runs=2, n_slots=6)
    measures = (CARBON, COST, LATENESS, WATER)
    options = PlanOptions(gap_target=0.01, time_limit_s=120.0)
    found = frontier(week, measures, 8, options, lambda tasks: map(point_of, tasks))
    assert all(point.violations == () for point in found.points)
    on_front = [found.points[i] for i in found.front]
    assert not any(beats(a, b, measures) for a in on_front for b in on_front)
    for i, point in enumerate(found.points):
        if i not in found.front:
            beaten = any(beats(other, point, measures) for other in on_front)
            assert beaten or frontier_view.stands(found, i) == frontier_view.TWIN
