"""Weeks that no sane site would write: there is a plan all the same, and the judge passes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.week import Week
from tests.weeks import random_week


def longer_than_everything(week: Week) -> Week:
    return replace(week, runs=tuple(replace(run, min_run_h=2 * week.grid.hours) for run in week.runs))


def pause_longer_than_everything(week: Week) -> Week:
    return replace(week, runs=tuple(replace(run, min_pause_h=2 * week.grid.hours) for run in week.runs))


def hours_to_save_and_load(week: Week) -> Week:
    return replace(
        week, runs=tuple(replace(run, checkpoint_s=7200.0, reload_s=5400.0, max_pauses=0) for run in week.runs)
    )


def days_to_save(week: Week) -> Week:
    return replace(week, runs=tuple(replace(run, checkpoint_s=86_400.0, reload_s=86_400.0) for run in week.runs))


def nothing_costs(week: Week) -> Week:
    still = np.zeros(week.grid.n_slots)
    return replace(
        week,
        prices=replace(week.prices, carbon_per_t=0.0),
        signals=replace(week.signals, price_per_kwh=still, ci_gco2_per_kwh=still.copy()),
    )


def paid_for_every_hour(week: Week) -> Week:
    return replace(week, signals=replace(week.signals, price_per_kwh=np.full(week.grid.n_slots, -1.0)))


def one_point(week: Week) -> Week:
    return replace(
        week,
        runs=tuple(
            replace(run, options=tuple(replace(o, points=o.points[-1:]) for o in run.options)) for run in week.runs
        ),
    )


@pytest.mark.parametrize("seed", [60, 157, 214])
@pytest.mark.parametrize(
    "odd",
    [
        longer_than_everything,
        pause_longer_than_everything,
        hours_to_save_and_load,
        days_to_save,
        nothing_costs,
        paid_for_every_hour,
        one_point,
    ],
)
def test_an_odd_week_has_a_plan_that_the_judge_passes(seed, odd):
    week = odd(random_week(seed, n_runs=3, n_slots=12, slot_minutes=30, negative_prices=seed % 2 == 0, fill=1.0))
    found = plan(week, PlanOptions(gap_target=0.02, time_limit_s=2.0))
    assert [run.run for run in found.schedule.runs] == [run.name for run in week.runs]
    assert found.bound <= found.objective + 1e-6 * abs(found.objective)
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    assert evaluate(calendar, runs, week).violations == ()
