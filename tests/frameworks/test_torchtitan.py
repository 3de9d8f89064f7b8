"""torchtitan's Trainer follows a calendar and loses nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.frameworks


def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(root, tmp_path):
    if importlib.util.find_spec("torchtitan") is None:
        pytest.skip("torchtitan is not installed; make test-frameworks installs it")
    command = [sys.executable, "-W", "ignore", "-m", "tests.titan", str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["followed"] == found["free"]
    assert len(found["free"]) == 30
    assert found["kept"] == ["step-10", "step-20"]
