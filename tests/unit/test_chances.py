"""The judge's view of failures: the chance of each promise, and promises that fall short of the chance asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.run import Stage
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.week import Week
from power.failure_budget import margin_tokens
from power.goodput import Goodput, daly_interval_s, gang_failures_per_s
from tests.weeks import FULL_POWER, at, make_run, tiny_week

N_SLOTS = 48
FAILS = gang_failures_per_s(256, 0.01)
GOODPUT = Goodput(FAILS, daly_interval_s(60.0, 1 / FAILS), 60.0, 600.0)
RATE = 256 * 1000.0


def week(confidence: float | None, work_h: float = 20.0, deadline_h: float = 40.0, goodput: Goodput | None = GOODPUT):
    """One gang on one pool, whose rate counts its failures, with the margin that the chance asks for."""
    tokens = work_h * 3600 * RATE
    margin = margin_tokens(GOODPUT, tokens, RATE, confidence) if confidence and goodput else 0.0
    run = make_run(
        work_h=work_h,
        deadline_h=deadline_h,
        tokens_per_gpu_s=1000.0 * (goodput.factor_share if goodput else 1.0),
        points=FULL_POWER,
        checkpoint_s=60.0,
        reload_s=300.0,
    )
    stage = Stage("train", tokens, at(deadline_h), confidence, margin)
    return tiny_week(n_slots=N_SLOTS, runs=(replace(run, stages=(stage,), goodput=goodput),))


def judged(made_from: Week, first: int, after: int):
    """The verdict on a gang that runs in slots `first` to `after`."""
    limits = np.zeros(N_SLOTS)
    limits[first:after] = FULL_POWER[0].gpu_power_limit_w
    still = np.zeros(N_SLOTS)
    schedule = Schedule((RunSchedule("r1", "a1", limits),), (BlockSchedule("hall", still, still, still),))
    calendar, runs = to_calendar(made_from, schedule, status="optimal", certified_gap=0.0)
    return evaluate(calendar, runs, made_from)


def test_without_failures_nothing_is_said():
    (stage,) = judged(week(None, goodput=None), 4, 26).runs[0].stages
    assert (stage.promised_probability, stage.simulated_probability, stage.asked_probability) == (None, None, None)


def test_the_chance_reckoned_is_the_chance_simulated():
    found = judged(week(0.5), 4, 27)
    (stage,) = found.runs[0].stages
    assert 0.4 < stage.promised_probability < 0.95
    assert stage.promised_probability == pytest.approx(stage.simulated_probability, abs=0.02)
    assert stage.asked_probability == 0.5
    assert judged(week(0.5), 4, 27).runs[0].stages == found.runs[0].stages


def test_more_hours_give_a_better_chance():
    chances = [judged(week(None), 4, after).runs[0].stages[0].promised_probability for after in (24, 26, 28)]
    assert chances[0] == 0.0
    assert chances[1] < chances[2]


def test_a_plan_without_the_margin_breaks_the_chance_asked_for():
    asked = week(0.95)
    bare = replace(asked, runs=(replace(asked.runs[0], stages=(replace(asked.runs[0].stages[0], margin_tokens=0.0),)),))
    (broken,) = [v for v in judged(bare, 4, 26).violations if v.kind == "confidence"]
    assert broken.limit == 0.95
    assert broken.value < 0.93
    assert "reaches stage train by 2024-05-14T16:00:00Z in" in broken.sentence
    assert "less than the 95 % asked for" in broken.sentence


@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_the_program_plans_the_margin_and_the_judge_sees_it_kept(confidence):
    made_from = week(confidence)
    found = plan(made_from, PlanOptions(time_limit_s=10.0))
    calendar, runs = to_calendar(made_from, found.schedule, status=found.status, certified_gap=found.mip_gap)
    verdict = evaluate(calendar, runs, made_from)
    (stage,) = verdict.runs[0].stages
    assert verdict.clean
    assert found.shortfalls == ()
    assert stage.met
    assert stage.simulated_probability >= confidence - 0.02


def test_a_margin_that_does_not_fit_is_a_named_shortfall():
    made_from = week(0.99, work_h=33.0, deadline_h=34.5)
    found = plan(made_from, PlanOptions(time_limit_s=10.0))
    (short,) = found.shortfalls
    calendar, runs = to_calendar(
        made_from, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    verdict = evaluate(calendar, runs, made_from)
    assert verdict.clean
    assert verdict.runs[0].stages[0].announced
    assert verdict.runs[0].stages[0].simulated_probability < 0.97
    assert short.tokens_short > 0
    assert f"({made_from.runs[0].stages[0].margin_tokens:.4g} of them margin)" in short.sentence
