"""A calendar followed by a real Slurm: two tasks are held, ended, begun again, requeued, and nothing is lost."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli import cli
from tests.published import CALENDAR_ID, header, on, run
from tests.slurm.cluster import cluster, missing
from tests.slurm.train import after
from trainer_hooks.calendar import write_calendar

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(missing()), reason=missing())]

STEPS = 300
DAY = timedelta(hours=24)
HOUSE = Path(__file__).parents[2]
# From the calendar's start, s: the run trains, holds, trains on, gives its GPUs back, and trains again.
PLAN = (("run", 0, 5), ("hold", 5, 8), ("run", 8, 11), ("off", 11, 15), ("run", 15, 300), ("off", 300, 86400))


@pytest.fixture(scope="module")
def slurm():
    with cluster() as here:
        yield here


def published(folder: Path, start: datetime, calendar_id: str = CALENDAR_ID):
    windows = []
    for state, begin, end in PLAN:
        on_gpus = state != "off"
        windows.append(
            replace(
                on(0, 1),
                start=start + timedelta(seconds=begin),
                end=start + timedelta(seconds=end),
                state=state,
                gpus=8 if on_gpus else 0,
                pool="pool-a" if on_gpus else None,
                block="hall" if on_gpus else None,
                gpu_power_limit_w=300.0 if state == "run" else None,
                checkpoint="before" if state == "off" else "none",
            )
        )
    calendar = header(start, timezone="UTC", calendar_id=calendar_id)
    day = replace(run("pretrain", tuple(windows), start), calendar_id=calendar_id)
    write_calendar(folder / "calendars", calendar, (day,))


def submit(slurm, folder: Path, *options: str) -> None:
    script = folder / "job.sh"
    script.write_text(
        f"#!/bin/sh\n#SBATCH --ntasks=2 --output={folder}/job.out\n"
        f"export GRIDPACE_SIMULATE=1 PYTHONPATH={HOUSE}\n"
        f"exec srun --ntasks=2 --overlap {sys.executable} {HOUSE}/tests/slurm/train.py {folder} {STEPS}\n"
    )
    written = CliRunner().invoke(
        cli,
        ["export", "slurm", str(folder), "--script", f"pretrain={script}", "--out", str(folder / "slurm"), *options],
    )
    assert written.exit_code == 0, written.output
    if "--reserve" in options:
        slurm.run(str(folder / "slurm" / "reserve.sh"))
    slurm.run(str(folder / "slurm" / "submit.sh"))


def wait_for(what, seconds: float = 60.0):
    deadline_s = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline_s, f"nothing for {seconds:.0f} s"
        time.sleep(0.2)
    return found


def lines(folder: Path) -> list[list[str]]:
    log = folder / "steps.log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def test_two_tasks_follow_hold_off_and_requeue_and_lose_nothing(slurm, tmp_path):
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
    published(tmp_path, start)
    submit(slurm, tmp_path, "--lead", "5")
    first, second = sorted(int(job["JobId"]) for job in slurm.jobs() if job["JobName"] == "gp-pretrain")

    # Well into its second stretch the job is requeued, as when its node is taken away from it.
    wait_for(lambda: [x for x in lines(tmp_path) if x[0] == "begin" and x[3] == str(second)])
    reached = int(lines(tmp_path)[-1][2])
    wait_for(lambda: int(lines(tmp_path)[-1][2]) > reached + 15)
    slurm.run("scontrol", "requeue", str(second))
    wait_for(lambda: slurm.run("squeue", "-h", "-j", str(second), "-o", "%T").strip() == "PENDING")
    # Slurm lets a requeued job wait two minutes.
    wait_for(
        lambda: "StartTime" not in slurm.run("scontrol", "update", f"JobId={second}", "StartTime=now", check=False)
    )
    wait_for(lambda: [x for x in lines(tmp_path) if x[0] == "end" and int(x[2]) == STEPS])

    record = lines(tmp_path)
    begun = [(line[3], int(line[2])) for line in record if line[0] == "begin" and line[1] == "0"]
    assert [job for job, _ in begun] == [str(first), str(second), str(second)]
    state = 1
    wanted = [state := after(state, step) for step in range(1, STEPS + 1)]
    for rank in ("0", "1"):
        steps = [line for line in record if line[0] == "step" and line[1] == rank]
        assert [int(line[2]) for line in steps] == list(range(1, STEPS + 1)), f"rank {rank} lost or repeated a step"
        assert [int(line[3]) for line in steps] == wanted
        seconds = [float(line[4]) - start.timestamp() for line in steps]
        paused = [(a, b) for a, b in pairwise(seconds) if b - a > 1.5]
        hold, off, requeue = paused
        assert hold == (pytest.approx(5.0, abs=1.5), pytest.approx(8.0, abs=1.5))
        assert off[0] == pytest.approx(11.0, abs=1.5)
        assert off[1] > 15.0
        assert requeue[0] > off[1]
    held = [line for line in record if line[0] == "end"]
    assert {int(line[2]) for line in held} == {begun[1][1], begun[2][1], STEPS}, "both ranks ended at the same step"


def test_reservations_and_their_jobs_are_taken_and_replaced_by_a_newer_calendar(slurm, tmp_path):
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    options = ("--reserve", "--user", "root", "--gpus-per-node", "8", "--partition", "pool-a=hall-a")
    published(tmp_path / "old", start)
    published(tmp_path / "new", start + timedelta(hours=1), "fedcba9876543210fedcba98")

    def reserved() -> set[str]:
        shown = slurm.run("scontrol", "--oneliner", "show", "reservation")
        return {line.split()[0].partition("=")[2] for line in shown.splitlines() if line.startswith("Reserv")}

    def waiting() -> dict[str, str]:
        return {
            job["JobId"]: job["Deadline"]
            for job in slurm.jobs()
            if job["JobName"] == "gp-pretrain" and job["JobState"] == "PENDING"
        }

    submit(slurm, tmp_path / "old", *options)
    old_reserved, old_waiting = reserved(), waiting()
    assert len(old_reserved) == len(old_waiting) == 2
    submit(slurm, tmp_path / "new", *options)
    assert len(reserved()) == len(waiting()) == 2
    assert not old_reserved & reserved()
    assert not set(old_waiting) & set(waiting())
    ends = sorted(datetime.fromisoformat(deadline).astimezone(UTC) for deadline in waiting().values())
    new_start = start + timedelta(hours=1)
    assert ends[0] - new_start == pytest.approx(timedelta(seconds=11), abs=timedelta(seconds=2))
    slurm.run("scancel", "--name=gp-pretrain", "--user=root")
