"""A window in another pool, or with another count of GPUs, is for a gang that is started anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.governed import Training
from tests.run_calendars import run_calendar, second, window
from trainer_hooks.directive import directive
from trainer_hooks.launch.course import course


def in_pool(given, pool, gpus=8):
    return replace(given, pool=pool, gpus=gpus)


WINDOWS = (
    window(0, 100, "run", limit_w=300.0, checkpoint="after"),
    in_pool(window(100, 200, "run", limit_w=300.0, checkpoint="after"), "pool-a", 4),
    in_pool(window(200, 300, "run", limit_w=250.0), "pool-a", 4),
    in_pool(window(300, 400, "off"), None, 0),
    in_pool(window(400, 500, "run"), "pool-b"),
)
CALENDAR = run_calendar(*WINDOWS)


@pytest.mark.parametrize(
    ("began_s", "now_s", "state", "boundary_s", "until_s"),
    [
        (0, 50, "run", None, 90),
        (0, 95, "off", 100, 100),  # the checkpoint of the larger gang is begun in time, and its end follows at once
        (0, 105, "off", 100, 200),  # a step that ran across the boundary
        (0, 250, "off", 100, 300),
        (100, 105, "run", None, 190),  # the smaller gang saves nothing as it begins
        (100, 205, "run", 200, 290),  # its own late checkpoint, as ever
        (150, 450, "off", 400, 500),  # one that waited through a pause stands in the wrong pool
        (350, 450, "run", None, 500),  # one that was started in the pause is the next
        (-50, 105, "off", 100, 200),  # before the calendar began it was its first
    ],
)
def test_what_a_calendar_asks_of_a_gang(began_s, now_s, state, boundary_s, until_s):
    asked = directive(CALENDAR, second(now_s), 10.0, second(began_s))
    assert (asked.state, asked.until) == (state, second(until_s))
    assert asked.boundary == (None if boundary_s is None else second(boundary_s))


def test_windows_of_one_gang_ask_what_they_asked_before():
    one = run_calendar(
        window(0, 100, "run", checkpoint="after"),
        window(100, 200, "run"),
        window(200, 300, "hold"),
        window(300, 400, "run"),
    )
    for now_s in range(0, 400, 5):
        assert directive(one, second(now_s), 10.0, second(0)) == directive(one, second(now_s), 10.0)


def test_the_governor_saves_and_ends_the_gang_that_another_follows(govern, clock):
    training = Training(govern(*WINDOWS, save_lead_s=10.0), clock).run(300)
    assert training.saved == [(9, 90.0)]
    assert clock.now_s == 90.0
    clock.now_s = 100.0
    smaller = Training(govern(*WINDOWS, save_lead_s=10.0), clock).run(600)
    # its own checkpoint at 200 s is no end; before the pause it ends
    assert [at_s for _, at_s in smaller.saved] == [190.0, 290.0]
    assert clock.now_s == 290.0


def test_a_gang_that_cannot_save_waits_instead_of_training_on(govern, clock):
    training = Training(govern(*WINDOWS[:3], on_off="wait"), clock).run(320, save=False)
    assert all(end <= 110 or end >= 300 for end in training.step_ends_s)


def test_a_job_steered_from_outside_is_ended_for_the_next_gang():
    assert course(CALENDAR, second(95), 10.0, second(0)).save_before == second(100)
    assert course(CALENDAR, second(95), 10.0, second(0)).state == "run"
    assert course(CALENDAR, second(101), 10.0, second(0)).state == "off"
    assert course(CALENDAR, second(101), 10.0).state == "run"
