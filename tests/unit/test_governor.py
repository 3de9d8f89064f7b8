"""The Governor on a clock that the test moves: every line of its state machine."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import threading
from dataclasses import replace

import pytest

from tests.run_calendars import ManualClock, run_calendar, second, two_hours, window
from trainer_hooks import Governor
from trainer_hooks.calendar import CalendarError, write_calendar
from trainer_hooks.clock import accelerated_clock
from trainer_hooks.errors import HookError
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter, read_records

STEP_S = 10.0
TOKENS = 1000


class Training:
    """A loop of ten-second steps that keeps what happened and when."""

    def __init__(self, governor, clock, fail_saves=0):
        self.governor = governor
        self.clock = clock
        self.fail_saves = fail_saves
        self.done = 0
        self.saved = []
        self.step_ends_s = []

    def save(self):
        if self.fail_saves:
            self.fail_saves -= 1
            raise OSError("disk full")
        self.saved.append((self.done, self.clock.now_s))

    def run(self, until_s, save=True):
        while self.clock.now_s < until_s:
            self.clock.now_s += STEP_S
            self.done += 1
            self.step_ends_s.append(self.clock.now_s)
            if self.governor.step(tokens=TOKENS, save=self.save if save else None):
                break
        return self


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def twin(clock):
    return SimulatedGpu(monotonic=lambda: clock.now_s)


@pytest.fixture
def govern(clock, twin):
    made = []

    def make(*windows, **settings):
        calendar = run_calendar(*windows) if windows else None
        made.append(Governor(calendar, gpus=[twin], clock=clock.clock, **settings))
        return made[-1]

    yield make
    for governor in made:
        governor.close()


def _warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


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


@pytest.mark.parametrize(("after", "before"), [("after", "before"), ("after", "none"), ("none", "before")])
def test_a_checkpoint_is_written_once_before_the_pause(govern, clock, after, before):
    governor = govern(
        window(0, 100, "run", checkpoint=after), window(100, 200, "hold", checkpoint=before), window(200, 300, "run")
    )
    training = Training(governor, clock).run(300)
    assert training.saved == [(10, 100.0)]


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
    assert sum("did not end" in text for text in _warnings(caplog)) == 1


def test_after_a_stop_the_loop_is_left_alone(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 300, "off"))
    governor.request_stop()
    training = Training(governor, clock).run(1000)
    for _ in range(30):
        clock.now_s += STEP_S
        assert governor.step(tokens=TOKENS, save=training.save)
    assert training.saved == [(1, 10.0)]
    assert clock.slept_s == []


def test_off_can_be_waited_out(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 200, "off"), window(200, 300, "run"), on_off="wait")
    training = Training(governor, clock).run(300)
    assert not governor.should_exit
    assert training.saved == [(10, 100.0)]
    assert training.done == 20
    report = governor.report()
    assert report.seconds["wait"] == pytest.approx(100.0)
    assert report.adherence == pytest.approx(1.0)


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
    assert sum("checkpoint failed" in text for text in _warnings(caplog)) == 2


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
    assert sum("no save" in text for text in _warnings(caplog)) == 1


def test_before_and_after_the_calendar_training_runs_free_and_says_so_once(govern, clock, twin, caplog):
    governor = govern(window(100, 200, "run", limit_w=300.0))
    seen = []
    while clock.now_s < 300:
        clock.now_s += STEP_S
        governor.step()
        seen.append((governor.state, twin.power_limit_w()))
    assert seen[0] == ("safe", 400.0)
    assert seen[9] == ("run", 300.0)
    assert seen[-1] == ("safe", 400.0)
    assert sum("not valid yet" in text for text in _warnings(caplog)) == 1
    assert sum("has ended" in text for text in _warnings(caplog)) == 1


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
        assert governor.state == "run"
    assert sum("the one in force is kept" in text for text in _warnings(caplog)) == 1


def test_a_missing_calendar_runs_free_until_it_is_there(clock, twin, tmp_path, caplog):
    with Governor(feed=CalendarFeed(tmp_path, "a"), gpus=[twin], clock=clock.clock) as governor:
        training = Training(governor, clock).run(100)
        assert governor.state == "safe"
        header, runs = two_hours("a")
        write_calendar(tmp_path, header, runs)
        training.run(200)
        assert governor.state == "run"
        assert twin.power_limit_w() == 400.0
    assert sum("training runs free" in text for text in _warnings(caplog)) == 1


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
    assert sum("several ranks" in text for text in _warnings(caplog)) == 1
    assert not governor.install_signal_handlers()


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


def test_telemetry_tells_the_whole_story(clock, twin, tmp_path):
    calendar = run_calendar(
        window(0, 100, "run", limit_w=300.0, tokens=10_000),
        window(100, 200, "hold", checkpoint="before"),
        window(200, 400, "run", tokens=20_000),
    )
    writer = TelemetryWriter(tmp_path, "llm-8b", "w")
    with Governor(calendar, gpus=[twin], clock=clock.clock, telemetry=writer, record_s=50.0) as governor:
        governor.resume_at(500_000)
        training = Training(governor, clock).run(320)
        governor.rollback(515_000)
        training.run(400)
    records = list(read_records(tmp_path))
    assert [record.sequence for record in records] == list(range(len(records)))
    assert records[0].t_start == second(0)
    assert records[-1].t_end == second(400)
    for one, other in itertools.pairwise(records):
        assert one.t_end == other.t_start
    assert max((record.t_end - record.t_start).total_seconds() for record in records) <= 60.0
    assert sum(record.tokens for record in records) == 30 * TOKENS
    assert sum(record.useful_tokens for record in records) == 30 * TOKENS - 7 * TOKENS
    assert records[-1].position_tokens == 500_000 + 23 * TOKENS
    assert [record.state for record in records[:4]] == ["run", "run", "hold", "hold"]
    assert {record.energy_source for record in records} == {"simulated"}
    assert {record.gpu_power_limit_w for record in records if record.state == "run"} == {300.0, None}
    report = governor.report()
    assert sum(record.energy_j for record in records) == pytest.approx(report.energy.energy_j)
    assert report.useful_tokens == 23 * TOKENS
    assert report.planned_tokens == pytest.approx(30_000)
    assert report.tokens_per_joule == pytest.approx(23_000 / report.energy.energy_j)


def test_a_full_disk_for_telemetry_stops_nothing(clock, twin, tmp_path, caplog):
    (tmp_path / "t.jsonl").mkdir()
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")
    with Governor(
        run_calendar(window(0, 300, "run")), gpus=[twin], clock=clock.clock, telemetry=writer, record_s=20.0
    ) as governor:
        training = Training(governor, clock).run(300)
    assert training.done == 30
    assert sum("telemetry cannot be written" in text for text in _warnings(caplog)) == 1


def test_a_fault_inside_never_reaches_training_and_is_said_once(govern, clock, caplog):
    governor = govern(window(0, 1000, "run"))
    governor._journal.sample = lambda: 1 / 0
    training = Training(governor, clock).run(500)
    assert training.done == 50
    assert sum("ZeroDivisionError" in text for text in _warnings(caplog)) == 1


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


def test_a_forked_child_closes_nothing(govern, twin, monkeypatch):
    governor = govern(window(0, 1000, "run", limit_w=300.0))
    with monkeypatch.context() as child:
        child.setattr("trainer_hooks.governor.os.getpid", lambda: -1)
        governor.close()
    assert twin.power_limit_w() == 300.0


def test_a_wall_clock_set_back_gives_no_negative_time(twin, tmp_path):
    wall_s, monotonic_s = [100.0], [0.0]
    clock = ManualClock().clock
    clock = replace(clock, wall=lambda: second(wall_s[0]), monotonic=lambda: monotonic_s[0])
    writer = TelemetryWriter(tmp_path, "a", "w")
    with Governor(run_calendar(window(0, 1000, "run")), gpus=[twin], clock=clock, telemetry=writer) as governor:
        for wall in (130.0, 40.0, 110.0):
            wall_s[0] = wall
            monotonic_s[0] += 70.0
            governor.step(tokens=TOKENS)
            governor.report()
    records = list(read_records(tmp_path))
    assert [(record.t_end - record.t_start).total_seconds() for record in records] == [30.0, 0.0, 70.0]
    assert sum(record.tokens for record in records) == 3 * TOKENS
    assert [record.adherence for record in records] == [1.0, None, 1.0]


@pytest.mark.parametrize("off_s", [-86_400.0, 86_400.0, -400 * 365.25 * 86_400, 7_000 * 365.25 * 86_400])
def test_a_wall_clock_that_was_wrong_for_a_while_is_followed_again_within_a_record(twin, off_s):
    wrong_s, monotonic_s = [0.0], [0.0]
    clock = ManualClock().clock
    clock = replace(clock, wall=lambda: second(monotonic_s[0] + wrong_s[0]), monotonic=lambda: monotonic_s[0])
    windows = window(0, 1000, "run", limit_w=300.0), window(1000, 2000, "run", limit_w=250.0)
    governor = Governor(run_calendar(*windows), gpus=[twin], clock=clock)
    seen_w = {}
    for now in range(10, 1200, 10):
        monotonic_s[0] = float(now)
        wrong_s[0] = off_s if 100 <= now < 200 else 0.0
        governor.step(tokens=TOKENS)
        seen_w[now] = twin.power_limit_w()
    governor.close()
    assert [seen_w[now] for now in (90, 190, 260, 1000, 1190)] == [300.0, 400.0, 300.0, 250.0, 250.0]


def test_records_go_on_after_a_wall_clock_that_was_fast_for_a_while(twin, tmp_path):
    wrong_s, monotonic_s = [0.0], [0.0]
    clock = ManualClock().clock
    clock = replace(clock, wall=lambda: second(monotonic_s[0] + wrong_s[0]), monotonic=lambda: monotonic_s[0])
    writer = TelemetryWriter(tmp_path, "a", "w")
    governor = Governor(run_calendar(window(0, 100_000, "run")), gpus=[twin], clock=clock, telemetry=writer)
    for now in range(10, 1000, 10):
        monotonic_s[0] = float(now)
        wrong_s[0] = 50_000.0 if 100 <= now < 200 else 0.0
        governor.step(tokens=TOKENS)
    records = list(read_records(tmp_path))
    governor.close()
    assert sum(record.tokens for record in records) >= 90 * TOKENS
    assert [record.t_start for record in records[-3:-1]] == [record.t_end for record in records[-4:-2]]


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


def test_the_report_reads_well(govern, clock):
    governor = govern(window(0, 1000, "run", tokens=100_000))
    Training(governor, clock).run(500)
    lines = dict(line.split(maxsplit=1) for line in str(governor.report()).splitlines())
    assert lines["run"] == "llm-8b, calendar c0ffee"
    assert lines["tokens"] == "50,000 trained, 50,000 useful"
    assert lines["energy"] == "200,000.0 +- 0.0 J (simulated)"
    assert lines["scope"].startswith("1 GPU board of this process")
    assert lines["efficiency"] == "0.25 +- 0 tokens/J"
    assert lines["adherence"] == "100.0% of the time as planned; the gang was to train 50,000 tokens"
    assert lines["states"] == "run 500.0 s"


def test_a_calendar_that_has_ended_is_not_said_to_be_none(govern, clock):
    clock.now_s += 5000.0
    governor = govern(window(0, 1000, "run", tokens=100_000))
    Training(governor, clock).run(50)
    lines = dict(line.split(maxsplit=1) for line in str(governor.report()).splitlines())
    assert lines["run"] == "llm-8b, calendar c0ffee"
    assert lines["adherence"] == "no time of this lies within the calendar"


# --- from_env ----------------------------------------------------------------------------------------------------


def test_the_five_lines(clock, tmp_path):
    header, runs = two_hours("llm-8b")
    write_calendar(tmp_path / "calendar", header, runs)
    environ = {
        "GRIDPACE_CALENDAR": str(tmp_path / "calendar"),
        "GRIDPACE_RUN": "llm-8b",
        "GRIDPACE_TELEMETRY": str(tmp_path / "telemetry"),
        "GRIDPACE_SIMULATE": "2",
    }
    saved = []
    gov = Governor.from_env(environ, clock=clock.clock)
    for _ in range(1000):
        clock.now_s += STEP_S
        gov.step(tokens=TOKENS, save=lambda: saved.append(clock.now_s))
        if gov.should_exit:
            break
    gov.close()
    assert saved == [3600.0]
    assert "2 GPU boards" in str(gov.report())
    records = list(read_records(tmp_path / "telemetry"))
    assert {record.run for record in records} == {"llm-8b"}
    assert records[-1].tokens + sum(record.tokens for record in records[:-1]) == 360 * TOKENS


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "GRIDPACE_CALENDAR is not set"),
        ({"GRIDPACE_CALENDAR": "x", "CUDA_VISIBLE_DEVICES": ""}, "NVML|no GPU"),
        ({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "two"}, "'two' is not a number of GPUs"),
        ({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "1", "GRIDPACE_ON_OFF": "sleep"}, "neither 'exit' nor 'wait'"),
    ],
)
def test_nothing_to_follow_is_a_no_op_that_says_so_once(clock, caplog, capsys, environ, said, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    with Governor.from_env(environ, clock=clock.clock) as governor:
        training = Training(governor, clock).run(5000)
        assert training.done == 500
        assert governor.report().tokens == 500 * TOKENS
        assert governor.report().tokens_per_joule is None
        assert "not known" in str(governor.report())
    (text,) = _warnings(caplog)
    assert __import__("re").search(said, text)
    assert "training runs free" in text
    assert capsys.readouterr().out == ""


def test_strict_settings_raise(clock):
    with pytest.raises(HookError, match="GRIDPACE_SIMULATE"):
        Governor.from_env({"GRIDPACE_CALENDAR": "x", "GRIDPACE_SIMULATE": "-1"}, clock=clock.clock, strict=True)


@pytest.mark.parametrize("name", ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_launchers_of_several_ranks_are_seen(clock, tmp_path, name):
    header, runs = two_hours("a")
    write_calendar(tmp_path, header, runs)
    environ = {"GRIDPACE_CALENDAR": str(tmp_path), "GRIDPACE_RUN": "a", "GRIDPACE_SIMULATE": "1", name: "16"}
    with Governor.from_env(environ, clock=clock.clock) as governor:
        training = Training(governor, clock).run(4000)
        assert training.done == 400


def test_from_env_takes_signals_when_asked(clock):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    try:
        with Governor.from_env({}, clock=clock.clock, install_signals=True) as governor:
            os.kill(os.getpid(), signal.SIGTERM)
            training = Training(governor, clock).run(1000)
            assert training.saved == [(1, 10.0)]
            assert governor.should_exit
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_week_fits_into_moments():
    clock = accelerated_clock(second(0), 1e6)
    begin = clock.monotonic()
    clock.sleep(3600.0)
    elapsed_s = clock.monotonic() - begin
    assert elapsed_s >= 3600.0
    assert (clock.wall() - second(begin)).total_seconds() >= elapsed_s
    with pytest.raises(ValueError, match="above 0"):
        accelerated_clock(second(0), 0.0)
