"""What mends a missed promise, by hand; that mends do what they say on drawn sites stands in tests/deep."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from planner.errors import Infeasible
from planner.optimize import plan
from planner.optimize.changes import Deadline, EarlierStart, FasterRamp, FewerTokens, MoreGpus, MorePower
from planner.optimize.keeping import Promise, can_keep, conflict, promises_of
from planner.optimize.mends import mended, physics_mends
from planner.pipeline import plan_or_mends
from tests.explained import OPTIONS, explained
from tests.weeks import FULL_POWER, at, make_block, make_pool, make_run, tiny_week
from thermal.plant import room_air


def mends_of(week):
    """The only promise that the plan of a week misses, and what mends it."""
    found = mended(week, explained(week).calendar.shortfalls, OPTIONS)
    assert len(found.unkept) == 1
    assert found.together == ()
    return found.unkept[0]


def kinds(one):
    return {type(mend.change): mend.change for mend in one.mends}


def check(week, mend):
    """Plan again with the mend: nothing is missed."""
    assert plan(mend.change.apply(week), OPTIONS).shortfalls == ()


def test_two_gangs_on_one_pool_clash_and_gpus_deadline_or_tokens_mend_it():
    runs = tuple(make_run(name, 256, 4.0, 6.0, points=FULL_POWER) for name in ("one", "two"))
    week = tiny_week(pools=(make_pool(gpus=256),), runs=runs)
    unkept = mends_of(week)
    assert unkept.possible is False
    assert set(unkept.clash) == {Promise("one", "train"), Promise("two", "train")}
    assert unkept.hours_short == pytest.approx(2.0)
    found = kinds(unkept)
    assert found[MoreGpus].gpus == 256
    assert found[Deadline].deadline == at(8.0)
    assert 0 < found[FewerTokens].tokens < 1.01 * 2.0 * 3600 * 256 * 1000
    for mend in unkept.mends:
        check(week, mend)


def test_a_start_that_is_too_late_is_mended_by_an_earlier_one():
    week = tiny_week(runs=(make_run("eager", 256, 4.0, 6.0, earliest_h=3.0, points=FULL_POWER),))
    unkept = mends_of(week)
    assert unkept.clash == (Promise("eager", "train"),)
    assert kinds(unkept)[EarlierStart].start == at(2.0)


def test_power_that_is_short_is_mended_by_as_much():
    block = make_block(capacity_kw=300.0, n_slots=6, plant=room_air(1000.0))
    week = tiny_week(n_slots=6, blocks=(block,), runs=(make_run("late", 256, 6.0, 6.0, points=FULL_POWER),))
    change = kinds(mends_of(week))[MorePower]
    # all GPUs of the pool: 256 idle and 256 at full power, with their cooling
    least_kw = 256 * (1.1 + 0.15) - 300.0
    assert least_kw < change.kw < least_kw * 1.2 + 20.0
    assert can_keep(MorePower("hall", change.kw * 0.8).apply(week), promises_of(week)) is False
    check(week, next(m for m in mends_of(week).mends if m.change == change))


def test_a_promise_that_is_only_too_dear_is_kept_at_a_higher_price_of_lateness():
    cheap = tiny_week(runs=(make_run("lazy", 256, 4.0, 4.0),), price_per_kwh=0.5)
    week = replace(cheap, prices=replace(cheap.prices, lateness_per_gpu_h=0.1))
    unkept = mends_of(week)
    assert unkept.possible is True
    assert unkept.clash == ()
    assert unkept.mends[0].told.startswith(("priority 1 for run 'lazy'", "a lateness_per_gpu_h of "))
    check(week, unkept.mends[0])


def test_no_conflict_is_told_where_all_can_be_kept():
    week = tiny_week()
    assert can_keep(week, promises_of(week)) is True
    assert conflict(week, (), promises_of(week)[0]) == ()


def test_a_week_without_any_plan_is_mended_too():
    powered = [True] * 4 + [False] * 4
    block = make_block(n_slots=8, idle_powered=powered, ramp_kw_per_min=2.0)
    week = tiny_week(blocks=(block,), runs=())
    with pytest.raises(Infeasible):
        plan(week, OPTIONS)
    mends = physics_mends(week, OPTIONS)
    ramp = next(mend for mend in mends if isinstance(mend.change, FasterRamp))
    # idle power of 76.8 kW goes away in one step of 15 minutes
    assert 76.8 / 15 - 2.0 <= ramp.change.kw_per_min <= 1.15 * (76.8 / 15 - 2.0)
    for mend in mends:
        plan(mend.change.apply(week), OPTIONS)
    with pytest.raises(Infeasible, match=r"a ramp limit higher by .* would do: the week was planned with each"):
        plan_or_mends(week, OPTIONS, lambda _: nullcontext())


def test_a_conflict_of_two_runs_is_told_for_the_one_asked_about():
    runs = tuple(make_run(name, 256, 4.0, 2.0, points=FULL_POWER) for name in ("one", "two"))
    week = tiny_week(pools=(make_pool(gpus=512),), runs=runs)
    shortfalls = explained(week).calendar.shortfalls
    assert {short.run for short in shortfalls} == {"one", "two"}
    found = mended(week, shortfalls, OPTIONS, lambda run: run == "two")
    assert [one.promise.run for one in found.unkept] == ["two"]
    assert found.unkept[0].clash == (Promise("two", "train"),)
    assert found.together == ()
