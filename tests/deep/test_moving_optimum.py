"""Small weeks whose first run may move between two pools, or change its size, against every place in every slot."""

from __future__ import annotations

import pytest

from planner.stagger import longest_moves
from tests.moving import best_moving_cost, moving_week
from tests.optima import check_optimum


def drawn(seed):
    """One run that migrates, changes its size, or both; every fourth week has a second run that keeps its place."""
    if seed % 4 == 3:
        return moving_week(seed, 4, n_runs=2, sizes=False)
    return moving_week(seed, 4, migrates=seed % 4 != 1, sizes=seed % 4 != 2)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_a_small_week_with_moves_reaches_its_optimum(seed):
    week = drawn(seed)
    check_optimum(week, best_moving_cost(longest_moves(week)))
