"""gridpace-sweep around a training on the twin of NVML, in real time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.agents import agent_on, grant, until
from tests.launched import SWEEP
from tests.nvml_twin import TwinUnavailable, nvml_twin, twin_library

TRAINING = """
import os, sys, time
from tests.nvml_twin import Twin
board = Twin.of_environment()[0]
board.load = 1.0
{setup}
for step in range(1, 100_000):
    time.sleep(0.002 / board.throughput)
    {tell}
"""
PRINTS = TRAINING.format(setup="", tell="print('step', step, 'loss', 2.0)")
KEEPS = TRAINING.format(
    setup="file = os.environ['GRIDPACE_STEP_FILE']", tell="open(file, 'w').write(f'{step} {512 * step}')"
)
FAST = ("--warmup-steps", "5", "--settle", "0.05", "--window", "0.15", "--repeats", "2", "--idle", "0")
LIMITS = ("--limits", "250,400,700")


@pytest.fixture
def twin(tmp_path):
    try:
        twin_library()
    except TwinUnavailable as absent:
        pytest.skip(str(absent))
    with nvml_twin(tmp_path, "h100") as made:
        made[0].limit_w = 650.0  # what somebody set before
        made[0].set("period_s", 0.005)
        yield made


@pytest.fixture
def sweep(root, twin, tmp_path):
    def start(script, *options):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GRIDPACE_")}
        environ = {**kept, "PYTHONPATH": str(root), **twin.environment(root=True)}
        command = [*SWEEP, "--out", str(tmp_path / "sweep.json"), *options, "--", sys.executable, "-c", script]
        return subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


@pytest.mark.parametrize(
    ("script", "told", "unit"),
    [
        (PRINTS, ("--tokens-per-step", "512"), "tokens_per_gpu_s"),
        (KEEPS, ("--step-file",), "tokens_per_gpu_s"),
    ],
)
def test_a_training_is_measured_and_its_limit_given_back(sweep, twin, tmp_path, script, told, unit):
    # Steps of milliseconds on a busy machine vary by more than real ones.
    process = sweep(script, "--gpu", "H100-SXM", *LIMITS, *FAST, *told, "--noise", "0.5")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert ("step 3 loss" in out) == (script is PRINTS)
    document = json.loads((tmp_path / "sweep.json").read_text())
    assert [point["gpu_power_limit_w"] for point in document["points"]] == [250.0, 400.0, 700.0]
    # The pace of a busy machine says nothing; the curve itself is recovered in the tests on a clock of ours.
    assert all(rate > 0.0 for point in document["points"] for rate in point[unit])
    for point, drawn_w in zip(document["points"], (250.0, 400.0, 690.0), strict=True):
        assert point["gpu_draw_w"] == pytest.approx([drawn_w] * len(point["gpu_draw_w"]), rel=0.1)
    assert twin[0].limit_w == 650.0


def test_told_to_end_it_gives_the_limit_back_and_ends_the_training(sweep, twin, tmp_path):
    process = sweep(PRINTS, *LIMITS, "--warmup-steps", "5", "--idle", "0")
    while twin[0].limit_w == 650.0:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert twin[0].limit_w == 650.0
    assert not (tmp_path / "sweep.json").exists()


def test_a_training_that_ends_too_early_gives_no_file(sweep, twin, tmp_path):
    process = sweep("print('step 1'); print('step 2'); raise SystemExit(3)", *LIMITS, "--idle", "0")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "0 of 3 limits are measured" in err
    assert twin[0].limit_w == 650.0
    assert not (tmp_path / "sweep.json").exists()


def test_without_the_right_to_set_limits_it_says_so(root, twin, tmp_path):
    environ = {**os.environ, "PYTHONPATH": str(root), **twin.environment(root=False)}
    command = [*SWEEP, "--out", str(tmp_path / "s.json"), *LIMITS, *FAST, "--", sys.executable, "-c", PRINTS]
    done = subprocess.run(command, env=environ, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "denied" in done.stderr


def test_a_command_that_is_not_there_ends_as_in_a_shell(root, twin, tmp_path):
    environ = {**os.environ, "PYTHONPATH": str(root), **twin.environment()}
    command = [*SWEEP, "--out", str(tmp_path / "s.json"), *LIMITS, *FAST, "--", "./nowhere"]
    done = subprocess.run(command, env=environ, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 127
    assert "./nowhere" in done.stderr


LEASED = """
import sys, time
from pathlib import Path
from trainer_hooks.agent_client import AgentClient, AgentGpu
from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.sweep.sweep import Sweep
client = AgentClient(Path(sys.argv[1]), ttl_s=0.4)
sweep = Sweep([AgentGpu(gpu, client) for gpu in process_gpus({}, NvmlSession())], (300, 400, 500), warmup_steps=0)
while not sweep.step(tokens=1):
    time.sleep(0.01)
print(sweep.problem)
"""


def test_killed_it_leaves_its_limit_to_the_agent_which_gives_back_the_one_before(root, twin, tmp_path):
    (tmp_path / "run").mkdir()
    with agent_on(tmp_path, twin, grant()) as agent:
        environ = {**os.environ, "PYTHONPATH": str(root), **twin.environment(root=False)}
        process = subprocess.Popen([sys.executable, "-c", LEASED, str(agent.socket)], env=environ)
        until(lambda: twin[0].limit_w != 650.0, 60.0)
        assert twin[0].limit_w in {300.0, 400.0, 500.0}
        process.kill()
        process.wait()
        until(lambda: twin[0].limit_w == 650.0, 60.0)
