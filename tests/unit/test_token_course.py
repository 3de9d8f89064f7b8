"""Tokens of a run in time: none while it reloads or saves, whatever the instant within a slot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.optimize.course import course
from tests.planner_reports import SURE, planned
from tests.weeks import FULL_POWER, at, make_run, tiny_week


def test_a_course_makes_nothing_while_it_reloads_and_saves():
    # on in slots 1 to 3 of an hour; reloads for 90 min, saves for 15 min
    found = course(np.array([0.0, 2.0, 2.0, 1.0, 0.0]), [(1, 4, 5400.0, 900.0)], 3600.0)
    assert found.tokens.tolist() == [0.0, 0.0, 3600.0, 6300.0, 6300.0]
    for hours, tokens in ((0.5, 0.0), (2.5, 0.0), (2.75, 1800.0), (3.5, 5400.0), (3.75, 6300.0), (4.5, 6300.0)):
        assert found.tokens_by(3600.0 * hours) == tokens


def test_a_spell_that_is_all_reload_and_save_makes_nothing():
    found = course(np.array([1.0, 1.0]), [(0, 2, 5400.0, 5400.0)], 3600.0)
    assert found.tokens.tolist() == [0.0, 0.0]
    assert found.tokens_by(5400.0) == 0.0


@pytest.mark.parametrize("method", ["gangs", "scale"])
def test_a_deadline_within_the_slot_of_a_start_is_missed_by_what_the_reload_takes(method):
    run = make_run(work_h=1.0, deadline_h=5.0, earliest_h=2.0, reload_s=900.0, points=FULL_POWER)
    (whole,) = run.stages
    early = replace(whole, name="early", tokens=0.3 * whole.tokens, deadline=at(2.5))
    run = replace(run, stages=(early, replace(whole, tokens=0.7 * whole.tokens)))
    found, seen = planned(tiny_week(runs=(run,)), replace(SURE, method=method))
    assert seen.violations == ()
    # a quarter of an hour of training by then, of three tenths that are due
    (short,) = found.shortfalls
    assert (short.run, short.stage) == (run.name, "early")
    assert short.hours_short == pytest.approx(0.05, abs=1e-4)
