"""The weeks of the gang benchmark are what its table says of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.gangs import CASES, FILL, gang_week


@pytest.mark.parametrize("name", CASES)
def test_a_seed_gives_one_week_of_that_many_gangs_which_want_seven_tenths_and_fit(name):
    case = CASES[name]
    week = gang_week(case, 3)
    assert week.sha256 == gang_week(case, 3).sha256 != gang_week(case, 4).sha256
    assert (len(week.runs), week.grid.n_slots, len(week.pools)) == (case.gangs, case.n_slots, case.n_pools)
    room = {pool.name: int(pool.gpus_in_service(week.grid)[0]) for pool in week.pools}
    assert all(room[option.pool] >= run.gpus for run in week.runs for option in run.options)
    wanted = sum(week.work_tokens(run) / run.fastest_tokens_per_s / 3600 * run.gpus for run in week.runs)
    # a pool is never smaller than its largest gang, which can leave it emptier
    assert 0.3 * FILL < wanted / (168 * sum(room.values())) <= FILL * (1 + 1e-9)
    assert np.ptp(week.signals.price_per_kwh) > 0.0
