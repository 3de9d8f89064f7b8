"""A gang on hold draws what a job that waits draws, not what an idle GPU does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate.trace import trace
from planner.respond.course import course_of, cut, gang_kw
from tests.weeks import POINTS, at, make_pool, make_run, tiny_week
from trainer_hooks.calendar import RunCalendar, Window

HELD_W = 190.0


def held_week(held_w: float | None):
    pool = make_pool(idle_w=150.0)
    return tiny_week(pools=(replace(pool, gpu=replace(pool.gpu, held_w_per_gpu=held_w)),), runs=(make_run(),))


def windows():
    """Two hours of training, one on hold, one of training, four off."""
    told = [("run", 0, 2), ("hold", 2, 3), ("run", 3, 4), ("off", 4, 8)]
    return tuple(
        Window(
            start=at(first),
            end=at(after),
            state=state,
            pool=None if state == "off" else "a1",
            block=None if state == "off" else "hall",
            gpus=0 if state == "off" else 256,
            gpu_power_limit_w=700.0 if state == "run" else None,
            checkpoint="none",
            tokens=0.0,
            energy_kwh=0.0,
            kgco2e=0.0,
            why="",
        )
        for state, first, after in told
    )


@pytest.mark.parametrize(("held_w", "drawn_w"), [(HELD_W, HELD_W), (None, 150.0)])
def test_the_judge_and_the_answer_to_an_event_agree_on_what_a_hold_draws(held_w, drawn_w):
    week = held_week(held_w)
    (run,) = week.runs
    seen = trace(week, run, windows())
    train_kw = 256 * POINTS[-1].it_w_per_gpu / 1000.0
    assert seen.gang_kw.tolist() == pytest.approx([train_kw, 256 * drawn_w / 1000.0, train_kw, 0.0])
    calendar = RunCalendar("id", at(-12), at(0), at(8), "tiny", "r1", windows())
    pieces = cut(week.grid, [calendar], [])
    answered = gang_kw(week, course_of(week, run, calendar, pieces))
    by_hour = np.interp(np.arange(8) + 0.5, np.cumsum(pieces.length_s) / 3600.0 - pieces.length_s / 7200.0, answered)
    assert by_hour[[0, 2, 3, 6]].tolist() == pytest.approx([train_kw, 256 * drawn_w / 1000.0, train_kw, 0.0])
