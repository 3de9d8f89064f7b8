"""Data-parallel trainings on the CPU hold at the same step on all ranks, and learn exactly what they would without."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.agents import agent_here, free_port, place

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]
HUNG_S = 900.0


@pytest.fixture
def run_ranks(tmp_path):
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (make test-frameworks)")
    started = []

    def run(ranks, holds, mode, agents=()):
        environ = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "TMPDIR": str(tmp_path),
            "GRIDPACE_AGENT": "off",
            "GRIDPACE_TIMEOUT_S": "300",
            "GRIDPACE_HUB": "127.0.0.1" if agents else "",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "tests.ddp_ranks", str(tmp_path), str(ranks), str(holds), mode, *agents]
        log = tmp_path / "log"
        with log.open("wb") as output:
            job = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=output, stderr=output, start_new_session=True)
        started.append(job)
        assert job.wait(HUNG_S) == 0, log.read_text()[-3000:]
        return [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]

    yield run
    for job in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # the ranks too
        job.wait()


@pytest.mark.parametrize(("ranks", "holds", "mode"), [(4, 200, "hub"), (8, 200, "hub"), (4, 200, "reduce")])
def test_every_hold_is_at_one_step_and_costs_no_digit(run_ranks, ranks, holds, mode):
    check(run_ranks(ranks, holds, mode), holds)


def test_ranks_of_two_nodes_hold_together_through_their_agents(run_ranks, tmp_path):
    """Each node has an agent, and the agents speak to each other by their [hub] sections."""
    secret, port = tmp_path / "hub.secret", free_port()
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o600)
    nodes = ("127.0.0.1", "127.0.0.2")
    with contextlib.ExitStack() as agents:
        sockets = []
        for node in nodes:
            folder = agents.enter_context(place())
            hub = f"[hub]\nnodes = {', '.join(nodes)}\nnode = {node}\nport = {port}\nsecret_file = {secret}\n"
            agents.enter_context(agent_here(folder, [], hub))
            sockets.append(str(folder / "run/agent.sock"))
        check(run_ranks(4, 10, "hub", sockets), 10)


def check(facts, holds):
    held_at = facts[0]["held_at"]
    # Each hold is at a step of its own: between two of them all train.
    assert len(held_at) == len(set(held_at)) == holds
    for one in facts:
        assert set(held_at) <= set(one["stood_at"])
        assert one["held"] == one["free"]
        # Rank 0 was told to stop: all have saved at the same step, and ended there.
        assert one["saved_at"] == facts[0]["saved_at"] == [len(one["held"])]
        assert one["state"] == "exit"
    losses = [float.fromhex(loss) for loss in facts[0]["held"]]
    assert sum(losses[-15:]) < sum(losses[:15])
