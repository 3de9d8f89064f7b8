"""Two ranks with an adapter: DDP, FSDP, and Lightning when one of them alone is told to end."""

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
HUNG_S = 200.0


@pytest.fixture
def two_ranks(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
    children = []

    def run(mode):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for rank in range(2):
            variables = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0}
            environ = {
                **os.environ,
                **{name: str(value) for name, value in variables.items()},
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(ROOT),
            }
            command = [sys.executable, "-m", "tests.adapter_ranks", mode, str(tmp_path)]
            with (tmp_path / f"{rank}.log").open("wb") as log:
                children.append(subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log))
        for rank, child in enumerate(children):
            assert child.wait(HUNG_S) == 0, (tmp_path / f"{rank}.log").read_text()[-3000:]
        return [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]

    yield run
    for child in children:
        child.kill()
        child.wait()


@pytest.mark.parametrize("mode", ["ddp", "fsdp"])
def test_both_ranks_hold_save_end_and_go_on_without_losing_a_digit(two_ranks, mode):
    for rank in two_ranks(mode):
        assert rank["saved"] == [10, 20]
        assert rank["followed"] == rank["free"]
        assert len(rank["free"]) == 30


@pytest.mark.parametrize("told", [0, 1])
def test_lightning_20806_all_ranks_end_at_one_step_whichever_is_told(two_ranks, told):
    """Lightning-AI/pytorch-lightning#20806: SIGTERM ends ranks at different steps, and the others wait for ever."""
    pytest.importorskip("lightning", reason="Lightning is not installed; make test-frameworks installs it")
    ranks = two_ranks(f"told{told}")
    # Told in step 7; the ranks compare notes after every fourth.
    assert [rank["step"] for rank in ranks] == [8, 8]
    assert [rank["ending"] for rank in ranks] == ["returned", "returned"]
    assert ranks[0]["kept"] == ["gridpace-step=8.ckpt"]
