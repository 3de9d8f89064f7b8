"""Five hundred small weeks whose optimum is known from all on/off patterns of all gangs; a third have paid hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.stagger import longest_moves
from tests.exhaustive import exhaustive_cost
from tests.optima import check_optimum
from tests.weeks import random_week

MOST_SLOTS = {1: 12, 2: 10, 3: 8, 4: 6}
"""Count of gangs -> slots that can be had with any rules; every tenth week has twelve and stricter ones."""


def small_week(seed):
    """A week of one to four gangs and four to twelve slots in one or two pools."""
    rng = np.random.default_rng([20_240_513, seed])
    n_runs, long = int(rng.integers(1, 5)), seed % 10 == 0
    minutes = int(rng.choice([15, 30, 60]))
    week = random_week(
        seed,
        n_runs=n_runs,
        n_slots=12 if long else int(rng.integers(4, MOST_SLOTS[n_runs] + 1)),
        n_pools=int(rng.integers(1, 3)),
        slot_minutes=minutes,
        on_off_grid_h=minutes / 60,
        negative_prices=seed % 3 == 0,
        fill=float(rng.uniform(0.5, 0.9)),
    )
    if long:
        least_h = 3 * week.grid.slot_h
        week = replace(week, runs=tuple(replace(run, min_run_h=least_h, max_pauses=0) for run in week.runs))
    return week


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(500))
def test_a_small_week_reaches_its_optimum(seed):
    week = small_week(seed)
    check_optimum(week, exhaustive_cost(longest_moves(week)))
