"""Random weeks planned again at random slots: the past stays, the judge is content, no change without reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.rolling.in_force import InForce, changed_gpu_h
from planner.rolling.replan import THAWED, replan
from tests.weeks import random_week

OPTIONS = PlanOptions(gap_target=0.01, time_limit_s=20.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_that_goes_on_is_sound(seed):
    rng = np.random.default_rng([seed, 77])
    week = random_week(seed, n_runs=2, n_slots=8, n_pools=1 + seed % 2)
    announced = plan(week, OPTIONS).schedule
    slot = int(rng.integers(1, 6))
    frozen = slot + int(rng.integers(0, 3))
    fresh = week.signals.price_per_kwh.copy()
    fresh[slot:] = rng.permutation(fresh[slot:])
    now = replace(week, signals=replace(week.signals, price_per_kwh=fresh))
    found = replan(now, InForce(announced, slot, frozen), OPTIONS)
    after = found.found.schedule
    for was, is_now in zip(announced.runs, after.runs, strict=True):
        assert np.array_equal(was.gpu_power_limit_w[:slot], is_now.gpu_power_limit_w[:slot])
        if found.note != THAWED:
            hours = slice(slot, frozen)
            assert np.array_equal(was.gpu_power_limit_w[hours] > 0.0, is_now.gpu_power_limit_w[hours] > 0.0)
    for was, is_now in zip(announced.blocks, after.blocks, strict=True):
        assert np.array_equal(was.charge_kw[:slot], is_now.charge_kw[:slot])
    calendar, runs = to_calendar(
        now, after, status=found.found.status, certified_gap=None, shortfalls=found.found.shortfalls
    )
    assert evaluate(calendar, runs, now, simulated_weeks=0).violations == ()
    assert found.changed_gpu_h == changed_gpu_h(now, announced, after)
    # a change that costs more than a week of the site is made by nobody
    kept = replan(now, InForce(announced, slot, frozen, 1e4), OPTIONS)
    assert kept.changed_gpu_h == 0.0
