"""A plan that comes late is worth more than none."""

from __future__ import annotations

import pytest

from planner.optimize import PlanOptions, incumbent
from tests.planner_reports import planned
from tests.weeks import at, make_block, make_pool, make_run, random_week, tiny_week

NO_TIME = PlanOptions(gap_target=0.0, time_limit_s=1e-9)
JUMP = make_pool(commissioning=((at(-10), 512), (at(4), 2048)))
STEEP = make_block(n_slots=8, ramp_kw_per_min=10.0, ramp_window_min=15.0)
WEEKS = {
    "drawn": random_week(5, n_runs=4, n_slots=24),
    # idle power jumps by more than the ramp, and only a gang can bridge it
    "bridged": tiny_week(blocks=(STEEP,), pools=(JUMP,), runs=(make_run(work_h=3, deadline_h=4),)),
}


@pytest.mark.parametrize("name", WEEKS)
def test_a_machine_too_busy_to_find_a_first_plan_in_time_gets_one_late(name, monkeypatch):
    monkeypatch.setattr(incumbent, "FIRST_S", -1.0)
    found, seen = planned(WEEKS[name], NO_TIME)
    assert found.bound <= found.objective
    assert seen.clean
