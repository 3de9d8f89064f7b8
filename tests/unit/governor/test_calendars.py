"""The calendar that a Governor follows: missing, bad, and newer ones."""

from __future__ import annotations

from dataclasses import replace

from tests.governed import STEP_S, Training, warnings_of
from tests.run_calendars import two_hours, window
from trainer_hooks import Governor
from trainer_hooks.calendar import write_calendar
from trainer_hooks.feed import CalendarFeed


def test_a_newer_calendar_is_picked_up_also_in_a_hold(clock, twin, tmp_path):
    header, (run,) = two_hours("a", calendar_id="first")
    holding = (window(0, 100, "run"), window(100, 7200, "hold"))
    write_calendar(tmp_path, header, [replace(run, windows=holding)])
    with Governor(feed=CalendarFeed(tmp_path, "a"), gpus=[twin], clock=clock.clock) as governor:
        training = Training(governor, clock)
        real_sleep = clock.sleep

        def sleep(duration_s):
            real_sleep(duration_s)
            if clock.now_s == 150.0:
                newer, (again,) = two_hours("a", calendar_id="second")
                write_calendar(tmp_path, newer, [replace(again, windows=(window(0, 7200, "run"),))])

        governor._clock = replace(clock.clock, sleep=sleep)
        training.run(200)
        assert governor.calendar.calendar_id == "second"
        # Looked for every 10 s.
        assert 150.0 < training.step_ends_s[10] <= 150.0 + 10.0 + STEP_S


def test_a_bad_newer_calendar_leaves_the_one_in_force(clock, twin, tmp_path, caplog):
    header, runs = two_hours("a")
    home = write_calendar(tmp_path, header, runs)
    with Governor(feed=CalendarFeed(tmp_path, "a"), gpus=[twin], clock=clock.clock) as governor:
        training = Training(governor, clock).run(50)
        (tmp_path / "current").write_text("../../etc\n")
        training.run(500)
        assert governor.calendar.calendar_id == home.name
        assert governor.state == "cap"
    assert sum("the one in force is kept" in text for text in warnings_of(caplog)) == 1


def test_a_missing_calendar_runs_free_until_it_is_there(clock, twin, tmp_path, caplog):
    with Governor(feed=CalendarFeed(tmp_path, "a"), gpus=[twin], clock=clock.clock) as governor:
        training = Training(governor, clock).run(100)
        assert governor.state == "safe"
        header, runs = two_hours("a")
        write_calendar(tmp_path, header, runs)
        training.run(200)
        assert governor.state == "cap"
        assert twin.power_limit_w() == 400.0
    assert sum("training runs free" in text for text in warnings_of(caplog)) == 1


def test_a_newer_calendar_is_looked_for_now_and_then(clock, twin, tmp_path):
    header, runs = two_hours("a")
    write_calendar(tmp_path, header, runs)
    feed = CalendarFeed(tmp_path, "a")
    looked = []
    poll = feed.poll
    feed.poll = lambda: looked.append(clock.now_s) or poll()
    with Governor(feed=feed, gpus=[twin], clock=clock.clock, poll_s=100.0) as governor:
        Training(governor, clock).run(500)
    assert looked == [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]
