"""Many gangs that wait for each other or span islands: starts behind what is waited for, GPUs of each island."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.optimize.limits import block_limits
from planner.optimize.scale.assign import Assignment
from planner.optimize.scale.certificate import Certificate
from planner.optimize.scale.classes import EVERY_RUN
from planner.optimize.scale.crowd import crowd
from planner.optimize.scale.fluid import Fluid
from planner.optimize.scale.ground import Placed
from planner.optimize.scale.order import NEVER, Order
from planner.optimize.scale.pressing import pressed
from planner.pool import Pool
from planner.precedence import After
from planner.publish import to_calendar
from planner.run import PoolOption
from planner.slots import run_slots
from tests.many_gangs import waiting_gangs
from tests.weeks import FULL_POWER, make_pool, make_run, tiny_week

SCALE = PlanOptions(gap_target=0.05, time_limit_s=600.0, method="scale")


def gangs(week):
    return crowd(week, [block_limits(week, block) for block in week.blocks])


def chain(lag_h=0.0):
    """A prototype of two hours, a full run of two hours behind it, and a report of an hour behind that."""
    return tiny_week(
        runs=(
            make_run("report", 64, 1.0, 8.0, after=(After("full", "train"),)),
            make_run("full", 256, 2.0, 8.0, after=(After("proto", "train", lag_h),)),
            make_run("proto", 128, 2.0, 4.0, points=FULL_POWER),
        ),
        price_per_kwh=[0.2, 0.05, 0.02, 0.03, 0.2, 0.2, 0.01, 0.09],
    )


def hours(found, name):
    return np.flatnonzero(next(r for r in found.schedule.runs if r.run == name).gpu_power_limit_w > 0.0).tolist()


def judged(week, found):
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    return [v.sentence for v in evaluate(calendar, runs, week, simulated_weeks=0).violations]


def test_each_starts_when_what_it_waits_for_is_done():
    found = plan(chain(), SCALE)
    proto, full, report = (hours(found, name) for name in ("proto", "full", "report"))
    assert (len(proto), len(full), len(report)) == (2, 2, 1)
    assert proto[-1] < full[0]
    assert full[-1] < report[0]
    assert judged(chain(), found) == []
    assert found.bound <= plan(chain(), replace(SCALE, method="gangs")).objective + 1e-6


def test_what_others_wait_for_is_due_early_enough_for_them():
    one = gangs(chain(lag_h=0.5))
    # the report's hour takes 1.43 h at its lowest power, so that it starts by 6.57; the full run's two hours take 2.86
    assert pressed(one).dues.marks[1, :, 0].tolist() == pytest.approx([8.0 - 1.0 / 0.7, 8.0])
    assert pressed(one).dues.marks[2, :, 0].tolist() == pytest.approx([8.0 - 3.0 / 0.7 - 0.5, 4.0])
    assert pressed(one).dues.work_h[2].tolist() == [2.0, 2.0]
    alone = gangs(tiny_week())
    assert pressed(alone) is alone


def placed(one, run, *slots):
    """A gang at full power in some hours."""
    speed = np.ones(len(slots))
    table = next(int(rank.table[row]) for rank in one.ranks for row in np.flatnonzero(rank.run == run))
    return Placed(table, 0, float(one.week.runs[run].gpus), np.array(slots), speed, np.zeros((1, len(slots))))


def test_the_order_knows_levels_first_slots_and_what_breaks_it():
    one = gangs(chain(lag_h=0.5))
    order, ground = Order(one), Assignment(one)
    assert (order.level.tolist(), order.waiting) == ([2, 1, 0], [1, 0])
    assert [int(run) for run in ground.order()] == [2, 1, 0]
    assert order.first_slot(2, ground.places) == 0.0
    assert order.first_slot(1, ground.places) == NEVER
    ground.take(2, placed(one, 2, 0, 1))
    # done at hour 2, with half an hour's lag: whole hours from 3 on
    assert order.first_slot(1, ground.places) == 3.0
    ground.take(1, placed(one, 1, 3, 4))
    ground.take(0, placed(one, 0, 6))
    assert order.first_slot(0, ground.places) == 5.0
    assert order.holds(2, ground.places)
    ground.leave(2, ground.places[2])
    ground.take(2, placed(one, 2, 1, 2))
    assert not order.holds(2, ground.places)
    assert not ground.sound([2])
    ground.aim(Fluid(one, EVERY_RUN).solve(30.0), 1.0)
    ground.in_order()
    assert ground.places[2].slots.tolist() == [1, 2]
    assert ground.places[1].slots[0] >= 4
    assert all(order.holds(run, ground.places) for run in range(3))


@pytest.mark.parametrize("seed", [1, 2])
def test_many_gangs_that_wait_and_span_make_a_calendar_that_the_judge_passes(seed):
    week = waiting_gangs(seed, n_runs=60, n_slots=48)
    assert sum(bool(run.after) for run in week.runs) > 8
    found = plan(week, SCALE)
    assert judged(week, found) == []
    assert found.mip_gap < 0.1
    assert found.shortfalls == ()


def test_a_gang_larger_than_an_island_takes_whole_gpus_of_both():
    first, second = make_pool("i1", 300, points=FULL_POWER), make_pool("i2", 100, points=FULL_POWER)
    both = Pool("both", "hall", first.gpu, "+", (), spans=(("i1", 0.75), ("i2", 0.25)), spanning_share=0.8)
    wide = (PoolOption("both", 800.0, FULL_POWER),)
    small = tuple(
        replace(make_run(f"s{i}", 60, 4.0, 8.0, points=FULL_POWER), options=(PoolOption("i1", 1000.0, FULL_POWER),))
        for i in range(2)
    )
    large = replace(make_run("large", 322, 3.0, 8.0, points=FULL_POWER), options=wide)
    week = tiny_week(pools=(first, second, both), runs=(*small, large))
    one = gangs(week)
    # 241.5 and 80.5 of 322: one island gives the odd GPU
    assert sorted(count for _, count in one.tables[-1].counts(322.0)) == [80, 242]
    found = plan(week, SCALE)
    assert judged(week, found) == []
    assert found.shortfalls == ()
    on = {run.run: run.gpu_power_limit_w > 0.0 for run in found.schedule.runs}
    # 242 of 300 leave 58: a gang of 60 has no room beside it
    assert not (on["large"] & (on["s0"] | on["s1"])).any()
    bound = Certificate(one)
    prices = Fluid(one, EVERY_RUN).solve(30.0)
    assert bound.bound(prices.it, prices.gpu, 30.0) <= found.objective + 1e-6
    assert made(week, found, "large") == pytest.approx(week.work_tokens(week.run("large")), rel=0.1)


def made(week, found, name):
    return sum(run_slots(week, r).tokens.sum() for r in found.schedule.runs if r.run == name)
