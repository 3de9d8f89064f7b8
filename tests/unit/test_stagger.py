"""Starts and stops that follow each other: worked by hand, seen in windows, counted by program and judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.stagger import longest_moves, staggered
from tests.judged import kinds
from tests.weeks import FULL_POWER, POINTS, at, make_block, make_pool, make_run, random_week, tiny_week

# 32 GPUs of 1,100 W at work and 150 W idle are a step of 30.4 kW: 3.04 min at 10 kW/min, 182.4 s
RAMP = {"ramp_kw_per_min": 10.0, "ramp_window_min": 15.0}
WAITS = [0.0, 183.0, 365.0, 548.0]


def hall(
    count: int = 4, *, n_slots: int = 8, slot_minutes: int = 60, power=None, work_h: float = 2.0, points=FULL_POWER
):
    runs = [make_run(f"r{i}", 32, work_h, 8.0, points=points, checkpoint_s=60.0) for i in range(count)]
    block = make_block(n_slots=n_slots, **(RAMP if power is None else power))
    return tiny_week(n_slots=n_slots, slot_minutes=slot_minutes, blocks=(block,), runs=tuple(runs))


def decided(week, *patterns: str) -> Schedule:
    """One pattern per run: 1 on at 700 W, 5 on at 500 W, 0 off."""
    watts = {"0": 0.0, "1": 700.0, "5": 500.0}
    still = np.zeros(week.grid.n_slots)
    return Schedule(
        tuple(
            RunSchedule(run.name, "a1", np.array([watts[sign] for sign in pattern]))
            for run, pattern in zip(week.runs, patterns, strict=True)
        ),
        tuple(BlockSchedule(block.name, still, still, still) for block in week.blocks),
    )


def moves(week, *patterns: str):
    """Slot -> seconds by which each run starts late there, and stops early."""
    found = staggered(week, decided(week, *patterns))
    late = [{int(t): run.late_s[t] for t in np.flatnonzero(run.late_s)} for run in found.runs]
    early = [{int(t): run.early_s[t] for t in np.flatnonzero(run.early_s)} for run in found.runs]
    return late, early


def test_gangs_start_as_the_ramp_catches_up_and_stop_before_the_edge():
    late, early = moves(hall(), *["00111100"] * 4)
    assert late == [{}, {2: 183.0}, {2: 365.0}, {2: 548.0}]
    assert early == [{}, {5: 183.0}, {5: 365.0}, {5: 548.0}]


def test_the_first_slot_and_the_end_of_the_horizon_move_nobody():
    assert moves(hall(), *["11111111"] * 4) == ([{}] * 4, [{}] * 4)


def test_runs_of_higher_priority_are_moved_less():
    week = hall(2)
    week = replace(week, runs=(week.runs[0], replace(week.runs[1], priority=1)))
    assert moves(week, "00111100", "00111100") == ([{2: 183.0}, {}], [{5: 183.0}, {}])


def test_gangs_that_take_the_place_of_others_go_with_them():
    late, early = moves(hall(6), "00110000", "00110000", *["00001100"] * 4)
    # at 04:00 two stop and four start: two in their place, one as the net step, the last one step later
    assert late == [{}, {2: 183.0}, {}, {}, {}, {4: 183.0}]
    assert early == [{}, {}, {}, {5: 183.0}, {5: 365.0}, {5: 548.0}]


def test_changes_of_power_limits_count_first():
    # from 500 to 700 W is 32 x 260 W = 8.32 kW: 0.832 min; down likewise, and the last to stop clears its own 3.04 min
    late, early = moves(hall(2, points=POINTS), "05111150", "00111100")
    assert late == [{}, {2: 50.0}]
    assert early == [{}, {5: 183.0}]


def test_the_fall_has_a_limit_of_its_own():
    faster = {**RAMP, "ramp_fall_kw_per_min": 20.0}
    assert moves(hall(2, power=faster), "00111100", "00111100") == ([{}, {2: 183.0}], [{}, {5: 92.0}])
    falls = {"ramp_fall_kw_per_min": 20.0}
    assert moves(hall(2, power=falls), "00111100", "00111100") == ([{}, {}], [{}, {5: 92.0}])


def test_slots_without_room_for_two_windows_stay_as_they_are():
    week = hall(2, slot_minutes=15)
    schedule = decided(week, "00111100", "00111100")
    assert staggered(week, schedule) is schedule
    assert longest_moves(week).runs == week.runs


def test_no_move_takes_more_than_a_quarter_of_a_spell():
    week = hall(5, n_slots=16, slot_minutes=30)
    late, early = moves(week, *["0010000000000000"] * 5)
    assert late[4] == {2: 450.0}
    assert early[4] == {2: 450.0}


def test_a_gang_in_two_halls_waits_for_both():
    blocks = tuple(make_block(name, n_slots=8, **RAMP) for name in ("east", "west"))
    both = replace(make_pool("both", 256, "east"), block_share=(("east", 0.5), ("west", 0.5)))
    pools = (both, make_pool("e1", 64, "east"), make_pool("w1", 64, "west"))
    runs = tuple(
        make_run(name, gpus, 2.0, 8.0, pools=(pool,), points=FULL_POWER)
        for name, gpus, pool in (("e", 64, "e1"), ("wide", 64, "both"), ("w", 32, "w1"))
    )
    week = tiny_week(blocks=blocks, pools=pools, runs=runs)
    still = np.zeros(8)
    limit = np.array([0.0, 700.0, 700.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = staggered(
        week,
        Schedule(
            tuple(RunSchedule(r.name, r.options[0].pool, limit) for r in runs),
            tuple(BlockSchedule(b, still, still, still) for b in ("east", "west")),
        ),
    )
    # east: 60.8 kW go first, 6.08 min; the wide gang then takes 30.4 kW in both; west's own waits for it and 3.04 min
    assert [run.late_s[1] for run in found.runs] == [0.0, 365.0, 548.0]
    # what the program counts: both windows
    assert longest_moves(week).runs[0].reload_s == 2 * 901.0


def test_the_program_counts_what_the_window_leaves():
    alone, company = longest_moves(hall(1)).runs[0], longest_moves(hall(2)).runs[0]
    assert (alone.reload_s, alone.checkpoint_s) == (0.0, 60.0)
    # 150 kW in the window, 30.4 its own: 11.96 min and a second for rounding; a stop may take the whole window
    assert company.reload_s == pytest.approx(11.96 * 60.0 + 1.0)
    assert company.checkpoint_s == 60.0 + 901.0


def published(week, schedule):
    return to_calendar(week, schedule, status="optimal", certified_gap=0.0)


def test_windows_show_the_instants_and_the_judge_makes_their_tokens():
    week = hall(work_h=3.0)
    calendar, runs = published(week, staggered(week, decided(week, *["00111100"] * 4)))
    found = evaluate(calendar, runs, week)
    assert kinds(found) == set()
    for run, wait_s in zip(runs, WAITS, strict=True):
        off, on, after = run.windows
        assert (off.end, on.start) == (on.start, at(2 + wait_s / 3600.0))
        assert (on.end, after.start) == (after.start, at(6 - wait_s / 3600.0))
        assert on.tokens == pytest.approx(32 * 1000.0 * (4 * 3600.0 - 2 * wait_s - 60.0))


def test_the_judge_names_gangs_that_start_at_once():
    week = hall(5, work_h=3.0)
    together = decided(week, "00111110", *["00111100"] * 4)
    # five start at 02:00, one step of 152 kW: above the 150 kW of the window
    assert "ramp" in kinds(evaluate(*published(week, together), week))
    week = hall(4, work_h=3.0)
    # 60.8 kW at once are within the window, but the third comes a minute later, before the 6.08 min that they take
    hurried = decided(week, *["00111100"] * 3, "0" * 8)
    late = np.zeros(8)
    late[2] = 60.0
    hurried = replace(hurried, runs=(*hurried.runs[:2], replace(hurried.runs[2], late_s=late), hurried.runs[3]))
    found = evaluate(*published(week, hurried), week)
    assert "catches up" in next(v.sentence for v in found.violations if v.kind == "ramp")


@pytest.mark.parametrize("count", [2, 4, 6])
def test_a_plan_keeps_its_promises_with_all_its_waiting(count):
    price = [0.20, 0.20, 0.05, 0.05, 0.05, 0.05, 0.20, 0.20]
    week = replace(hall(count, work_h=2.0), signals=tiny_week(price_per_kwh=price).signals)
    found = plan(week, PlanOptions(gap_target=0.001, time_limit_s=20.0))
    calendar, runs = published(week, found.schedule)
    seen = evaluate(calendar, runs, week)
    assert kinds(seen) == set()
    assert seen.deadlines_missed == 0


@pytest.mark.parametrize("seed", range(8))
def test_plans_of_any_week_keep_the_ramp_and_what_they_promise(seed):
    drawn = random_week(seed, n_runs=4, n_slots=12, n_pools=1 + seed % 2)
    # the largest gang's start takes ten of the fifteen minutes
    kw_per_min = max(run.gpus for run in drawn.runs) * 0.95 / 10.0
    blocks = tuple(
        replace(block, power=replace(block.power, ramp_kw_per_min=kw_per_min, ramp_fall_kw_per_min=1.5 * kw_per_min))
        for block in drawn.blocks
    )
    week = replace(drawn, blocks=blocks)
    found = plan(week, PlanOptions(gap_target=0.05, time_limit_s=20.0))
    calendar, runs = to_calendar(
        week, found.schedule, status=found.status, certified_gap=found.mip_gap, shortfalls=found.shortfalls
    )
    seen = evaluate(calendar, runs, week)
    assert [violation.sentence for violation in seen.violations] == []
    assert all(stage.met or stage.announced for run in seen.runs for stage in run.stages)
