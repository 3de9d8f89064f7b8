"""The chance of a deadline: by hand where one can, and beside ten thousand simulated weeks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.config.goodput_checks import LEAST_USEFUL_SHARE
from power.failure_budget import TrainingPlan, TrainingSpell, _restart_moments, margin_tokens, reach_probability
from power.failure_weeks import simulated_probability
from power.goodput import Goodput
from tests.failing_gangs import CASES, SHARES_DUE, gang, spells

POINTS = 0.02
WEEKS = 10_000
WEEK_S = 168 * 3600.0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_promised_chance_is_what_ten_thousand_weeks_show(case):
    due = [(case.due_tokens(share), case.end_s) for share in SHARES_DUE]
    promised = [reach_probability(case.goodput, case.plan, *one) for one in due]
    assert promised == pytest.approx(simulated_probability(case.goodput, case.plan, due, WEEKS, seed=20), abs=POINTS)
    assert promised == sorted(promised, reverse=True)


def test_the_cases_reach_from_rare_failures_to_many():
    per_week = [case.goodput.failures_per_s * WEEK_S for case in CASES]
    assert min(per_week) < 0.05
    assert max(per_week) > 300


@pytest.mark.parametrize("failures_per_s", [1e-12, 1e-8, 1e-5])
def test_a_restart_that_hardly_ever_fails_takes_its_time(failures_per_s):
    """To second order of f r: the mean is r (1 + f r / 2), its square r^2 (1 + 4 f r / 3)."""
    mean_s, square = _restart_moments(Goodput(failures_per_s, None, 0.0, 300.0))
    rare = 300.0 * failures_per_s
    assert mean_s == pytest.approx(300.0 * (1.0 + rare / 2.0), rel=rare**2 + 1e-12)
    assert square == pytest.approx(300.0**2 * (1.0 + 4.0 * rare / 3.0), rel=rare**2 + 1e-4)


def test_a_deadline_in_the_middle_counts_what_is_made_by_then():
    case = CASES[7]
    due = [(0.59 * case.due_tokens(1.0), 100 * 3600.0), (0.97 * case.due_tokens(1.0), case.end_s)]
    promised = [reach_probability(case.goodput, case.plan, *one) for one in due]
    assert promised == pytest.approx(simulated_probability(case.goodput, case.plan, due, WEEKS, seed=3), abs=POINTS)
    assert 0.05 < promised[0] < 0.95


def test_without_spare_time_no_failure_may_come():
    goodput = Goodput(1e-5, None, 0.0, 600.0)
    plan = spells(1, 10, 0)
    alone = math.exp(-1e-5 * 36_000)
    assert reach_probability(goodput, plan, 36_000.0, 36_000.0) == pytest.approx(alone, abs=1e-9)
    assert simulated_probability(goodput, plan, [(36_000.0, 36_000.0)], WEEKS, 1)[0] == pytest.approx(alone, abs=0.02)


def test_spare_time_for_an_early_failure_by_hand():
    # 6 h of work in 10 h without checkpoints; a restart of 0 s: the last failure within the first 4 h, or none at all
    goodput = Goodput(1e-5, None, 0.0, 0.0)
    plan = spells(1, 10, 0)
    rate_h = 1e-5 * 3600
    by_hand = math.exp(-6 * rate_h) * (1 + 4 * rate_h)
    # two failures or more in 4 h may still leave a stretch of 6 h: a thousandth here
    assert reach_probability(goodput, plan, 6 * 3600.0, 36_000.0) == pytest.approx(by_hand, abs=0.01)
    assert reach_probability(goodput, plan, 6 * 3600.0, 36_000.0) >= by_hand


def test_a_gang_that_never_fails_keeps_what_it_can_and_nothing_more():
    goodput = Goodput(0.0, None, 60.0, 600.0)
    plan = spells(2, 10, 4)
    able = float(plan.made_tokens[-1])
    assert [reach_probability(goodput, plan, able * share, 24 * 3600.0) for share in (0.0, 1.0, 1.001)] == [1, 1, 0]
    due = [(able, 24 * 3600.0), (1.001 * able, 24 * 3600.0), (0.0, 0.0)]
    assert simulated_probability(goodput, plan, due, 100, 1) == (1.0, 0.0, 1.0)
    assert margin_tokens(goodput, able, 1.0, 0.99) == 0.0


def test_no_windows_make_no_tokens():
    nothing = TrainingPlan((), np.array([0.0]), np.array([0.0]))
    assert reach_probability(gang(64), nothing, 1.0, WEEK_S) == 0.0
    assert simulated_probability(gang(64), nothing, [(1.0, WEEK_S)], 100, 1) == (0.0,)


def test_the_same_seed_gives_the_same_weeks():
    case = CASES[6]
    due = [(case.due_tokens(1.0), case.end_s)]
    shares = [simulated_probability(case.goodput, case.plan, due, 1000, seed) for seed in (1, 1, 2)]
    assert shares[0] == shares[1] != shares[2]


def test_a_failure_in_the_save_before_a_stop_loses_what_was_not_saved():
    # a restart takes longer than a spell: the only chance is to get through 6 h and then 5 h without a failure
    goodput = Goodput(5e-5, None, 0.0, 6 * 3600.0)
    stops = (TrainingSpell(0.0, 6 * 3600.0, 0.0, 3600.0), TrainingSpell(10 * 3600.0, 15 * 3600.0, 0.0, 0.0))
    plan = TrainingPlan(stops, np.array([0, 5, 10, 15]) * 3600.0, np.array([0, 5, 5, 10]) * 3600.0)
    alone = math.exp(-5e-5 * 11 * 3600)
    due = (36_000.0, 15 * 3600.0)
    assert reach_probability(goodput, plan, *due) == pytest.approx(alone, abs=1e-6)
    assert simulated_probability(goodput, plan, [due], 40_000, 1)[0] == pytest.approx(alone, abs=0.01)


@pytest.mark.parametrize("probability", [0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[6], CASES[9], CASES[11]], ids=lambda case: case.name)
def test_the_margin_keeps_the_promise(case, probability):
    goodput = case.goodput
    tokens = 50 * 3600.0
    asked = tokens + margin_tokens(goodput, tokens, 1.0, probability)
    span_h = asked / goodput.factor_share / 3600.0
    plan = spells(1, span_h, 0)
    (kept,) = simulated_probability(goodput, plan, [(tokens, plan.spells[0].end_s)], WEEKS, 9)
    assert kept >= probability - POINTS
    if asked > tokens:
        assert kept == pytest.approx(probability, abs=POINTS)


@settings(max_examples=40, deadline=None)
@given(
    gpus=st.integers(1, 200_000),
    per_gpu_day=st.floats(1e-5, 5e-3),
    save_s=st.floats(0, 900),
    restart_s=st.floats(0, 7200),
    count=st.integers(1, 7),
    share=st.floats(0.5, 1.2),
)
def test_a_chance_is_a_chance_and_falls_with_the_work(gpus, per_gpu_day, save_s, restart_s, count, share):
    goodput = gang(gpus, per_gpu_day, save_s, restart_s)
    assume(goodput.factor_share >= LEAST_USEFUL_SHARE)  # a site file with less is refused
    plan = spells(count, 20, 4, (1.0, 0.7))
    end_s = plan.spells[-1].end_s
    tokens = share * goodput.factor_share * float(plan.made_tokens[-1])
    here = reach_probability(goodput, plan, tokens, end_s)
    assert 0.0 <= here <= 1.0
    assert reach_probability(goodput, plan, 1.02 * tokens, end_s) <= here + 1e-6
    assert reach_probability(replace(goodput, restart_s=goodput.restart_s + 600), plan, tokens, end_s) <= here + 1e-6
