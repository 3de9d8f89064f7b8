"""No plan costs less than the Lagrangian bound, whatever the prices."""

from __future__ import annotations

import numpy as np
import pytest

from planner.optimize import PlanOptions, plan
from planner.optimize.limits import block_limits
from planner.optimize.scale.certificate import Certificate
from planner.optimize.scale.classes import EVERY_RUN
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.fluid import Fluid
from planner.stagger import longest_moves
from tests.weeks import random_week


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_below_the_best_plan_of_the_program_of_record(seed):
    week = random_week(seed, n_runs=3, n_slots=10, n_pools=1 + seed % 2, negative_prices=seed % 3 == 0)
    best = plan(week, PlanOptions(gap_target=0.0, time_limit_s=30.0, method="gangs"))
    gangs = crowd(longest_moves(week), [block_limits(week, block) for block in week.blocks])
    found = Fluid(gangs, EVERY_RUN).solve(30.0)
    assert found is not None
    certificate, rng = Certificate(gangs), np.random.default_rng(seed)
    slack = 1e-6 * max(1.0, abs(best.objective))
    at_duals = certificate.bound(found.it, found.gpu, 30.0)
    assert at_duals <= best.objective + slack
    for _ in range(3):
        anywhere = certificate.bound(
            rng.normal(0.05, 0.1, found.it.shape), rng.uniform(0.0, 0.2, found.gpu.shape), 30.0
        )
        assert anywhere <= best.objective + slack


def test_with_room_for_all_the_bound_is_near_the_plan():
    week = random_week(4, n_runs=3, n_slots=24, fill=0.4)
    best = plan(week, PlanOptions(gap_target=0.0, time_limit_s=30.0, method="gangs"))
    gangs = crowd(longest_moves(week), [block_limits(week, block) for block in week.blocks])
    found = Fluid(gangs, EVERY_RUN).solve(30.0)
    assert found is not None
    assert Certificate(gangs).bound(found.it, found.gpu, 30.0) > 0.8 * best.objective
