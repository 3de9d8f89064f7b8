"""Settling the units of generators leaves the time in which a plan is made of them."""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from planner.optimize import settle as settling
from planner.optimize.matrix import Matrix
from planner.optimize.solver import Highs


def program() -> Matrix:
    """One gang (column 0) and one unit (column 1) that it needs."""
    return Matrix(
        cost=np.array([0.0, 1.0]),
        lower=np.zeros(2),
        upper=np.ones(2),
        whole=np.array([True, True]),
        a=sparse.csr_array(np.array([[1.0, -1.0]])),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([0.0]),
        row_names=("needs",),
    )


def test_a_unit_is_settled_with_part_of_the_time(monkeypatch):
    given = []
    run = Highs.run
    monkeypatch.setattr(Highs, "run", lambda self, seconds: (given.append(seconds), run(self, seconds))[1])
    columns, values = settling.settle(program(), np.array([1]), np.array([0]), np.array([1.0]), time.monotonic() + 40.0)
    assert columns.tolist() == [0, 1]
    assert values.tolist() == [1.0, 1.0]
    assert 5.0 < given[0] <= 20.0


def test_nothing_open_takes_no_time():
    columns, values = settling.settle(program(), np.array([1]), np.array([0, 1]), np.array([1.0, 1.0]), 0.0)
    assert (columns.tolist(), values.tolist()) == ([0, 1], [1.0, 1.0])
