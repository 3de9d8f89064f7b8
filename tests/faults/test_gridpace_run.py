"""Jobs under gridpace-run: their end is theirs, their limits come and go, and nothing of them stays behind."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.launched import SWEEP, environment, launch, publish, publish_to, read_lines, read_to
from trainer_hooks.telemetry import read_records

# Python without site packages starts in a few hundredths of a second.
PYTHON = [sys.executable, "-S", "-c"]
SAVES = """
import signal, sys, time
def save(*_): print('saved', flush=True); {then}
signal.signal(signal.SIGUSR1, save)
print('up', flush=True)
while True: time.sleep(0.01)
"""


def finish(process, timeout_s=60):
    out, err = process.communicate(timeout=timeout_s)
    return process.returncode, out, err


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_code_is_the_commands(root, tmp_path, script, code):
    publish(tmp_path / "run.json", (60, "run", 250.0, "none"))
    found, _, err = finish(launch(root, tmp_path / "run.json", "--", "sh", "-c", script))
    assert found == code
    assert f"exit code {code}" in err


@pytest.mark.parametrize(("command", "code"), [("./nowhere", 127), ("/", 126)])
def test_what_cannot_be_started_ends_as_in_a_shell(root, tmp_path, command, code):
    publish(tmp_path / "run.json", (60, "run", 250.0, "none"))
    found, _, err = finish(launch(root, tmp_path / "run.json", "--", command))
    assert found == code
    assert command in err


def test_saved_with_lead_time_then_ended_and_started_again(root, tmp_path):
    publish(tmp_path / "run.json", (600, "run", 250.0, "none"))
    process = launch(
        root,
        tmp_path / "run.json",
        *("--lead", "60", "--grace", "5", "--restart", "--telemetry", str(tmp_path / "telemetry")),
        *("--", *PYTHON, SAVES.format(then="")),
    )
    assert read_lines(process.stdout, 1) == ["up"]
    publish_to(
        process,
        tmp_path / "run.json",
        (600.7, "run", 250.0, "none"),
        (0.1, "off", None, "before"),
        (600, "run", 400.0, "none"),
        since_s=600,
    )
    assert read_lines(process.stdout, 2) == ["saved", "up"]
    process.send_signal(signal.SIGTERM)
    code, _, err = finish(process)
    assert code == 143
    assert "started 2 times" in err
    records = list(read_records(tmp_path / "telemetry"))
    assert all(record.overhead_j == 0.0 for record in records if record.state == "run"), "steps cannot be seen"
    assert {(record.state, record.gpu_power_limit_w) for record in records if record.t_end != record.t_start} >= {
        ("run", 250.0),
        ("wait", None),
        ("run", 400.0),
    }
    busy = [record for record in records if record.state == "run" and record.gpu_power_limit_w == 250.0]
    seconds = sum((record.t_end - record.t_start).total_seconds() for record in busy)
    # Two twins in training draw their limit.
    assert sum(record.energy_j for record in busy) == pytest.approx(2 * 250.0 * seconds, rel=0.05)


def test_a_job_that_does_not_end_in_its_grace_is_killed_with_all_it_started(root, tmp_path):
    publish(tmp_path / "run.json", (600, "run", 250.0, "none"))
    # The grandchild leaves the process group and the session, and neither of the two minds SIGTERM.
    script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 60' & wait; sleep 60"
    process = launch(root, tmp_path / "run.json", "--grace", "0.1", "--save-signal", "none", "--", "sh", "-c", script)
    grandchild = int(read_lines(process.stdout, 1)[0])
    publish_to(process, tmp_path / "run.json", (0.1, "run", 250.0, "none"), (600, "off", None, "none"))
    code, _, err = finish(process)
    assert code == 137
    assert "SIGKILL" in err
    assert not _lives(grandchild)


def test_without_a_handler_the_save_signal_ends_nobody(root, tmp_path):
    publish(tmp_path / "run.json", (600, "run", None, "none"))
    process = launch(root, tmp_path / "run.json", "--", *PYTHON, "import time; print('up', flush=True); time.sleep(60)")
    read_lines(process.stdout, 1)
    publish_to(process, tmp_path / "run.json", (700, "run", None, "after"), (600, "run", None, "none"), since_s=600)
    read_to(process.stderr, "no process of the job has a handler for SIGUSR1")
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 143


def test_a_job_that_saves_and_ends_by_itself_is_started_again_after_the_pause(root, tmp_path):
    publish(tmp_path / "run.json", (600, "run", None, "none"))
    script = SAVES.format(then="sys.exit(0)")
    process = launch(root, tmp_path / "run.json", "--lead", "60", "--restart", "--", *PYTHON, script)
    assert read_lines(process.stdout, 1) == ["up"]
    windows = (600.7, "run", None, "none"), (0.1, "off", None, "none"), (600, "run", None, "none")
    publish_to(process, tmp_path / "run.json", *windows, since_s=600)
    assert read_lines(process.stdout, 2) == ["saved", "up"]
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2])
def test_signals_are_handed_on(root, tmp_path, number):
    publish(tmp_path / "run.json", (60, "run", None, "none"))
    script = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda n, f: sys.exit(40 + n))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    process = launch(root, tmp_path / "run.json", "--", *PYTHON, script)
    assert read_lines(process.stdout, 1) == ["up"]
    process.send_signal(number)
    assert finish(process)[0] == 40 + number


def test_told_to_end_while_it_waits_for_a_window(root, tmp_path):
    publish(tmp_path / "run.json", (30, "off", None, "none"), (60, "run", None, "none"))
    process = launch(root, tmp_path / "run.json", "--", "true")
    read_to(process.stderr, "waits for its window")
    process.send_signal(signal.SIGTERM)
    code, _, err = finish(process)
    assert code == 143
    assert "started 0 times" in err


def test_a_calendar_without_room_starts_nothing(root, tmp_path):
    publish(tmp_path / "run.json", (60, "off", None, "none"))
    code, out, err = finish(launch(root, tmp_path / "run.json", "--", "echo", "ran"))
    assert (code, out) == (75, "")
    assert "no further window" in err


def test_a_hold_takes_the_boards_to_their_lowest_limit_or_ends_the_job(root, tmp_path):
    publish(tmp_path / "run.json", (60, "hold", None, "none"))
    code, _, _ = finish(
        launch(root, tmp_path / "run.json", "--telemetry", str(tmp_path / "t"), "--", "sh", "-c", "exit 3")
    )
    assert code == 3
    held = [record for record in read_records(tmp_path / "t") if record.state == "hold"]
    assert {record.gpu_power_limit_w for record in held} == {100.0}
    code, out, _ = finish(launch(root, tmp_path / "run.json", "--at-hold", "stop", "--", "echo", "ran"))
    assert (code, out) == (75, "")


def test_without_a_calendar_the_job_runs_free(root):
    process = launch(root, None, "--", "sh", "-c", 'echo "[$GRIDPACE_CALENDAR]"; exit 4')
    code, out, err = finish(process)
    assert (code, out) == (4, "[]\n")
    assert "no calendar" in err


def test_killed_itself_it_leaves_no_job_behind(root, tmp_path):
    publish(tmp_path / "run.json", (60, "run", None, "none"))
    process = launch(
        root, tmp_path / "run.json", "--", *PYTHON, "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    )
    job = int(read_lines(process.stdout, 1)[0])
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while _lives(job) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _lives(job)


def test_the_job_has_the_terminal_and_its_keys(root, tmp_path):
    publish(tmp_path / "run.json", (60, "run", None, "none"))
    process, terminal = _on_a_terminal(root, tmp_path / "run.json", "sh", "-c", "read word; echo got $word; exec cat")
    os.write(terminal, b"hello\n")
    assert "got hello" in _read_until(terminal, "got hello")
    os.write(terminal, b"on\n")
    assert "on\r\non" in _read_until(terminal, "on\r\non")  # echoed, and by cat, which is up
    os.write(terminal, b"\x03")  # Ctrl-C goes to the job's group alone
    assert process.wait(timeout=60) == 130
    os.close(terminal)


def _lives(pid):
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _on_a_terminal(root, calendar, *command):
    terminal, theirs = pty.openpty()
    process = launch(
        root,
        calendar,
        *("--", *command),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_control,
    )
    os.close(theirs)
    return process, terminal


def _control():
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(terminal, wanted, timeout_s=60.0):
    seen, deadline = "", time.monotonic() + timeout_s
    while wanted not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 1024).decode()
    return seen


def test_a_governor_inside_the_job_finds_nothing_to_follow(root, tmp_path):
    publish(tmp_path / "run.json", (60, "run", 250.0, "none"))
    script = "import os; print(sorted(name for name in os.environ if name.startswith('GRIDPACE_')))"
    environ = {"GRIDPACE_AGENT": str(tmp_path / "agent.sock"), "GRIDPACE_METRICS": str(tmp_path / "m.prom")}
    arguments = ("--telemetry", str(tmp_path / "t.jsonl"), "--", *PYTHON, script)
    code, out, _ = finish(launch(root, tmp_path / "run.json", *arguments, more=environ))
    assert (code, out) == (0, "['GRIDPACE_SIMULATE']\n")
    assert list(tmp_path.glob("m.*.prom")), "the metrics are those of the board's one meter"


def test_a_reader_that_goes_away_ends_neither_a_sweep_nor_its_training(root, tmp_path):
    """The steps go on being counted, to where the training ends by itself; the file is not made of that."""
    script = "import time\nfor step in range(40): print('step', step, flush=True); time.sleep(0.01)\nopen('done', 'w')"
    options = ("--out", str(tmp_path / "sweep.json"), "--idle", "0")
    with subprocess.Popen(
        [*SWEEP, *options, "--", *PYTHON, script],
        env=environment(root),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert process.returncode == 1
    assert "0 of 6 limits are measured" in told
    assert (tmp_path / "done").exists()
