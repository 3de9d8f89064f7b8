"""`gridpace-run` as a process, under a calendar whose windows are tenths of a second long and begin now."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.run_calendars import window
from trainer_hooks.codec import run_document
from trainer_hooks.contract import RunCalendar
from trainer_hooks.strictjson import dump_object

RUN = "llm-8b"
COMMAND = [sys.executable, "-c", "from trainer_hooks.launch.command import main; main()"]
SWEEP = [sys.executable, "-c", "from trainer_hooks.sweep.command import main; main()"]


def publish(file, *states, since_s=0.0):
    """Write a run's calendar of (duration in s, state, limit or None, checkpoint) that began so long ago."""
    begin = datetime.now(UTC) - timedelta(seconds=since_s)
    windows, at_s = [], 0.0
    for duration_s, state, limit_w, checkpoint in states:
        times = {"start": begin + timedelta(seconds=at_s), "end": begin + timedelta(seconds=at_s + duration_s)}
        windows.append(replace(window(0, 1, state, limit_w=limit_w, checkpoint=checkpoint), **times))
        at_s += duration_s
    run = RunCalendar("c0ffee", begin, begin, windows[-1].end, "lab", RUN, tuple(windows))
    file.write_bytes(dump_object(run_document(run)))


def environment(root, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRIDPACE_")}
    return {**kept, "PYTHONPATH": str(root), "GRIDPACE_SIMULATE": "2", **more}


def launch(root, calendar, *arguments, more=None, **options):
    """Start gridpace-run; `--` and the command come last in the arguments."""
    found = {"GRIDPACE_CALENDAR": str(calendar)} if calendar else {}
    environ = environment(root, GRIDPACE_RUN=RUN, **found, **(more or {}))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen([*COMMAND, *arguments], env=environ, text=True, **{**streams, **options})


def publish_to(process, file, *states, since_s=0.0):
    """Publish while a session runs; a signal that means nothing to the job wakes it."""
    publish(file, *states, since_s=since_s)
    process.send_signal(signal.SIGWINCH)


def read_lines(stream, count, timeout_s=60.0):
    """Read so many lines of a process, or fail."""
    text, deadline = b"", time.monotonic() + timeout_s
    while text.count(b"\n") < count:
        assert select.select([stream], [], [], max(deadline - time.monotonic(), 0.0))[0], f"only {text!r} came"
        byte = os.read(stream.fileno(), 1)
        assert byte, f"it ended after {text!r}"
        text += byte
    return text.decode().splitlines()


def read_to(stream, wanted, timeout_s=60.0):
    """Read lines of a process until one holds a text."""
    deadline = time.monotonic() + timeout_s
    while wanted not in (line := read_lines(stream, 1, deadline - time.monotonic())[0]):
        pass
    return line
