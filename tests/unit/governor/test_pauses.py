"""Holds under watchdogs, and holds that are cheaper to end than to wait out."""

from __future__ import annotations

import pytest

from tests.governed import STEP_S, TOKENS, Training, warnings_of
from tests.run_calendars import window
from trainer_hooks.breakeven import PauseCosts
from trainer_hooks.watchdogs import Watchdog

CHEAP = PauseCosts(idle_w=50.0, save_s=5.0, save_j=500.0, reload_s=20.0, reload_j=1000.0)


def test_a_hold_ends_for_one_step_before_the_watchdog_strikes(govern, clock):
    governor = govern(
        window(0, 100, "run"),
        window(100, 400, "hold"),
        window(400, 500, "run"),
        timers=[Watchdog("a watchdog", 125.0, "presence"), Watchdog("a kill", 30.0, "grace")],
    )
    training = Training(governor, clock).run(500)
    ends = [end for end in training.step_ends_s if 100 < end <= 420]
    # Held for 100 s of 125 s at a stretch, then a step of 10 s.
    assert ends == [210.0, 320.0, 410.0, 420.0]


@pytest.mark.parametrize(("drains", "steps"), [(True, 0), (False, 2)])
def test_a_drained_job_holds_longer_than_timers_of_collectives(govern, clock, drains, steps):
    drained = []
    governor = govern(
        window(0, 100, "run"),
        window(100, 400, "hold"),
        window(400, 500, "run"),
        timers=[Watchdog("a collective", 125.0, "collective")],
        drain=(lambda: drained.append(clock.now_s)) if drains else None,
    )
    training = Training(governor, clock).run(500)
    assert len([end for end in training.step_ends_s if 100 < end < 400]) == steps
    assert drained == ([100.0] if drains else [])


def test_a_drain_that_fails_counts_as_none(govern, clock):
    def drain():
        raise RuntimeError("the device is gone")

    timers = [Watchdog("a collective", 125.0, "collective")]
    governor = govern(window(0, 100, "run"), window(100, 400, "hold"), timers=timers, drain=drain)
    training = Training(governor, clock).run(330)
    assert [end for end in training.step_ends_s if end > 100] == [210.0, 320.0]


@pytest.mark.parametrize(("on_hold", "exits"), [("auto", True), ("hold", False)])
def test_a_long_hold_is_ended_where_that_is_cheaper_and_wanted(govern, clock, on_hold, exits):
    windows = window(0, 100, "run"), window(100, 400, "hold"), window(400, 1000, "hold"), window(1000, 2000, "run")
    governor = govern(*windows, on_hold=on_hold, costs=CHEAP)
    training = Training(governor, clock).run(1100)
    assert governor.should_exit == exits
    assert training.saved == ([(10, 100.0)] if exits else [])


def test_a_short_hold_is_waited_out_and_nothing_is_saved(govern, clock):
    # 25 s at 50 W are less than what saving and loading cost.
    governor = govern(
        window(0, 100, "run"), window(100, 125, "hold"), window(125, 200, "run"), on_hold="auto", costs=CHEAP
    )
    training = Training(governor, clock).run(200)
    assert (governor.should_exit, training.saved) == (False, [])


def test_what_a_hold_is_seen_to_draw_decides_about_the_rest_of_it(govern, clock):
    # Assumed is next to nothing; the twin draws 50 W at rest, so that ending is soon seen to be cheaper.
    costs = PauseCosts(idle_w=0.001, save_s=5.0, save_j=500.0, reload_s=20.0, reload_j=1000.0)
    governor = govern(window(0, 100, "run"), window(100, 1000, "hold"), on_hold="auto", costs=costs)
    training = Training(governor, clock).run(1000)
    assert governor.should_exit
    assert training.saved == [(10, 101.0)]


@pytest.mark.parametrize(("save_s", "told"), [(29.0, 0), (31.0, 1)])
def test_a_checkpoint_that_takes_longer_than_the_time_before_a_kill_is_told(govern, clock, caplog, save_s, told):
    timers = [Watchdog("Slurm", 30.0, "grace")]
    governor = govern(window(0, 100, "run"), window(100, 200, "off"), timers=timers)
    training = Training(governor, clock)

    def slow_save():
        clock.now_s += save_s

    training.save = slow_save
    training.run(200)
    assert sum("killed after 30 s" in text for text in warnings_of(caplog)) == told


def test_states_on_the_way_into_a_hold_and_out_of_it(govern, clock):
    governor = govern(window(0, 20, "run", limit_w=300.0), window(20, 100, "hold"), window(100, 200, "run"))
    states = []
    real_enter = governor._enter

    def enter(state):
        states.append(state)
        real_enter(state)

    governor._enter = enter
    while clock.now_s < 130.0:
        clock.now_s += STEP_S
        governor.step(tokens=TOKENS)
    assert list(dict.fromkeys(states)) == ["cap", "hold", "resume", "run"]
