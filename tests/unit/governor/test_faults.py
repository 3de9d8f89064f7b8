"""Faults inside a Governor and wrong arguments never reach training, unless it is strict."""

from __future__ import annotations

import pytest

from tests.governed import Training, warnings_of
from tests.run_calendars import run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.calendar import CalendarError
from trainer_hooks.feed import CalendarFeed


def test_a_fault_inside_never_reaches_training_and_is_said_once(govern, clock, caplog):
    governor = govern(window(0, 1000, "run"))
    governor._journal.sample = lambda: 1 / 0
    training = Training(governor, clock).run(500)
    assert training.done == 50
    assert sum("ZeroDivisionError" in text for text in warnings_of(caplog)) == 1


def test_a_fault_that_stays_is_not_met_in_every_step(govern, clock):
    governor = govern(window(0, 1000, "run"), poll_s=100.0)
    met = []

    def broken():
        met.append(clock.now_s)
        raise RuntimeError

    governor._journal.sample = broken
    Training(governor, clock).run(500)
    assert met == [10.0, 110.0, 210.0, 310.0, 410.0]
    del governor._journal.sample


def test_wrong_tokens_never_reach_training(govern, clock):
    governor = govern(window(0, 1000, "run"))
    for tokens in ("many", None, -5, float("nan"), 7):
        clock.now_s += 100.0
        governor.step(tokens=tokens)
    governor.rollback(10**9)
    governor.resume_at(3)
    assert governor.report().tokens == 7


def test_strict_raises(clock, tmp_path):
    def broken():
        raise OSError("disk full")

    calendar = run_calendar(window(0, 100, "run"), window(100, 200, "off"))
    with Governor(calendar, clock=clock.clock, strict=True) as governor:
        with pytest.raises(ValueError, match="invalid literal"):
            governor.step(tokens="many")
        clock.now_s = 110.0
        with pytest.raises(OSError, match="disk full"):
            governor.step(save=broken)
    with pytest.raises(CalendarError):
        Governor(feed=CalendarFeed(tmp_path, "a"), clock=clock.clock, strict=True)
