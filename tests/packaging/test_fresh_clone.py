"""`make plan` in a fresh clone: makes its own environment, installs what it needs and plans."""

from __future__ import annotations

import os
import subprocess

import pytest

pytestmark = pytest.mark.packaging


def test_make_plan_in_a_fresh_clone(root, tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", root, clone], check=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make", "plan"], cwd=clone, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = ["carbon", "cost", "energy", "deadlines", "files", "failures", "hold"]
    assert [line.split()[0] for line in done.stdout.strip().splitlines()[-len(told) :]] == told
