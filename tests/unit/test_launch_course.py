"""What a calendar asks of a job that is steered from outside."""

from __future__ import annotations

import pytest

from tests.run_calendars import run_calendar, second, window
from trainer_hooks.clock import Clock
from trainer_hooks.launch.course import course, next_run
from trainer_hooks.launch.session import Manner, Session

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


class Feed:
    def __init__(self, calendar):
        self.calendar = calendar

    def poll(self):
        found, self.calendar = self.calendar, None
        return found


def test_a_clock_that_is_set_ends_no_job_before_its_time(caplog):
    now = [0.0, 0.0]  # wall and monotonic, s
    clock = Clock(wall=lambda: second(now[0]), monotonic=lambda: now[1], sleep=lambda _: None)
    feed = Feed(run_calendar(window(0, 1800, "run", limit_w=300.0), window(1800, 3600, "off", checkpoint="before")))
    session = Session(["true"], {}, (), Manner(), feed=feed, run="r", gpus=(), telemetry=None, clock=clock)
    session._poll_feed()
    now[:] = [3610.0, 10.0]
    assert session._asked().state == "run"
    assert "the wall clock was set by +3600 s" in caplog.text
    now[:] = [5300.0, 1700.0]
    assert session._asked().state == "safe", "the new time has stood for long enough to be believed"
