"""Checkpoint intervals, useful work, shared storage and what a pause costs, worked by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from power.goodput import (
    SHORTEST_INTERVAL_S,
    Goodput,
    Writer,
    daly_interval_s,
    gang_failures_per_s,
    goodput_share,
    hold_break_even_s,
    shared_save_s,
)
from tests.failing_gangs import LLAMA_PER_GPU_DAY


def test_sixteen_thousand_gpus_fail_every_three_hours():
    assert 1 / gang_failures_per_s(16_384, LLAMA_PER_GPU_DAY) / 3600 == pytest.approx(54 * 24 / 419)
    assert gang_failures_per_s(86_400, 1.0) == 1.0


def test_daly_interval_by_hand():
    # sqrt(2 x 50 x 10,000) = 1000; 50 / 20,000 = 0.0025, its root 0.05: 1000 (1 + 0.05/3 + 0.0025/9) - 50
    assert daly_interval_s(50.0, 10_000.0) == pytest.approx(1000 + 50 / 3 + 2.5 / 9 - 50)
    assert daly_interval_s(3000.0, 1000.0) == 1000.0


def test_no_run_saves_more_often_than_each_minute():
    assert daly_interval_s(0.0, 1e5) == SHORTEST_INTERVAL_S
    assert daly_interval_s(30.0, 10.0) == SHORTEST_INTERVAL_S


@pytest.mark.parametrize(("save_s", "between_s"), [(30, 1e4), (60, 11_140), (120, 1e5), (300, 3600), (600, 1e6)])
def test_daly_is_the_best_interval_to_a_ten_thousandth_of_the_work(save_s, between_s):
    def lost(interval_s):
        return -goodput_share(1 / between_s, interval_s, save_s, 600.0)

    best = minimize_scalar(lost, bounds=(10, 10 * between_s), method="bounded", options={"xatol": 1e-3})
    daly = daly_interval_s(save_s, between_s)
    assert daly == pytest.approx(best.x, rel=0.02)
    assert -lost(daly) == pytest.approx(-best.fun, rel=1e-4)


def test_useful_work_by_hand():
    assert goodput_share(0.0, 900.0, 100.0, 600.0) == 0.9
    # one failure each 10,000 s: 0.09 e^-0.06 / (e^0.1 - 1)
    assert goodput_share(1e-4, 900.0, 100.0, 600.0) == pytest.approx(
        0.09 * math.exp(-0.06) / (math.exp(0.1) - 1.0), rel=1e-12
    )


def test_without_failures_or_checkpoints_all_work_is_useful():
    assert Goodput(0.0, None, 120.0, 600.0).factor_share == 1.0
    assert Goodput(0.0, None, 120.0, 600.0).cycle_s == math.inf
    assert Goodput(0.0, 900.0, 100.0, 600.0).factor_share == 0.9


@pytest.mark.parametrize(
    ("failures_per_s", "save_s", "restart_s"), [(1e-6, 60, 600), (2e-5, 120, 900), (9e-5, 60, 900), (6e-4, 60, 600)]
)
def test_useful_work_as_simulated_to_half_a_per_cent(failures_per_s, save_s, restart_s):
    interval_s = daly_interval_s(save_s, 1 / failures_per_s)
    cycle_s = interval_s + save_s
    random = np.random.default_rng(11)
    between_s = random.exponential(1 / failures_per_s, 400_000)
    # after each failure a restart, whole cycles of work, and the rest of the time lost
    trained_s = np.maximum(0.0, between_s - restart_s)
    useful_s = np.floor(trained_s / cycle_s) * interval_s
    assert useful_s.sum() / between_s.sum() == pytest.approx(
        goodput_share(failures_per_s, interval_s, save_s, restart_s), rel=0.005
    )


@given(st.floats(1e-8, 1e-3), st.floats(60, 1e5), st.floats(0, 3600), st.floats(0, 7200), st.floats(1.01, 3.0))
def test_more_failures_dearer_saves_and_slower_restarts_never_help(failures, interval_s, save_s, restart_s, more):
    here = goodput_share(failures, interval_s, save_s, restart_s)
    assert 0.0 <= here <= 1.0
    assert goodput_share(more * failures, interval_s, save_s, restart_s) <= here
    assert goodput_share(failures, interval_s, more * save_s, restart_s) <= here
    assert goodput_share(failures, interval_s, save_s, more * restart_s) <= here


def test_a_run_alone_saves_at_the_bandwidth_of_the_store():
    # a 70B model's 782 GB at 20 GB/s
    assert shared_save_s([Writer(782e9, 1e-4, 3600.0)], 20.0) == pytest.approx((39.1,))
    assert shared_save_s([], 20.0) == ()


def test_two_equal_runs_by_hand():
    # alone 100 s; C = 100 / (1 - 100 / (900 + C)), so C^2 + 700 C = 90,000
    both = shared_save_s([Writer(1e12, 1e-4, 900.0)] * 2, 10.0)
    assert both == pytest.approx(2 * ((-700 + math.sqrt(700**2 + 4 * 90_000)) / 2,), rel=1e-6)


def test_a_run_that_never_saves_takes_no_bandwidth():
    assert shared_save_s([Writer(1e12, 0.0, None), Writer(1e12, 1e-4, 900.0)], 10.0)[1] == pytest.approx(100.0)


def test_too_many_writers_are_refused():
    with pytest.raises(ValueError, match=r"checkpoints of 12 runs keep a store of 10 GB/s busy for \d+ %"):
        shared_save_s([Writer(1e12, 1e-4, 60.0)] * 12, 10.0)


def test_shared_saves_as_simulated_to_five_per_cent():
    writers = [Writer(1e12, 1e-4, 1500.0), Writer(5e11, 1e-4, 700.0), Writer(2e11, 1e-4, 400.0)]
    found = shared_save_s(writers, 10.0)
    assert found == pytest.approx(_simulated_saves_s([(1500, 100), (700, 50), (400, 20)]), rel=0.05)
    assert found[2] > 20 * 1.05


def _simulated_saves_s(runs):
    """Mean time of a save where the store shares its speed among all that write at the instant."""
    random = np.random.default_rng(5)
    left = np.zeros(len(runs))
    wait = np.array([random.uniform(0, every) for every, _ in runs])
    spent, count = np.zeros(len(runs)), np.zeros(len(runs))
    for _ in range(40_000):
        writing = left > 0.0
        speed = 1.0 / max(1, writing.sum())
        step = min((wait[~writing]).min(initial=np.inf), (left[writing] / speed).min(initial=np.inf))
        spent[writing] += step
        left[writing] -= step * speed
        wait[~writing] -= step
        done = writing & (left <= 1e-9)
        left[done] = 0.0
        count[done] += 1
        # runs differ in pace by a tenth, so that they do not lock into one pattern
        wait[done] = [every * random.uniform(0.9, 1.1) for (every, _), d in zip(runs, done, strict=True) if d]
        begins = ~writing & (wait <= 1e-9)
        left[begins] = [alone for (_, alone), b in zip(runs, begins, strict=True) if b]
    return spent / count


def test_a_short_pause_is_held_by_hand():
    # giving up costs (1000 - 200) W for 120 + 600 s; holding 40 W for as long as it lasts
    assert hold_break_even_s(1000.0, 240.0, 200.0, 120.0, 600.0) == pytest.approx(4 * 3600)
    assert hold_break_even_s(1000.0, 200.0, 200.0, 120.0, 600.0) is None
    assert hold_break_even_s(1000.0, 240.0, 0.0, 120.0, 600.0) == pytest.approx(1000 * 720 / 240)
