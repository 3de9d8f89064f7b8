"""Processes of one job, made as the documentation says, end after the same step, their work saved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.run_calendars import two_hours
from trainer_hooks.calendar import write_calendar

RANKS = 3
RANK = """
import sys, time
from trainer_hooks import Governor
saved = []
gov = Governor.from_env(install_signals=True)
print("begun", flush=True)
step = 0
while step < 4000:
    time.sleep(0.005)
    step += 1
    if gov.step(tokens=1, save=lambda: saved.append(step)):
        break
gov.close()
print("ended", step, saved, gov.state)
"""


@pytest.fixture
def start_ranks(tmp_path):
    children = []

    def start(**settings):
        for rank in range(RANKS):
            environ = {
                **os.environ,
                "WORLD_SIZE": str(RANKS),
                "LOCAL_WORLD_SIZE": str(RANKS),
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "TMPDIR": str(tmp_path),
                "GRIDPACE_AGENT": "off",
                "GRIDPACE_JOB": "job",
                "GRIDPACE_CALENDAR": str(tmp_path / "calendar"),
                "GRIDPACE_RUN": "a",
                "GRIDPACE_SIMULATE": "1",
                **settings,
            }
            child = subprocess.Popen(
                [sys.executable, "-c", RANK],
                env=environ,
                cwd=Path(__file__).parents[3],
                stdout=subprocess.PIPE,
                text=True,
            )
            children.append(child)
        for child in children:
            assert child.stdout.readline() == "begun\n"
        return children

    yield start
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()


def publish(folder, run_s):
    """Publish a calendar whose run window ends some seconds from now."""
    header, runs = two_hours("a")
    begin = datetime.now(UTC) + timedelta(seconds=run_s) - timedelta(hours=1)
    shift = begin - header.valid_from

    def moved(calendar):
        values = {**vars(calendar), "valid_from": begin, "valid_until": calendar.valid_until + shift}
        return type(calendar)(**{name: value for name, value in values.items() if not name.startswith("_")})

    windows = tuple(
        type(one)(**{**vars(one), "start": one.start + shift, "end": one.end + shift}) for one in runs[0].windows
    )
    run = moved(runs[0])
    write_calendar(folder, moved(header), [type(run)(**{**vars(run), "windows": windows})])


@pytest.mark.parametrize("cause", ["calendar", "signal"])
def test_all_ranks_save_and_end_after_the_same_step(start_ranks, tmp_path, cause):
    publish(tmp_path / "calendar", run_s=0.5 if cause == "calendar" else 3000.0)
    children = start_ranks()
    if cause == "signal":
        time.sleep(0.1)
        children[1].send_signal(signal.SIGTERM)
    told = {child.communicate(timeout=60)[0] for child in children}
    assert [child.returncode for child in children] == [0] * RANKS
    (line,) = told
    _, step, saved, state = line.split()
    assert saved == f"[{step}]"
    assert state == "exit"
    assert 0 < int(step) < 4000
