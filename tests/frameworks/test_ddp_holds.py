"""Data-parallel trainings on the CPU hold at the same step on all ranks, and learn exactly what they would without."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import free_port

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]
HUNG_S = 900.0


@pytest.fixture
def run_ranks(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed (make test-frameworks)")
    started = []

    def run(ranks, holds, mode):
        environ = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "TMPDIR": str(tmp_path),
            "GRIDPACE_AGENT": "off",
            "GRIDPACE_TIMEOUT_S": "300",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "tests.ddp_ranks", str(tmp_path), str(ranks), str(holds), mode]
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
    facts = run_ranks(ranks, holds, mode)
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
    assert sum(losses[-20:]) < sum(losses[:20])
