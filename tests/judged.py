"""A small site with a plan that keeps every promise, and ways to publish and judge it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.calendar_id import content_id
from planner.evaluate import Evaluation, evaluate
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.week import Week
from tests.weeks import at, battery, make_block, make_pool, make_run, solar, tiny_week
from thermal.plant import dry_cooler
from trainer_hooks.calendar import Calendar, RunCalendar

N_SLOTS = 24


def site() -> Week:
    """Two halls, three pools, three runs, 24 hours.

    In hall-a the big run and the long run leave little room; hall-b's GPUs come on line at hour 6.
    """
    return tiny_week(
        n_slots=N_SLOTS,
        ghi_w_per_m2=[0.0] * 8 + [600.0] * 8 + [0.0] * 8,
        price_per_kwh=[0.06] * 12 + [0.12] * 12,
        blocks=(
            make_block(
                "hall-a",
                470.0,
                n_slots=N_SLOTS,
                solar=solar(100.0),
                battery=battery(200.0, 60.0),
                ramp_kw_per_min=17.0,
            ),
            make_block("hall-b", 500.0, n_slots=N_SLOTS, plant=dry_cooler(110.0)),
        ),
        pools=(
            make_pool("a1", 512, "hall-a"),
            make_pool("a2", 256, "hall-a"),
            make_pool("b1", 256, "hall-b", commissioning=((at(6), 256),)),
        ),
        runs=(
            make_run(
                "big",
                256,
                8.5,
                20.0,
                pools=("a1", "a2"),
                earliest_h=1.0,
                reload_s=600.0,
                checkpoint_s=300.0,
                min_run_h=2.0,
                min_pause_h=2.0,
                max_pauses=1,
                on_off_grid_h=4.0,
            ),
            make_run("late", 128, 3.0, 13.0, pools=("b1",), reload_s=600.0, checkpoint_s=300.0, on_off_grid_h=4.0),
            make_run("long", 128, 16.5, 24.0, running_in="a1", checkpoint_s=300.0, on_off_grid_h=4.0),
        ),
    )


def limits(**hours: tuple[int, int, float]) -> np.ndarray:
    """Limits per slot from (first hour, hour after the last, W)."""
    found = np.zeros(N_SLOTS)
    for first, after, watts in hours.values():
        found[first:after] = watts
    return found


def kept() -> Schedule:
    """A schedule for `site` that keeps every promise."""
    still = np.zeros(N_SLOTS)
    charge, discharge = still.copy(), still.copy()
    charge[0] = 40.0
    discharge[20] = 36.0
    return Schedule(
        runs=(
            RunSchedule("big", "a1", limits(a=(2, 6, 700.0), b=(8, 12, 500.0), c=(12, 14, 600.0)), why="cheap hours"),
            RunSchedule("late", "b1", limits(a=(7, 12, 350.0)), why="as soon as its GPUs are there"),
            RunSchedule("long", "a1", limits(a=(0, 24, 350.0)), why="needs all its time"),
        ),
        blocks=(
            BlockSchedule("hall-a", still + 50.0, charge, discharge),
            BlockSchedule("hall-b", still, still, still),
        ),
    )


def published(week: Week, schedule: Schedule) -> tuple[Calendar, list[RunCalendar]]:
    """The calendar of a schedule."""
    return to_calendar(week, schedule, status="optimal", certified_gap=0.005, options={"gap_target": 0.01})


def renamed(calendar: Calendar, runs: list[RunCalendar]) -> tuple[Calendar, list[RunCalendar]]:
    """The same content under the id that belongs to it."""
    name = content_id(calendar, runs)
    return replace(calendar, calendar_id=name), [replace(run, calendar_id=name) for run in runs]


def judged(week: Week, schedule: Schedule) -> Evaluation:
    """The verdict on a schedule."""
    return evaluate(*published(week, schedule), week)


def decide(schedule: Schedule, run: str, **changes) -> Schedule:
    """The schedule with one run's decisions changed."""
    return replace(schedule, runs=tuple(replace(r, **changes) if r.run == run else r for r in schedule.runs))


def power(schedule: Schedule, block: str, **changes) -> Schedule:
    """The schedule with one block's decisions changed."""
    return replace(schedule, blocks=tuple(replace(b, **changes) if b.block == block else b for b in schedule.blocks))


def kinds(found: Evaluation) -> set[str]:
    """Kinds of the broken promises."""
    return {violation.kind for violation in found.violations}
