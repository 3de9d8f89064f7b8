"""HiGHS behind its one file: what it is asked for is checked, what it says is read with care."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import sparse

from planner.optimize import PlanOptions, plan, solver
from planner.optimize.matrix import Matrix, Row
from planner.optimize.solver import Highs, SolverFault
from tests.weeks import random_week


def knapsack(n=30, seed=0):
    """Take the most worth in ten limits that do not go together: slow enough to be stopped."""
    rng = np.random.default_rng(seed)
    return Matrix(
        cost=-rng.integers(10, 60, n).astype(float),
        lower=np.zeros(n),
        upper=np.ones(n),
        whole=np.ones(n, dtype=bool),
        a=sparse.csr_array(rng.integers(1, 50, (10, n)).astype(float)),
        row_lower=np.full(10, -np.inf),
        row_upper=np.full(10, 12.0 * n),
        row_names=tuple(f"limit_{i}" for i in range(10)),
    )


def line(upper=4.0, row_lower=-np.inf):
    """Minimise -x - 2y over x + y <= 4 within 0..upper."""
    return Matrix(
        cost=np.array([-1.0, -2.0]),
        lower=np.zeros(2),
        upper=np.full(2, upper),
        whole=np.zeros(2, dtype=bool),
        a=sparse.csr_array(np.array([[1.0, 1.0]])),
        row_lower=np.array([row_lower]),
        row_upper=np.array([4.0]),
        row_names=("sum",),
    )


def test_a_linear_program_gives_values_and_objective():
    answer = Highs(line(upper=3.0), whole=False).run(5.0)
    assert answer.status == "optimal"
    assert answer.values == pytest.approx([1.0, 3.0])
    assert answer.objective == answer.bound == pytest.approx(-7.0)


def test_a_program_goes_back_to_its_mark_without_the_rows_added_since():
    highs = Highs(line(upper=3.0), whole=False)
    first = highs.run(5.0)
    highs.mark()
    highs.add_rows([Row("less", np.array([1]), np.array([1.0]), 2.0)])
    assert highs.run(5.0).objective == pytest.approx(-6.0)
    highs.back_to_mark()
    assert highs.run(5.0).objective == pytest.approx(first.objective)
    highs.back_to_mark()
    highs.add_rows([Row("none", np.array([0, 1]), np.array([1.0, 1.0]), 1.0)])
    assert highs.run(5.0).objective == pytest.approx(-2.0)


def test_a_misspelt_option_is_refused():
    with pytest.raises(SolverFault, match="refuses option mip_rel_gab"):
        Highs(line(), whole=False, mip_rel_gab=0.1)


def test_a_value_of_the_wrong_kind_is_refused():
    with pytest.raises(SolverFault, match="refuses option solver"):
        Highs(line(), whole=False, solver="simplx")


def test_no_values_are_read_without_a_solution():
    answer = Highs(line(upper=1.0, row_lower=3.0), whole=False).run(5.0)
    assert (answer.status, answer.values, answer.objective) == ("infeasible", None, None)


def test_no_values_are_read_when_time_is_up_before_a_start():
    answer = Highs(line(), whole=False).run(0.0)
    assert (answer.status, answer.values) == ("none", None)
    assert answer.bound == -np.inf


def test_threads_are_one_for_every_model_of_the_process():
    for _ in range(2):
        highs = Highs(line(), whole=False)
        assert highs._highs.getOptionValue("threads")[1] == solver.THREADS == 1


def test_a_start_is_never_lost():
    matrix = knapsack()
    start = np.zeros(30)
    start[:5] = 1.0
    highs = Highs(matrix, whole=True, mip_max_nodes=0)
    highs.start_from(start)
    answer = highs.run(5.0)
    assert answer.objective <= matrix.cost @ start
    assert answer.bound <= answer.objective


def test_rows_and_bounds_change_between_runs():
    highs = Highs(line(), whole=False)
    assert highs.run(5.0).objective == pytest.approx(-8.0)
    highs.add_rows([Row("y", np.array([1]), np.array([1.0]), 1.0)])
    assert highs.run(5.0).objective == pytest.approx(-5.0)
    highs.bound_columns(np.array([0]), np.zeros(1), np.ones(1))
    assert highs.run(5.0).objective == pytest.approx(-3.0)
    highs.price_columns(np.array([-10.0, 0.0]))
    assert highs.run(5.0).objective == pytest.approx(-10.0)


def test_each_run_has_its_own_time_limit():
    highs = Highs(line(), whole=False)
    for _ in range(3):
        assert highs.run(0.5).status == "optimal"


def test_a_solver_that_overruns_its_limit_is_left_behind(monkeypatch):
    monkeypatch.setattr(solver, "OVERRUN_S", 0.05)

    class Stuck:
        def __init__(self, highs):
            self._highs = highs

        def __getattr__(self, name):
            return getattr(self._highs, name)

        def run(self):
            time.sleep(1.0)

    highs = Highs(line(), whole=False)
    highs._highs = Stuck(highs._highs)
    began = time.monotonic()
    answer = highs.run(0.05)
    assert time.monotonic() - began < 0.9
    assert answer.values is None
    assert highs.run(0.05).status == "none"  # it is not touched again while it may still be running


def test_nothing_is_printed(capfd):
    plan(random_week(1, n_slots=12), PlanOptions(gap_target=0.01, time_limit_s=10.0))
    assert capfd.readouterr() == ("", "")


def test_out_of_time_there_still_is_a_plan_with_an_honest_gap():
    week = random_week(5, n_runs=6, n_slots=48, n_pools=2)
    found = plan(week, PlanOptions(gap_target=0.0, time_limit_s=0.001))
    assert found.status == "time-limit"
    assert np.isfinite(found.mip_gap)
    assert found.bound < found.objective
    assert any(r.pool for r in found.schedule.runs)
