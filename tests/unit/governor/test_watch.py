"""The thread beside the training: what it has found reaches the next step, whatever else it meets meanwhile."""

from __future__ import annotations

import logging
import threading

import pytest

from tests.agents import PlainGpu
from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.errors import CalendarError
from trainer_hooks.watch import LimitWatch

BROKEN = CalendarError("run.json", "it is cut short.", "Publish it again.")


class Feed:
    """Hands out what it is given, one thing a look; then nothing new."""

    def __init__(self, *finds):
        self.finds = list(finds)

    def poll(self):
        find = self.finds.pop(0) if self.finds else None
        if isinstance(find, Exception):
            raise find
        return find


@pytest.fixture
def calendar():
    return run_calendar(window(0, 3600, "run", limit_w=300.0))


def watch(*finds):
    return LimitWatch(Feed(*finds), ManualClock().clock, lambda _: None, lambda: None, 3600.0)


def looked(one, times):
    for _ in range(times):
        one.look()
    return one


@pytest.mark.parametrize("finds", [(BROKEN, "calendar"), ("calendar", None), ("calendar", BROKEN)])
def test_a_calendar_that_came_is_not_lost_by_a_look_that_failed_before_or_after_it(calendar, finds):
    one = looked(watch(*(calendar if find == "calendar" else find for find in finds)), 2)
    assert one.poll() is calendar


def test_a_failure_after_it_is_told_at_the_next_call_and_once(calendar):
    one = looked(watch(calendar, BROKEN), 2)
    assert one.poll() is calendar
    with pytest.raises(CalendarError, match="cut short"):
        one.poll()
    assert one.poll() is None


def test_what_comes_of_a_limit_lowered_between_two_steps_is_said(calendar, caplog):
    gpu = PlainGpu(refuses="denied")
    with (
        caplog.at_level(logging.WARNING),
        Governor(gpus=[gpu], feed=Feed(calendar), clock=ManualClock().clock, watch_s=3600.0),
    ):
        assert "300 W asked, denied; 650 W is in force." in caplog.text


def test_a_limit_that_the_thread_is_about_to_set_is_not_set_twice(calendar):
    """Nor does the second setting undo what someone else did after the first."""
    gpu, asked, go_on = PlainGpu(), threading.Event(), threading.Event()
    with Governor(gpus=[gpu], clock=ManualClock().clock) as governor:
        gpu.before_set = lambda: asked.set() or go_on.wait(5)
        lowering = threading.Thread(target=governor._lower, args=(300.0,))
        lowering.start()
        asked.wait(5)
        limiting = threading.Thread(target=governor._conduct.limit, args=(300.0,))
        limiting.start()
        go_on.set()
        lowering.join()
        limiting.join()
        assert gpu.sets == [300.0]


def test_a_limit_lowered_for_a_newer_calendar_is_not_lifted_by_a_step_that_has_asked_the_old_one(calendar):
    """Here the newer one comes while the device is being emptied for a pause that the old one asks for."""
    gpu, clock = PlainGpu(), ManualClock()
    held = run_calendar(window(0, 60, "hold"), window(60, 120, "run"))

    def drain():
        governor._watch.look()

    governor = Governor(held, gpus=[gpu], feed=Feed(), clock=clock.clock, watch_s=3600.0, drain=drain)
    with governor:
        governor._watch._feed.finds.append(calendar)
        governor.step(tokens=1)
        assert gpu.sets == [300.0]


@pytest.mark.parametrize("ends", ["exit", "close"])
def test_a_limit_just_lowered_is_given_back_all_the_same_when_the_training_ends(ends):
    gpu = PlainGpu()
    with Governor(gpus=[gpu], clock=ManualClock().clock) as governor:
        governor._lower(300.0)
        if ends == "exit":
            governor.request_stop()
            assert governor.step(tokens=1)
            assert gpu.limit_w == 650.0
    assert gpu.limit_w == 650.0
