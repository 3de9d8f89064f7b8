"""Properties that every front has, whatever its plans come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.frontier.points import beats, front_of
from planner.frontier.task import Task, point_of
from planner.objective import CARBON, COST, LATENESS, WATER
from planner.optimize import PlanOptions
from tests.fronts import two_runs

MEASURES = (CARBON, COST, LATENESS, WATER)
FIGURES = st.tuples(*[st.integers(0, 4)] * 4)


@pytest.fixture(scope="module")
def plan():
    return point_of(Task("one", two_runs(), None, PlanOptions(0.01, 30.0)))


@given(figures=st.lists(st.tuples(FIGURES, st.booleans()), max_size=12), count=st.integers(2, 4))
def test_no_point_beats_another_and_every_other_is_beaten_broken_or_a_twin(plan, figures, count):
    measures = MEASURES[:count]
    points = [
        replace(plan, carbon_kg=c, cost=m, late_gpu_h=late, water_l=w, violations=("broken",) if broken else ())
        for (c, m, late, w), broken in figures
    ]
    front = front_of(points, measures)
    told = [tuple(points[i].figure(name) for name in measures) for i in front]
    assert len(set(told)) == len(told)
    assert not any(beats(points[i], points[j], measures) for i in front for j in front)
    for j, point in enumerate(points):
        mine = tuple(point.figure(name) for name in measures)
        if j not in front and not point.violations:
            assert mine in told or any(beats(points[i], point, measures) for i in front)
