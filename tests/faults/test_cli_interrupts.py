"""The command line cut short: Ctrl-C while the solver works, a solver left to itself, a full standard output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from tests.mini_site import ROOT
from tests.signals import as_from_a_terminal


def test_an_interrupt_while_the_solver_works_leaves_with_130_at_once_and_without_a_trace(tmp_path):
    arguments = ("plan", "data/sites/block-20mw.toml", "--offline", "--gap", "1e-9", "--out", str(tmp_path / "out"))
    started = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "GRIDPACE_CACHE": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_from_a_terminal,
    )
    assert started.stderr is not None
    told = []
    for line in started.stderr:
        told.append(line)
        if line.startswith("note: Synthetic data"):
            break
    time.sleep(1.5)
    started.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, rest = started.communicate(timeout=60)
    assert started.returncode == 130, rest
    assert time.monotonic() - sent < 10
    assert [line for line in rest.splitlines() if line and not line.startswith("note: ")] == ["interrupted"]
    assert not (tmp_path / "out").exists()


def test_a_solver_that_was_left_to_itself_does_not_spoil_the_end():
    script = (
        "import threading, numpy as np\n"
        "from planner import cli\n"
        "from planner.optimize.matrix import Matrix\n"
        "from planner.optimize.solver import Highs\n"
        "from scipy import sparse\n"
        "rng, n, m = np.random.default_rng(1), 400, 40\n"
        "a = sparse.csr_array(rng.integers(1, 100, (m, n)).astype(float))\n"
        "matrix = Matrix(-rng.random(n), np.zeros(n), np.ones(n), np.ones(n, dtype=bool), a,\n"
        "                np.full(m, -np.inf), np.full(m, 2000.0), tuple(map(str, range(m))))\n"
        "def overrun(*_, **__):\n"
        "    threading.Thread(target=Highs(matrix, whole=True)._highs.run, daemon=True).start()\n"
        "    print('done')\n"
        "cli.cli.main = overrun\n"
        "cli.main(['plan', 'site.toml'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_full_standard_output_is_told_and_a_full_standard_error_stops_nothing(tmp_path):
    line = f"{sys.executable} -m planner.cli init {tmp_path}/one"
    out = subprocess.run(f"{line} >/dev/full", shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (out.returncode, out.stderr) == (1, "error: standard output: No space left on device\n")
    line = f"{sys.executable} -m planner.cli plan nowhere.toml"
    err = subprocess.run(f"{line} 2>/dev/full", shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (err.returncode, err.stdout) == (2, "")
