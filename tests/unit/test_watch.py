"""A lower limit reaches the boards within two seconds of its publication, however long a step takes."""

from __future__ import annotations

import time

import pytest

from tests.governed import warnings_of
from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.agent_client import _LONGEST_BEAT_S
from trainer_hooks.errors import CalendarError
from trainer_hooks.governor import WATCH_S
from trainer_hooks.simulated import SimulatedGpu


class Feed:
    """Hands out what was put into it."""

    def __init__(self, *calendars):
        self.calendars = list(calendars)

    def poll(self):
        found = self.calendars.pop(0) if self.calendars else None
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def watched():
    made = []

    def make(*calendars, watch_s=3600.0):
        clock, feed = ManualClock(), Feed(*calendars)
        twin = SimulatedGpu(monotonic=lambda: clock.now_s)
        made.append(Governor(feed=feed, gpus=[twin], clock=clock.clock, watch_s=watch_s))
        return made[-1], feed, twin, clock

    yield make
    for governor in made:
        governor.close()


def calendar(limit_w, calendar_id="c0ffee"):
    return run_calendar(window(0, 1000, "run", limit_w=limit_w), calendar_id=calendar_id)


def test_a_lower_limit_is_set_beside_the_training_and_a_higher_one_at_the_next_step(watched):
    governor, feed, twin, clock = watched(calendar(300.0))
    assert twin.power_limit_w() == 300.0
    feed.calendars.append(calendar(200.0, "emergency"))
    governor._watch.look()
    assert twin.power_limit_w() == 200.0
    feed.calendars.append(calendar(350.0, "relief"))
    governor._watch.look()
    assert twin.power_limit_w() == 200.0
    clock.now_s += 0.1
    governor.step()
    assert twin.power_limit_w() == 350.0
    assert governor.calendar.calendar_id == "relief"


def test_the_present_window_counts_not_the_one_at_the_last_step(watched):
    governor, _, twin, clock = watched(
        run_calendar(window(0, 100, "run", limit_w=300.0), window(100, 200, "run", limit_w=250.0))
    )
    clock.now_s = 150.0
    governor._watch.look()
    assert twin.power_limit_w() == 250.0


def test_after_the_end_nothing_is_lowered_any_more(watched):
    governor, feed, twin, _ = watched(calendar(300.0))
    governor.close()
    feed.calendars.append(calendar(200.0))
    governor._watch.look()
    assert twin.power_limit_w() == 400.0


def test_a_feed_that_fails_is_told_at_the_step_and_the_calendar_kept(watched, caplog):
    governor, feed, twin, clock = watched(calendar(300.0))
    feed.calendars.append(CalendarError("the calendar", "it is gone.", "Bring it back."))
    governor._watch.look()
    clock.now_s += 20.0
    governor.step()
    assert twin.power_limit_w() == 300.0
    assert sum("the one in force is kept" in text for text in warnings_of(caplog)) == 1


def test_the_thread_looks_often_enough_for_two_seconds(watched):
    assert WATCH_S + _LONGEST_BEAT_S <= 1.5
    _, feed, twin, _ = watched(calendar(300.0), watch_s=0.02)
    feed.calendars.append(calendar(200.0))
    deadline_s = time.monotonic() + 5.0
    while twin.power_limit_w() != 200.0 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    assert twin.power_limit_w() == 200.0


def test_a_look_that_fails_does_not_end_the_watch(watched):
    _, feed, twin, _ = watched(calendar(300.0), watch_s=0.01)
    feed.calendars += [RuntimeError("a fault of the feed"), calendar(200.0, "emergency")]
    end_s = time.monotonic() + 5.0
    while twin.power_limit_w() != 200.0 and time.monotonic() < end_s:
        time.sleep(0.01)
    assert twin.power_limit_w() == 200.0
