"""A Governor is asked to stop, by a call or by a signal."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import pytest

from tests.governed import STEP_S, TOKENS, Training
from tests.run_calendars import window


def test_after_a_stop_the_loop_is_left_alone(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 300, "off"))
    governor.request_stop()
    training = Training(governor, clock).run(1000)
    for _ in range(30):
        clock.now_s += STEP_S
        assert governor.step(tokens=TOKENS, save=training.save)
    assert training.saved == [(1, 10.0)]
    assert clock.slept_s == []


@pytest.mark.parametrize("during_hold", [False, True])
def test_a_stop_saves_and_ends_the_loop(govern, clock, during_hold):
    governor = govern(window(0, 100, "run"), window(100, 5000, "hold"), window(5000, 6000, "run"))
    training = Training(governor, clock)
    if during_hold:
        real_sleep = clock.sleep

        def sleep(duration_s):
            real_sleep(duration_s)
            if clock.now_s >= 150:
                governor.request_stop()

        governor._clock = replace(clock.clock, sleep=sleep)
        training.run(6000)
        assert training.saved == [(10, 150.0)]
    else:
        training.run(40)
        governor.request_stop()
        training.run(6000)
        assert training.saved == [(5, 50.0)]
    assert governor.should_exit


def test_a_stop_whose_checkpoint_fails_is_tried_at_every_step(govern, clock):
    governor = govern(window(0, 1000, "run"))
    governor.request_stop()
    training = Training(governor, clock, fail_saves=3).run(1000)
    assert training.saved == [(4, 40.0)]


def test_signals_set_a_flag_and_call_the_handler_before(govern, clock):
    called = []
    before = {number: signal.signal(number, lambda *_: called.append(1)) for number in (signal.SIGUSR1, signal.SIGTERM)}
    try:
        governor = govern(window(0, 1000, "run"))
        assert governor.install_signal_handlers()
        training = Training(governor, clock).run(20)
        os.kill(os.getpid(), signal.SIGUSR1)
        training.run(1000)
        assert called == [1]
        assert training.saved == [(3, 30.0)]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_signals_are_taken_in_the_main_thread_only(govern):
    governor = govern(window(0, 1000, "run"))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(governor.install_signal_handlers()))
    thread.start()
    thread.join()
    assert answers == [False]
