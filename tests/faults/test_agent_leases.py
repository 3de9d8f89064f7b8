"""Jobs and agents that end in every way: the limit found, not the maximum, is back within the lease time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.agents import agent_on, grant, place, until
from tests.nvml_twin import TwinUnavailable, nvml_twin
from tests.run_calendars import two_hours
from trainer_hooks.agent_client import AgentClient
from trainer_hooks.calendar import write_calendar
from trainer_hooks.errors import AgentGone
from trainer_hooks.wire import call

FOUND_W, OURS_W, LEASE_S = 650.0, 300.0, 0.5
# What the machine may be late: two cores that run other tests too.
SLACK_S = 1.0
JOB = """
import sys, time
from trainer_hooks.agent_client import AgentClient
client = AgentClient(sys.argv[1], ttl_s=float(sys.argv[2]))
verdict = client.limit(sys.argv[3], float(sys.argv[4]))
print(verdict.outcome, flush=True)
while True:
    time.sleep(0.01)
"""

TRAINING = """
import time
from trainer_hooks import Governor
governor = Governor.from_env()
while True:
    time.sleep(0.005)
    governor.step(tokens=1)
"""
HOUR = timedelta(hours=1)
START = datetime.now(UTC).replace(microsecond=0) - HOUR


@pytest.fixture
def spot():
    with place() as folder:
        yield folder


@pytest.fixture
def twin(spot):
    try:
        with nvml_twin(spot, "h100") as twin:
            twin[0].limit_w = FOUND_W
            yield twin
    except TwinUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def agent(spot, twin):
    with agent_on(spot, twin, grant()) as agent:
        yield agent


@pytest.fixture
def job(agent, twin):
    words = [sys.executable, "-c", JOB, str(agent.socket), str(LEASE_S), twin[0].uuid, str(OURS_W)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "applied\n"
        assert twin[0].limit_w == OURS_W
        yield process
        process.kill()


@pytest.fixture
def training(agent, twin):
    """The same in this process, which is quicker to start; its heartbeat can be ended."""
    client = AgentClient(agent.socket, ttl_s=LEASE_S)
    assert client.limit(twin[0].uuid, OURS_W).applied
    yield client
    client._stop.set()


def stays(twin, limit_w, for_s):
    end_s = time.monotonic() + for_s
    while time.monotonic() < end_s:
        assert twin[0].limit_w == limit_w
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_ends_loses_its_lease(agent, twin, job, number):
    stays(twin, OURS_W, 1.5 * LEASE_S)
    job.send_signal(number)
    assert until(lambda: twin[0].limit_w == FOUND_W) <= LEASE_S + SLACK_S


def test_a_training_without_rights_follows_its_calendar_through_the_agent_and_is_cleaned_up_after(spot, twin):
    """Limit, calendar and its change, all from the agent; the training knows nothing but the socket and its run."""

    def publish(calendar_id, limit_w):
        header, (run,) = two_hours("llm-8b", calendar_id=calendar_id)
        times = {"issued_at": START, "valid_from": START, "valid_until": START + HOUR * 2}
        windows = (replace(run.windows[0], start=START, end=START + HOUR * 2, gpu_power_limit_w=limit_w),)
        write_calendar(spot / "published", replace(header, **times), [replace(run, windows=windows, **times)])

    publish("first", 400.0)
    with agent_on(spot, twin, grant(), f"[calendar]\nsource = {spot}/published\npoll_s = 0.1\n") as agent:
        until(lambda: "calendar first is in force" in agent.log.read_text())
        environment = {**os.environ, **twin.environment(root=False), "PYTHONPATH": str(Path.cwd())}
        environment |= {"GRIDPACE_AGENT": str(agent.socket), "GRIDPACE_LEASE_S": str(LEASE_S), "GRIDPACE_RUN": "llm-8b"}
        environment.pop("GRIDPACE_CALENDAR", None)
        with subprocess.Popen([sys.executable, "-c", TRAINING], env=environment) as training:
            until(lambda: twin[0].limit_w == 400.0)
            publish("second", 250.0)
            assert until(lambda: twin[0].limit_w == 250.0) <= 2.0 + SLACK_S, "an emergency is in force within 2 s"
            training.kill()
            assert until(lambda: twin[0].limit_w == FOUND_W) <= LEASE_S + SLACK_S


def test_a_job_that_is_stopped_loses_its_lease_and_takes_it_up_again(agent, twin, job):
    job.send_signal(signal.SIGSTOP)
    assert until(lambda: twin[0].limit_w == FOUND_W) <= LEASE_S + SLACK_S
    job.send_signal(signal.SIGCONT)
    until(lambda: twin[0].limit_w == OURS_W)


def test_an_agent_that_is_told_to_end_gives_back_at_once_and_leaves_no_socket(agent, twin, training):
    begin_s = time.monotonic()
    assert agent.end(signal.SIGTERM) == 0
    assert twin[0].limit_w == FOUND_W
    assert time.monotonic() - begin_s <= SLACK_S
    assert not agent.socket.exists()
    agent.start()
    until(lambda: twin[0].limit_w == OURS_W)


def test_an_agent_that_is_killed_and_started_again_keeps_the_living_job_s_limit(agent, twin, job):
    agent.end(signal.SIGKILL)
    assert twin[0].limit_w == OURS_W
    agent.start()
    stays(twin, OURS_W, 1.5 * LEASE_S)
    job.kill()
    assert until(lambda: twin[0].limit_w == FOUND_W) <= LEASE_S + SLACK_S


def test_an_agent_and_its_job_killed_together_leave_nothing_once_the_agent_is_back(agent, twin, job):
    agent.end(signal.SIGKILL)
    job.kill()
    agent.start()
    assert until(lambda: twin[0].limit_w == FOUND_W) <= LEASE_S + SLACK_S


def test_an_agent_that_never_comes_back_is_cleaned_up_after_by_one_command(agent, twin, training):
    refused = agent.run("--restore")
    assert refused.returncode == 2
    assert "another agent that lives has it" in refused.stderr
    agent.end(signal.SIGKILL)
    twin[0].fault("lost")
    lost = agent.run("--restore")
    assert lost.returncode in {2, 4}
    assert "cannot be given back now" in lost.stderr or "NVML" in lost.stderr
    twin[0].fault()
    assert agent.run("--restore").returncode == 0
    assert twin[0].limit_w == FOUND_W


def test_an_agent_that_is_stopped_keeps_nobody_waiting_and_goes_on_afterwards(agent, twin, training):
    agent.process.send_signal(signal.SIGSTOP)
    begin_s = time.monotonic()
    with pytest.raises(AgentGone):
        call(agent.socket, {"op": "status"}, 0.2)
    assert time.monotonic() - begin_s < 0.2 + SLACK_S
    time.sleep(LEASE_S)
    agent.process.send_signal(signal.SIGCONT)
    until(lambda: twin[0].limit_w == OURS_W)
    training._stop.set()
    assert until(lambda: twin[0].limit_w == FOUND_W) <= 2 * LEASE_S + SLACK_S


def test_a_limit_that_someone_else_set_is_left_and_the_log_says_who_won(agent, twin, training):
    twin[0].limit_w = 450.0
    stays(twin, 450.0, 1.5 * LEASE_S)
    training._stop.set()
    stays(twin, 450.0, 1.5 * LEASE_S)
    assert agent.end(signal.SIGTERM) == 0
    assert twin[0].limit_w == 450.0
    assert f"GPU {twin[0].uuid}: limit is 450 W, ours was 300 W: left as it is." in agent.log.read_text()


def test_a_gpu_that_is_lost_for_a_while_gets_its_limit_back(agent, twin, training):
    twin[0].fault("lost")
    training._stop.set()
    time.sleep(1.5 * LEASE_S)
    assert "does not answer" in agent.log.read_text()
    twin[0].fault()
    until(lambda: twin[0].limit_w == FOUND_W, 8.0)


def test_heat_lowers_the_limit_without_any_job_and_it_comes_back(spot, twin):
    guard = "[guard]\nlower_below_c = 10\ngive_back_above_c = 20\nstep_w = 50\nevery_s = 0.1\nlowest_w = 400\n"
    twin.stop_clock()
    with agent_on(spot, twin, guard) as agent:
        hot_c = twin[0].get("max_c") - 2.0
        twin[0].set("temperature_c", hot_c)
        until(lambda: twin[0].limit_w == 400.0)
        stays(twin, 400.0, 0.3)
        twin[0].set("temperature_c", 40.0)
        until(lambda: twin[0].limit_w == FOUND_W)
        twin[0].set("temperature_c", hot_c)
        until(lambda: twin[0].limit_w < FOUND_W)
        assert agent.end(signal.SIGTERM) == 0
    assert twin[0].limit_w == FOUND_W


def test_without_a_gpu_or_with_a_bad_file_the_command_says_why(spot, twin, agent):
    twin.unload_driver()
    lone = agent.run("--restore")
    assert (lone.returncode, "NVML" in lone.stderr) == (4, True)
    good = agent.run("--check")
    assert (good.returncode, "no driver here to ask" in good.stdout) == (0, True)
    twin.load_driver()
    agent.config.write_text(agent.config.read_text() + "[bounds GPU-none]\nfloor_w = 200\n")
    bad = agent.run("--check")
    assert bad.returncode == 2
    assert f"this node has no GPU 'GPU-none'; it has {twin[0].uuid}" in bad.stderr
