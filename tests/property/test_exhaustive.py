"""The pruned search over all patterns finds what trying every combination finds."""

from __future__ import annotations

import pytest

from planner.stagger import longest_moves
from tests.enumeration import best_cost
from tests.exhaustive import exhaustive_cost
from tests.weeks import random_week


@pytest.mark.parametrize(
    ("seed", "n_runs", "n_pools"), [(0, 2, 1), (1, 2, 1), (5, 2, 1), (7, 2, 2), (8, 3, 1), (9, 3, 2)]
)
def test_what_is_ruled_out_by_proof_is_never_the_optimum(seed, n_runs, n_pools):
    week = longest_moves(random_week(seed, n_runs=n_runs, n_slots=4, n_pools=n_pools))
    assert exhaustive_cost(week) == pytest.approx(best_cost(week), rel=1e-9, abs=1e-9)
