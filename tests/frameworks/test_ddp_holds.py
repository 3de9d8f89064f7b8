"""Data-parallel trainings on the CPU hold at the same step on all ranks, and learn exactly what they would without."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]
HUNG_S = 240.0


@pytest.fixture
def run_ranks(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed (make test-frameworks)")
    children = []

    def run(ranks, holds, mode):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for rank in range(ranks):
            environ = {
                **os.environ,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "TMPDIR": str(tmp_path),
                "GRIDPACE_AGENT": "off",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(ROOT),
            }
            command = [sys.executable, "-m", "tests.ddp_rank", str(tmp_path), str(holds), mode]
            with (tmp_path / f"{rank}.log").open("wb") as log:
                children.append(subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log))
        for rank, child in enumerate(children):
            assert child.wait(HUNG_S) == 0, (tmp_path / f"{rank}.log").read_text()[-3000:]
        return [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]

    yield run
    for child in children:
        child.kill()
        child.wait()


@pytest.mark.parametrize(("ranks", "holds", "mode"), [(4, 200, "hub"), (8, 200, "hub"), (4, 40, "reduce")])
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
