"""Runs that wait for a stage of another: plan, judge, baselines and answers to events keep the order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.baseline import asap, steady
from planner.evaluate import evaluate
from planner.gather import runs_of_week
from planner.optimize import PlanOptions, plan
from planner.optimize.matrix import from_pulp
from planner.optimize.mends import mended
from planner.optimize.model import build
from planner.optimize.order_changes import ShorterLag
from planner.optimize.parts import take_apart
from planner.precedence import After, circle, first_h, in_order
from planner.publish import to_calendar
from planner.run import Stage
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.slots import run_slots, spells
from planner.stagger import longest_moves
from planner.timegrid import TimeGrid
from tests.answers import answer_to, limit
from tests.enumeration import best_cost
from tests.weeks import FULL_POWER, START, at, make_block, make_run, random_week, tiny_week

EXACT = PlanOptions(gap_target=0.0, time_limit_s=30.0)


def promotion(lag_h=0.0, **changes):
    """A prototype of two hours, then a full-scale run of two hours; energy is cheapest in the first and last hours."""
    proto = make_run("proto", 128, 2.0, 8.0, points=FULL_POWER)
    full = make_run("full", 256, 2.0, 8.0, points=FULL_POWER, after=(After("proto", "train", lag_h),))
    prices = [0.2, 0.02, 0.03, 0.2, 0.2, 0.2, 0.09, 0.09]
    return tiny_week(runs=(full, proto), **({"price_per_kwh": prices} | changes))


def published(week, options=EXACT):
    found = plan(week, options)
    return found, *to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )


def hours(schedule, name):
    run = next(r for r in schedule.runs if r.run == name)
    return [t for first, after in spells(run.gpu_power_limit_w > 0.0) for t in range(first, after)]


def test_the_second_run_starts_when_the_stage_of_the_first_is_done():
    week = promotion()
    free = replace(week, runs=tuple(replace(run, after=()) for run in week.runs))
    # without the order both take the two cheap hours; with it the larger one takes the last hours, at 0.09
    assert (hours(plan(free, EXACT).schedule, "proto"), hours(plan(free, EXACT).schedule, "full")) == ([1, 2], [1, 2])
    found, calendar, runs = published(week)
    assert (hours(found.schedule, "proto"), hours(found.schedule, "full")) == ([1, 2], [6, 7])
    assert evaluate(calendar, runs, week).violations == ()
    assert runs[0].windows[0].why == "waits for stage 'train' of run 'proto'"


def test_the_lag_counts_from_the_end_of_the_stage():
    # done in the cheap hours, the stage lets the second run start at hour 7.5; done at once, at 6.5: the cell from 7 on
    found, calendar, runs = published(promotion(lag_h=4.5))
    assert hours(found.schedule, "proto") == [0, 1]
    assert hours(found.schedule, "full") == [7]
    # one of two hours is missing, and the plan names it
    assert [round(s.hours_short, 6) for s in found.shortfalls] == [1.0]
    assert evaluate(calendar, runs, promotion(lag_h=4.5)).violations == ()


def test_the_judge_finds_a_run_that_does_not_wait():
    _, calendar, runs = published(promotion())
    moved = [replace(r, windows=tuple(_shift(w, -4.5) for w in r.windows)) if r.run == "full" else r for r in runs]
    broken = [v for v in evaluate(calendar, moved, promotion()).violations if v.kind == "precedence"]
    # a second of the gang is forgiven
    assert [(v.subject, v.limit[:18]) for v in broken] == [("full", "2024-05-13T02:59:5")]
    lagged = evaluate(calendar, runs, promotion(lag_h=4.0)).violations
    assert "its lag of 4 h over at 2024-05-13T06:59:5" in next(v.sentence for v in lagged if v.kind == "precedence")


def _shift(window, by_h):
    if window.state == "off":
        return window
    return replace(window, start=window.start + timedelta(hours=by_h), end=window.end + timedelta(hours=by_h))


def test_a_first_run_that_never_gets_there_keeps_the_second_off():
    proto = make_run("proto", 128, 20.0, 24.0, points=FULL_POWER)
    full = make_run("full", 256, 2.0, 8.0, points=FULL_POWER, after=(After("proto", "train"),))
    week = tiny_week(runs=(proto, full))
    found, calendar, runs = published(week)
    assert hours(found.schedule, "full") == []
    (short,) = [s for s in found.shortfalls if s.run == "full"]
    assert "it waits for stage 'train' of run 'proto'" in short.sentence
    assert evaluate(calendar, runs, week).violations == ()


def test_what_is_due_at_the_end_of_the_horizon_counts_from_when_the_first_is_due():
    proto = make_run("proto", 128, 2.0, 4.0)
    full = make_run("full", 256, 8.0, 12.0, after=(After("proto", "train"),))
    week = tiny_week(runs=(proto, full))
    # eight hours of work over the eight hours from hour 4 to hour 12: half of it lies in this horizon
    assert week.work_tokens(full) == pytest.approx(4.0 * 3600 * 256 * 1000)


@pytest.mark.parametrize("seed", range(8))
def test_chains_reach_the_optimum_that_enumeration_finds(seed):
    week = random_week(seed, n_runs=2, n_slots=4, n_pools=1 + seed % 2)
    lag_h = (0.0, 1.0, 0.5)[seed % 3]
    first, *others = week.runs
    first = replace(first, stages=(replace(first.stages[0], tokens=0.4 * first.stages[0].tokens), *first.stages[1:]))
    followers = [replace(run, after=(After(first.name, first.stages[0].name, lag_h),)) for run in others]
    week = replace(week, runs=(first, *followers))
    found, calendar, runs = published(week)
    assert found.objective == pytest.approx(best_cost(longest_moves(week)), rel=1e-6, abs=1e-6)
    assert evaluate(calendar, runs, week).violations == ()


@pytest.mark.parametrize("rule", [asap, steady])
def test_baselines_keep_the_order(rule):
    week = promotion(lag_h=1.0)
    result = rule(week, {run.name: week.work_tokens(run) for run in week.runs})
    assert result.tokens_missing == {}
    calendar, runs = to_calendar(week, result.schedule, status="rule", certified_gap=None)
    assert [v for v in evaluate(calendar, runs, week).violations if v.kind == "precedence"] == []
    made = np.cumsum(run_slots(week, result.schedule.runs[1]).tokens)
    done = int((made >= week.work_tokens(week.run("proto")) * (1 - 1e-6)).argmax()) + 1
    assert hours(result.schedule, "full")[0] >= done + 1


def in_force(week):
    """The prototype from hour 4 to 9 below full power, the full run from hour 9 to 12."""
    proto, full, still = np.zeros(24), np.zeros(24), np.zeros(24)
    proto[4:9], full[9:12] = 500.0, 700.0
    runs = (RunSchedule("proto", "a1", proto), RunSchedule("full", "a1", full))
    schedule = Schedule(runs, (BlockSchedule("hall", still, still, still),))
    return to_calendar(week, schedule, status="test", certified_gap=None)


def test_an_answer_to_an_event_makes_up_what_the_second_run_waits_for():
    # five hours at 500 W are 4.4 h of work, and three hours at full power
    proto, full = make_run("proto", 128, 4.4, 20.0), make_run("full", 256, 3.0, 24.0)
    prices = [0.08] * 7 + [9.0] * 2 + [0.08] * 15
    free = tiny_week(n_slots=24, runs=(proto, full), price_per_kwh=prices)
    week = replace(free, runs=(proto, replace(full, after=(After("proto", "train"),))))
    calendar = in_force(week)
    event = limit(5, 7, 0.93 * calendar[0].blocks[0].import_kw[5])
    made = {}
    for name, seen in (("free", free), ("waits", week)):
        response, runs = answer_to(seen, in_force(seen), event, now=at(4.5))
        assert response.found.clean, response.found.violations
        made[name] = sum(w.tokens for w in runs[0].windows if w.end <= at(9)) / (3600 * 128 * 1000)
    # power is so dear until hour 9 that nothing but the second run's start is worth the work
    assert made["free"] < 4.39
    assert made["waits"] == pytest.approx(4.4, rel=2e-5)


def test_a_lag_that_is_too_long_is_mended_by_a_shorter_one():
    # done at hour 2 at the earliest, the stage lets the full run start at hour 7: an hour too late for its two hours
    week = promotion(lag_h=5.0)
    _, calendar, _ = published(week)
    (unkept,) = mended(week, calendar.shortfalls, EXACT).unkept
    (mend,) = [mend for mend in unkept.mends if isinstance(mend.change, ShorterLag)]
    assert 1.0 <= mend.change.hours <= 1.1
    assert mend.told.endswith("h (now 5 h) between stage 'train' of run 'proto' and run 'full'")
    assert plan(mend.change.apply(week), EXACT).shortfalls == ()


def test_runs_that_wait_are_not_priced_one_by_one():
    free = replace(promotion(), runs=tuple(replace(run, after=()) for run in promotion().runs))
    for week, apart in ((free, True), (promotion(), False)):
        program = build(week)
        assert (take_apart(program, *from_pulp(program.problem)) is not None) is apart


def test_the_earliest_start_adds_up_along_a_chain():
    a = make_run("a", 128, 2.0, 8.0, reload_s=1800.0, earliest_h=1.0)
    b = make_run("b", 128, 1.0, 8.0, after=(After("a", "train", 0.5),))
    c = make_run("c", 128, 1.0, 8.0, after=(After("b", "train"),))
    week = tiny_week(runs=(c, b, a))
    # 1 h + 0.5 h reload + 2 h of work + 0.5 h lag; then 1 h of work
    assert [first_h(week, run) for run in (a, b, c)] == pytest.approx([1.0, 4.0, 5.0])
    assert [run.name for run in in_order(week.runs)] == ["a", "b", "c"]
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ("b", "c", "b")
    assert circle({"a": ["b"], "b": []}) == ()


def test_a_week_takes_off_what_is_done_and_leaves_out_who_cannot_start():
    class Site:
        file, pools = "site.toml", ()
        runs = ()

    stages = (Stage("one", 10.0, at(-1.0)), Stage("two", 10.0, at(48.0)))
    proto = replace(make_run("proto"), stages=stages, tokens_done=12.0)
    late = replace(make_run("late"), earliest_start=at(300.0), stages=(Stage("x", 1.0, at(400.0)),))
    after = [
        replace(make_run("b"), after=(After("proto", "one"),)),
        replace(make_run("c"), after=(After("proto", "two", 3.0),)),
        replace(make_run("d"), after=(After("late", "x"),)),
        replace(make_run("e"), after=(After("d", "train"),)),
    ]
    Site.runs = (*after, proto, late)
    runs, told = runs_of_week(Site, TimeGrid(START, 60, 168))
    assert {run.name: run.after for run in runs} == {"b": (), "c": (After("proto", "two", 3.0),), "proto": ()}
    assert told[1:] == (
        "Run 'd' waits for stage 'x' of run 'late', which is left out, and is left out too.",
        "Run 'e' waits for stage 'train' of run 'd', which is left out, and is left out too.",
    )


def test_idle_blocks_need_no_order():
    week = promotion()
    assert week.sha256 != replace(week, runs=tuple(replace(run, after=()) for run in week.runs)).sha256
    assert b'"after":' not in tiny_week(blocks=(make_block(n_slots=8),)).canonical()
