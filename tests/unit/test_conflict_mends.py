"""Every kind of conflict of physics: told by name, and mended by what the message itself proposes."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace

import pytest

from planner.errors import Infeasible
from planner.optimize import PlanOptions, mends, plan
from planner.optimize.changes import FasterRamp, LowerFinalCharge, MoreCooling, MorePower
from planner.optimize.scale import ManyGangs
from planner.optimize.supply_changes import LongerPermit, ShorterUpTime, SmallerReserve
from planner.pipeline import plan_or_mends
from power.blocks import Derating
from power.generation import Generator
from tests.weeks import at, battery, make_block, make_pool, make_run, tiny_week
from thermal.plant import dry_cooler

OPTIONS = PlanOptions(gap_target=0.02, time_limit_s=10.0)
SETS = Generator("sets", 1, 60.0, 0.4, 1.0, 1.0, 0.0, 0.1, 0.0)
RUNNING = Generator("sets", 8, 200.0, 0.9, 6.0, 2.0, 30.0, 0.10, 500.0, initial_units=8, initial_h=1.0)
JUMP = make_pool(commissioning=((at(-10), 512), (at(4), 2048)))
FALL = make_pool(commissioning=((at(-10), 2048), (at(4), 512)))
STEEP = make_block(n_slots=8, ramp_kw_per_min=10.0, ramp_window_min=15.0)

KINDS = {
    "capacity": (
        tiny_week(blocks=(make_block(n_slots=8, deratings=(Derating(at(3), at(4), 40.0, "outage"),)),)),
        "above the block's capacity",
        "more in block 'hall'",
    ),
    "cooling": (
        tiny_week(blocks=(make_block(n_slots=8, plant=dry_cooler(50.0)),)),
        "above the cooling limit",
        "cooling for .* more of IT power in block 'hall'",
    ),
    "import": (
        tiny_week(blocks=(make_block(n_slots=8, grid_kw=50.0),)),
        "that import and own supply can give together",
        "more in block 'hall'",
    ),
    "ramp up": (
        tiny_week(blocks=(STEEP,), pools=(JUMP,), runs=()),
        "more than the ramp step",
        "a ramp limit higher by",
    ),
    "ramp down": (
        tiny_week(blocks=(STEEP,), pools=(FALL,), runs=()),
        "more than the ramp step",
        "a ramp limit higher by",
    ),
    "final charge": (
        tiny_week(blocks=(make_block(n_slots=8, battery=battery(2000.0, 50.0, initial_share=0.1, final_share=0.9)),)),
        "the battery lacks .* on its way",
        "a final_share of",
    ),
    "reserve": (
        tiny_week(blocks=(make_block(n_slots=8, battery=battery(200.0, 100.0, reserve_min=120.0)),)),
        "of the reserve for the block's load",
        "a reserve_min of",
    ),
    "permit": (
        tiny_week(blocks=(replace(make_block(n_slots=8, grid_kw=50.0), generators=(replace(SETS, max_unit_h=3.0),)),)),
        "are missing",
        "h more in the permit of generators 'sets'",
    ),
    "units that run": (
        tiny_week(blocks=(replace(make_block(n_slots=8), generators=(RUNNING,)),)),
        r"of the units that must still run",
        "a min_up_h of",
    ),
}
"""Kind -> a week without a plan, what its conflict says, and one of the mends that are proposed."""


def half(change, week):
    """A change half as far."""
    block = week.blocks[0]
    match change:
        case MorePower() | MoreCooling():
            return replace(change, kw=change.kw / 2)
        case FasterRamp():
            return replace(change, kw_per_min=change.kw_per_min / 2)
        case LowerFinalCharge():
            return replace(change, share=(change.share + block.battery.final_share) / 2)
        case SmallerReserve():
            return replace(change, reserve_min=(change.reserve_min + block.battery.reserve_min) / 2)
        case LongerPermit():
            return replace(change, hours=change.hours / 2)
        case ShorterUpTime():
            return replace(change, min_up_h=(change.min_up_h + block.generators[0].min_up_h) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_message_proposes_gives_the_week_a_plan_and_half_of_it_none(kind, monkeypatch):
    week, conflict, wanted = KINDS[kind]
    proposed = []
    search = mends.physics_mends
    monkeypatch.setattr(mends, "physics_mends", lambda *asked: proposed.extend(search(*asked)) or tuple(proposed))
    with pytest.raises(Infeasible, match=conflict) as told:
        plan_or_mends(week, OPTIONS, lambda _: nullcontext())
    assert told.value.conflicts
    assert all("block 'hall'" in row for row in told.value.conflicts)
    words = [one.change.told(week) for one in proposed]
    assert told.value.fix == f"{', or '.join(words)} would do: the week was planned with each"
    for one in proposed:
        plan(one.change.apply(week), OPTIONS)
    (mend,) = [one for one in proposed if re.search(wanted, one.told)]
    with pytest.raises(Infeasible):
        plan(half(mend.change, week).apply(week), OPTIONS)


@pytest.mark.parametrize("kind", ["final charge", "reserve"])
def test_a_week_of_many_gangs_tells_such_a_conflict_too(kind):
    week, conflict, _ = KINDS[kind]
    with pytest.raises(Infeasible, match=conflict) as told:
        ManyGangs(0.05, 10.0).plan(replace(week, runs=tuple(make_run(f"r{i}", 64, 1.0) for i in range(3))))
    assert told.value.conflicts
    assert all("block 'hall'" in row for row in told.value.conflicts)
