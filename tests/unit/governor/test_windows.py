"""A Governor follows its windows: limits, holds, and the end of the loop in an off window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.governed import STEP_S, TOKENS, Training, warnings_of
from tests.run_calendars import window


def test_limits_follow_the_windows_and_the_prior_limit_comes_back(govern, twin, clock):
    twin.set_power_limit_w(390.0)
    governor = govern(
        window(0, 100, "run", limit_w=300.0), window(100, 200, "run", limit_w=250.0), window(200, 300, "run")
    )
    seen = []
    while clock.now_s < 350:
        clock.now_s += STEP_S
        governor.step(tokens=TOKENS)
        seen.append(twin.power_limit_w())
    assert seen == [300.0] * 9 + [250.0] * 10 + [390.0] * 16
    assert governor.state == "safe"


def test_a_step_across_the_boundary_is_not_as_planned(govern, clock):
    governor = govern(window(0, 95, "run"), window(95, 200, "hold"), window(200, 300, "run"))
    Training(governor, clock).run(300)
    # The step from 90 s to 100 s reached 5 s into the hold.
    assert governor.report().adherence == pytest.approx(295.0 / 300.0)


def test_the_first_step_already_has_its_limit(govern, twin):
    govern(window(0, 100, "run", limit_w=300.0))
    assert twin.power_limit_w() == 300.0


def test_hold_waits_at_the_step_boundary_and_goes_on(govern, clock, twin):
    governor = govern(window(0, 100, "run"), window(100, 500, "hold"), window(500, 1000, "run"))
    training = Training(governor, clock).run(600)
    ends = training.step_ends_s
    assert ends[:11] == [10.0 * (i + 1) for i in range(10)] + [510.0]
    assert training.saved == []
    assert sum(clock.slept_s) == pytest.approx(400.0)
    assert max(clock.slept_s) <= 1.0
    report = governor.report()
    assert report.seconds == pytest.approx({"run": 200.0, "hold": 400.0})
    # The twin draws 50 W at rest and 400 W at work.
    assert report.energy.energy_j == pytest.approx(200.0 * 400.0 + 400.0 * 50.0)


def test_a_hold_has_its_own_limit(govern, clock, twin):
    governor = govern(
        window(0, 50, "run", limit_w=300.0),
        window(50, 100, "hold", limit_w=200.0),
        window(100, 150, "hold"),
        window(150, 200, "run"),
    )
    seen = {}
    clock_sleep = clock.sleep

    def sleep(duration_s):
        seen[clock.now_s] = twin.power_limit_w()
        clock_sleep(duration_s)

    governor._clock = replace(clock.clock, sleep=sleep)
    Training(governor, clock).run(200)
    assert {seen[float(at)] for at in range(50, 100)} == {200.0}
    assert {seen[float(at)] for at in range(100, 150)} == {400.0}


def test_off_saves_and_ends_the_loop(govern, clock, twin):
    governor = govern(
        window(0, 100, "run", limit_w=300.0, checkpoint="after"),
        window(100, 200, "off", checkpoint="before"),
        window(200, 300, "run"),
    )
    training = Training(governor, clock).run(300)
    assert governor.should_exit
    assert governor.state == "exit"
    assert training.saved == [(10, 100.0)]
    assert clock.now_s == 100.0
    assert twin.power_limit_w() == 400.0


def test_a_loop_that_does_not_heed_should_exit_waits_instead(govern, clock, caplog):
    """The five lines of the documentation have no `break`; they too must not train through an off window."""
    governor = govern(window(0, 100, "run"), window(100, 300, "off"), window(300, 400, "run"), window(400, 500, "off"))
    saved = []
    ends = []
    for step in range(21):
        clock.now_s += STEP_S
        ends.append(clock.now_s)
        governor.step(tokens=TOKENS, save=lambda: saved.append(clock.now_s))
        assert governor.should_exit == (step == 9)
    # One step is trained before the loop is met again; then it waits, also through the second off window.
    assert ends == [10.0 * (i + 1) for i in range(11)] + [310.0 + 10.0 * i for i in range(10)]
    assert saved == [100.0, 110.0, 400.0]
    assert clock.now_s == 500.0
    assert sum("did not end" in text for text in warnings_of(caplog)) == 1


def test_off_can_be_waited_out(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 200, "off"), window(200, 300, "run"), on_off="wait")
    training = Training(governor, clock).run(300)
    assert not governor.should_exit
    assert training.saved == [(10, 100.0)]
    assert training.done == 20
    report = governor.report()
    assert report.seconds["wait"] == pytest.approx(100.0)
    assert report.adherence == pytest.approx(1.0)


def test_before_and_after_the_calendar_training_runs_free_and_says_so_once(govern, clock, twin, caplog):
    governor = govern(window(100, 200, "run", limit_w=300.0))
    seen = []
    while clock.now_s < 300:
        clock.now_s += STEP_S
        governor.step()
        seen.append((governor.state, twin.power_limit_w()))
    assert seen[0] == ("safe", 400.0)
    assert seen[9] == ("cap", 300.0)
    assert seen[-1] == ("safe", 400.0)
    assert sum("not valid yet, it begins at" in text for text in warnings_of(caplog)) == 1
    assert sum("has ended" in text for text in warnings_of(caplog)) == 1


def test_several_ranks_follow_limits_only(govern, clock, twin, caplog):
    governor = govern(
        window(0, 100, "run", limit_w=300.0, checkpoint="after"),
        window(100, 200, "off", checkpoint="before"),
        window(200, 300, "run", limit_w=250.0),
        may_pause=False,
    )
    training = Training(governor, clock).run(300)
    assert training.done == 30
    assert training.saved == []
    assert sum("several ranks" in text for text in warnings_of(caplog)) == 1
    assert not governor.install_signal_handlers()


def test_a_forked_child_closes_nothing(govern, twin, monkeypatch):
    governor = govern(window(0, 1000, "run", limit_w=300.0))
    with monkeypatch.context() as child:
        child.setattr("trainer_hooks.governor.os.getpid", lambda: -1)
        governor.close()
    assert twin.power_limit_w() == 300.0


def test_closing_twice_and_stepping_after_it(govern, clock, twin):
    governor = govern(window(0, 1000, "run", limit_w=300.0))
    Training(governor, clock).run(100)
    before = str(governor.report())
    governor.close()
    governor.close()
    clock.now_s += 500.0
    governor.step(tokens=TOKENS)
    assert twin.power_limit_w() == 400.0
    assert str(governor.report()) == before
