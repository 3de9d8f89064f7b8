from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.demo import follow_week
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from tests.weeks import make_run, tiny_week
from trainer_hooks.telemetry import Record, read_records

HOURS = 30


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Two runs of four GPUs, one of which is interrupted, followed for 24 of 30 h: windows, telemetry and folder."""
    runs = tuple(
        make_run(name, 4, work_h, 60.0, checkpoint_s=60.0, reload_s=120.0)
        for name, work_h in (("long", 50.0), ("short", 30.0))
    )
    week = tiny_week(n_slots=HOURS, runs=runs)
    limit = {
        "long": np.array([700.0] * 10 + [0.0] * 5 + [500.0] * 15),
        "short": np.array([0.0] * 5 + [350.0] * 10 + [0.0] * 15),
    }
    zero = np.zeros(HOURS)
    decided = Schedule(
        tuple(RunSchedule(name, "a1", values) for name, values in limit.items()),
        (BlockSchedule("hall", zero, zero, zero),),
    )
    _, calendars = to_calendar(week, decided, status="optimal", certified_gap=0.0)
    folder = tmp_path_factory.mktemp("telemetry")
    until = week.grid.start + timedelta(hours=24)
    follow_week(week, calendars, folder, until)
    records = {
        run.name: [r for r in read_records(folder) if isinstance(r, Record) and r.run == run.name] for run in runs
    }
    return week, calendars, folder, until, records


def planned(calendar, until, name):
    total = 0.0
    for window in calendar.windows:
        share = min(1.0, max(0.0, (until - window.start) / (window.end - window.start)))
        total += share * getattr(window, name)
    return total


def test_energy_is_what_the_calendar_expects(followed):
    _, calendars, _, until, records = followed
    for calendar in calendars:
        energy_kwh = sum(r.energy_j for r in records[calendar.run]) / 3.6e6
        assert energy_kwh == pytest.approx(planned(calendar, until, "energy_kwh"), rel=0.01)
        assert {r.energy_source for r in records[calendar.run]} <= {"simulated", "none"}


def test_tokens_come_near_the_calendar_and_never_from_a_pause(followed):
    week, calendars, _, until, records = followed
    for calendar in calendars:
        useful = sum(r.useful_tokens for r in records[calendar.run])
        assert useful == pytest.approx(planned(calendar, until, "tokens"), rel=0.08)
        for record in records[calendar.run]:
            window = calendar.window_at(record.t_start)
            assert not (record.tokens and window is not None and window.state == "off"), record
    assert week.grid.start <= min(r.t_start for r in records["long"])


def test_only_the_run_with_the_most_work_is_interrupted_once(followed):
    *_, records = followed
    lost = {name: sum(r.tokens - r.useful_tokens for r in found) for name, found in records.items()}
    assert lost["short"] == 0
    # It falls back by at least half an hour and at most two of work at 4,000 tokens a second.
    assert 0.5 * 3600 * 4000 * 0.97 <= lost["long"] <= 2 * 3600 * 4000 * 1.03


def test_limits_follow_the_windows(followed):
    *_, records = followed
    long = [r for r in records["long"] if r.state == "run" and r.tokens]
    assert {r.gpu_power_limit_w for r in long} == {700.0, 500.0}
    assert {r.enforced_limit_w for r in long if r.t_start >= followed[0].grid.starts[15]} == {500.0}


def test_each_spell_is_a_job_of_its_own_that_goes_on_where_the_last_one_saved(followed):
    *_, records = followed
    first, second = ([r for r in records["long"] if r.writer.endswith(f"-{job}")] for job in (0, 1))
    assert first
    assert second
    assert second[0].position_tokens - second[0].useful_tokens == first[-1].position_tokens


def test_following_again_replaces_and_gives_the_same_bytes(followed):
    week, calendars, folder, until, _ = followed
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    follow_week(week, calendars, folder, until)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_run_that_never_runs_writes_nothing(tmp_path):
    week = tiny_week(n_slots=HOURS, runs=(make_run("idle", 4, 1.0, 60.0),))
    zero = np.zeros(HOURS)
    decided = Schedule((RunSchedule("idle", None, zero),), (BlockSchedule("hall", zero, zero, zero),))
    _, calendars = to_calendar(week, decided, status="optimal", certified_gap=0.0)
    follow_week(replace(week), calendars, tmp_path / "telemetry", week.grid.end)
    assert list((tmp_path / "telemetry").iterdir()) == []
