"""Every mend that is told does what it says: drawn sites that ask too much are planned again with each of them."""

from __future__ import annotations

import numpy as np
import pytest

from planner.errors import Infeasible
from planner.optimize import PlanOptions, plan
from planner.optimize.keeping import Promise, promises_of
from planner.optimize.mends import mended, physics_mends
from tests.weeks import battery, make_block, make_run, random_week, tiny_week

pytestmark = pytest.mark.deep
OPTIONS = PlanOptions(gap_target=0.05, time_limit_s=120.0)  # a second is enough; a busy machine must not cut it short


def missed(week):
    found = plan(week, OPTIONS)
    assert found.status == "optimal"
    return {Promise(s.run, s.stage) for s in found.shortfalls}


@pytest.mark.parametrize("seed", range(30))
def test_every_mend_of_a_missed_promise_keeps_it(seed):
    week = random_week(seed, n_runs=2 + seed % 2, n_slots=8, fill=1.2 + 0.1 * (seed % 4))
    found = plan(week, OPTIONS)
    told = mended(week, found.shortfalls, OPTIONS)
    now = {Promise(s.run, s.stage) for s in found.shortfalls}
    assert {one.promise for one in told.unkept} == now
    for one in told.unkept:
        for mend in (mend for mend in one.mends if mend.settled):
            after = missed(mend.change.apply(week))
            assert one.promise not in after, mend.told
            assert after <= now, mend.told
    for mend in (mend for mend in told.together if mend.settled):
        assert not missed(mend.change.apply(week)) & set(promises_of(week)), mend.told
    assert found.status == "optimal"
    assert not now or told.together or any(one.mends for one in told.unkept)


def test_every_mend_of_a_week_without_a_plan_gives_it_one():
    without_plan, without_mend = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        store = battery(initial_share=0.1, final_share=0.9, charge_kw=float(rng.uniform(2, 20)))
        block = make_block(
            capacity_kw=float(rng.uniform(70, 150)),
            n_slots=8,
            idle_powered=rng.random(8) < 0.5,
            battery=store if rng.random() < 0.5 else None,
            ramp_kw_per_min=float(rng.uniform(1.0, 6.0)),
        )
        week = tiny_week(blocks=(block,), runs=(make_run(gpus=64),))
        try:
            plan(week, OPTIONS)
        except Infeasible:
            mends = physics_mends(week, OPTIONS)
            without_plan += 1
            without_mend += not mends
            for mend in mends:
                plan(mend.change.apply(week), OPTIONS)
    assert without_plan >= 10
    assert without_mend < without_plan / 2  # two limits that clash at once have no single mend
