"""Clocks that a Governor meets: wrong ones, and one that runs fast on purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.governed import TOKENS, warnings_of
from tests.run_calendars import ManualClock, run_calendar, second, window
from trainer_hooks import Governor
from trainer_hooks.clock import accelerated_clock
from trainer_hooks.telemetry import TelemetryWriter, read_records


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
    # Steps of the clock are not believed at once: the stretches have the length that the monotonic clock gives them.
    assert [(record.t_end - record.t_start).total_seconds() for record in records] == [70.0, 70.0, 70.0]
    assert sum(record.tokens for record in records) == 3 * TOKENS
    assert [record.adherence for record in records] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("off_s", [-86_400.0, 86_400.0, -400 * 365.25 * 86_400, 7_000 * 365.25 * 86_400])
def test_a_wall_clock_that_was_wrong_for_a_while_is_not_followed(twin, off_s):
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
    assert [seen_w[now] for now in (90, 190, 260, 1000, 1190)] == [300.0, 300.0, 300.0, 250.0, 250.0]


@pytest.mark.parametrize("off_s", [-3600.0, 3600.0])
def test_a_step_of_the_wall_clock_is_followed_once_it_has_stood_for_ten_minutes(twin, off_s, caplog):
    monotonic_s, wrong_s = [0.0], [0.0]
    clock = ManualClock().clock
    clock = replace(clock, wall=lambda: second(monotonic_s[0] + wrong_s[0]), monotonic=lambda: monotonic_s[0])
    windows = [window(3600.0 * hour, 3600.0 * (hour + 1), "run", limit_w=200.0 + hour) for hour in range(3)]
    governor = Governor(run_calendar(*windows), gpus=[twin], clock=clock)
    seen_w = {}
    for now in range(3700, 5000, 10):
        monotonic_s[0] = float(now)
        wrong_s[0] = off_s if now >= 4000 else 0.0
        governor.step(tokens=TOKENS)
        seen_w[now] = twin.power_limit_w()
    governor.close()
    # The step is seen by the first look that the calendar or a record causes, at most a minute later.
    assert {seen_w[now] for now in range(3700, 4600, 10)} == {201.0}
    assert {seen_w[now] for now in range(4730, 5000, 10)} == {201.0 + off_s / 3600.0}
    assert sum("was set by" in text for text in warnings_of(caplog)) == 1


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


def test_a_week_fits_into_moments():
    clock = accelerated_clock(second(0), 1e6)
    begin = clock.monotonic()
    clock.sleep(3600.0)
    elapsed_s = clock.monotonic() - begin
    assert elapsed_s >= 3600.0
    assert (clock.wall() - second(begin)).total_seconds() >= elapsed_s
    with pytest.raises(ValueError, match="above 0"):
        accelerated_clock(second(0), 0.0)
