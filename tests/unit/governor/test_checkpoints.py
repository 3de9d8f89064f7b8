"""When a Governor saves, and what it does where a checkpoint fails."""

from __future__ import annotations

import pytest

from tests.governed import Training, warnings_of
from tests.run_calendars import window


@pytest.mark.parametrize(("after", "before"), [("after", "before"), ("after", "none"), ("none", "before")])
def test_a_checkpoint_is_written_once_before_the_pause(govern, clock, after, before):
    governor = govern(
        window(0, 100, "run", checkpoint=after), window(100, 200, "hold", checkpoint=before), window(200, 300, "run")
    )
    training = Training(governor, clock).run(300)
    assert training.saved == [(10, 100.0)]


def test_hold_then_off_saves_before_giving_the_gpus_back(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 150, "hold"), window(150, 300, "off"))
    training = Training(governor, clock).run(300)
    assert training.saved == [(10, 150.0)]
    assert governor.should_exit


def test_the_second_checkpoint_is_begun_early_enough(govern, clock):
    governor = govern(
        window(0, 200, "run", checkpoint="after"),
        window(200, 300, "hold", checkpoint="before"),
        window(300, 500, "run", checkpoint="after"),
        window(500, 600, "hold", checkpoint="before"),
        window(600, 700, "run"),
    )
    training = Training(governor, clock)
    begins = []

    def slow_save():
        begins.append(clock.now_s)
        clock.now_s += 30.0
        training.saved.append((training.done, clock.now_s))

    training.save = slow_save
    training.run(700)
    # Nothing was known of the first; the second is finished when the pause begins.
    assert begins == [200.0, 470.0]
    assert training.saved[1][1] == 500.0
    report = governor.report()
    assert report.seconds == pytest.approx({"run": 470.0, "save": 60.0, "hold": 170.0})
    # Saving is work: only the holds are drawn at rest.
    assert report.energy.energy_j == pytest.approx(530.0 * 400.0 + 170.0 * 50.0)


def test_a_known_checkpoint_time_can_be_given(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 200, "off"), save_lead_s=25.0)
    training = Training(governor, clock).run(300)
    assert training.saved == [(8, 80.0)]
    assert governor.should_exit


def test_a_lead_never_eats_a_window(govern, clock):
    governor = govern(
        window(0, 100, "run"),
        window(100, 200, "off"),
        window(200, 260, "run"),
        window(260, 300, "off"),
        on_off="wait",
        save_lead_s=500.0,
    )
    training = Training(governor, clock).run(300)
    assert [end for end in training.step_ends_s if 200 < end <= 300] == [210.0, 220.0, 230.0]


def test_a_run_that_goes_on_elsewhere_saves_at_the_boundary(govern, clock):
    governor = govern(window(0, 100, "run", checkpoint="after"), window(100, 300, "run"))
    training = Training(governor, clock).run(300)
    assert training.saved == [(10, 100.0)]


def test_a_boundary_crossed_late_is_saved_although_the_next_one_is_still_ahead(govern, clock):
    governor = govern(
        window(0, 95, "run", checkpoint="after"), window(95, 200, "run", checkpoint="after"), window(200, 300, "off")
    )
    training = Training(governor, clock).run(300)
    assert training.saved == [(10, 100.0), (20, 200.0)]


def test_a_failed_checkpoint_is_retried_and_the_run_goes_on_unheld(govern, clock, caplog):
    governor = govern(window(0, 100, "run"), window(100, 400, "off", checkpoint="before"))
    training = Training(governor, clock, fail_saves=2).run(400)
    # Fails at 100 s, again 10 s later, and works 20 s after that: nothing trained is lost.
    assert training.saved == [(13, 130.0)]
    assert governor.should_exit
    assert sum("checkpoint failed" in text for text in warnings_of(caplog)) == 2


def test_a_checkpoint_that_keeps_failing_never_holds_the_run(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 400, "hold", checkpoint="before"), window(400, 500, "run"))
    training = Training(governor, clock, fail_saves=100).run(500)
    assert training.done == 50
    assert clock.slept_s == []
    assert 2 <= 100 - training.fail_saves <= 6


def test_without_a_save_the_run_waits_instead_of_losing_work(govern, clock, caplog):
    governor = govern(window(0, 100, "run"), window(100, 200, "off", checkpoint="before"), window(200, 300, "run"))
    training = Training(governor, clock).run(300, save=False)
    assert not governor.should_exit
    assert training.done == 20
    assert sum("no save" in text for text in warnings_of(caplog)) == 1
