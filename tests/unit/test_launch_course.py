"""What a calendar asks of a job that is steered from outside."""

from __future__ import annotations

import pytest

from tests.run_calendars import run_calendar, second, window
from trainer_hooks.launch.course import course, next_run

CALENDAR = run_calendar(
    window(0, 100, "run", limit_w=300.0),
    window(100, 200, "hold"),
    window(200, 300, "run", limit_w=400.0, checkpoint="after"),
    window(300, 400, "run", limit_w=250.0),
    window(400, 500, "off"),
    window(500, 600, "run"),
)


@pytest.mark.parametrize(
    ("at_s", "state", "limit_w", "save_before_s", "until_s"),
    [
        (0, "run", 300.0, None, 100),  # nothing is to be saved before a hold
        (150, "hold", None, None, 200),
        (289, "run", 400.0, None, 290),  # asked again when the lead begins
        (290, "run", 400.0, 300, 300),
        (300, "run", 250.0, None, 390),
        (390, "run", 250.0, 400, 400),
        (400, "off", None, None, 500),
        (600, "safe", None, None, None),
    ],
)
def test_state_limit_and_save_ahead_of_time(at_s, state, limit_w, save_before_s, until_s):
    asked = course(CALENDAR, second(at_s), 10.0)
    assert (asked.state, asked.limit_w) == (state, limit_w)
    assert asked.save_before == (None if save_before_s is None else second(save_before_s))
    assert asked.until == (None if until_s is None else second(until_s))


@pytest.mark.parametrize(("at_s", "next_s"), [(50, 50), (150, 200), (450, 500), (600, None)])
def test_the_next_window_that_runs(at_s, next_s):
    assert next_run(CALENDAR, second(at_s)) == (None if next_s is None else second(next_s))
