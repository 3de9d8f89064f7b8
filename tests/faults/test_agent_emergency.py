"""A calendar with a lower limit, published while a training is in the middle of a long step, is in force within 2 s."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.agents import agent_on, grant, place, until
from tests.run_calendars import two_hours
from trainer_hooks.calendar import write_calendar

EVENT_S = 2.0
# What the machine may be late: two cores that run other tests too.
SLACK_S = 1.0
HOUR = timedelta(hours=1)
IN_A_LONG_STEP = """
import time
from trainer_hooks import Governor
governor = Governor.from_env()
governor.step(tokens=1)
print("in a step", flush=True)
time.sleep(600.0)
"""


def publish(folder, calendar_id, limit_w):
    """Publish a calendar whose one window began an hour ago."""
    header, (run,) = two_hours("llm-8b", calendar_id=calendar_id)
    begin = datetime.now(UTC) - HOUR
    times = {"issued_at": begin, "valid_from": begin, "valid_until": begin + 2 * HOUR}
    windows = (replace(run.windows[0], start=begin, end=begin + 2 * HOUR, gpu_power_limit_w=limit_w),)
    write_calendar(folder, replace(header, **times), [replace(run, windows=windows, **times)])


def test_an_emergency_limit_does_not_wait_for_the_step_to_end(nvml_twin):
    with place() as folder:
        twin = nvml_twin("h100")
        publish(folder / "published", "usual", 500.0)
        source = f"[calendar]\nsource = {folder}/published\n"
        with agent_on(folder, twin, grant(), source) as agent:
            environ = {name: text for name, text in os.environ.items() if not name.startswith("GRIDPACE_")}
            environ |= twin.environment(root=False) | {"PYTHONPATH": str(Path.cwd())}
            environ |= {"GRIDPACE_AGENT": str(agent.socket), "GRIDPACE_RUN": "llm-8b"}
            command = [sys.executable, "-c", IN_A_LONG_STEP]
            with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as training:
                try:
                    assert training.stdout.readline() == "in a step\n"
                    until(lambda: twin[0].enforced_w == 500.0, 10.0)
                    publish(folder / "published", "emergency", 250.0)
                    assert until(lambda: twin[0].enforced_w == 250.0, 30.0) <= EVENT_S + SLACK_S
                finally:
                    training.kill()
